import { strict as assert } from 'node:assert';
import { START_ACTION } from '#contract/action';
import { newCall, type Call } from '#contract/call';
import { verdict } from '#contract/hangup';
import { newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { callSummary, type Ending } from '../../../../media-app/call/summary.ts';

const party = (target: string): Call['source'] => ({
  type: 'extension',
  target,
  target_name: '',
  name: '',
  detail: '',
});

const sentence = (
  direction: Call['direction'],
  before: Ending['before'],
  cause: Ending['cause'],
  sip_status = 0,
): string => {
  const answered = before === 'progressing' || before === 'terminating';
  const call = newCall({
    ...{ id: newId(), customer_id: newId(), direction, status: before, action: START_ACTION, tm_create: timestamp() },
    ...{ source: party('1001'), destination: party('1002'), tm_progressing: answered ? timestamp() : null },
  });
  const ended = verdict(direction, before, cause === 'node_died' ? 'failure' : cause);
  return String(callSummary({ call, before, cause, verdict: ended, sip_status }).data['sentence']);
};

describe('why a call ended, in one sentence', () => {
  const rows: [...Parameters<typeof sentence>, expected: string][] = [
    ['outgoing', 'progressing', 'normal_clearing', 0, 'extension 1002 hung up after 0.0 s.'],
    ['incoming', 'progressing', 'normal_clearing', 0, 'extension 1001 hung up after 0.0 s.'],
    ['outgoing', 'terminating', 'normal_clearing', 0, 'The platform hung up on extension 1002 after 0.0 s.'],
    ['outgoing', 'progressing', 'failure', 0, 'The connection with extension 1002 broke after 0.0 s.'],
    [
      'outgoing',
      'progressing',
      'max_duration',
      0,
      'The call with extension 1002 reached the longest time allowed and was ended after 0.0 s.',
    ],
    [
      'outgoing',
      'terminating',
      'amd',
      0,
      'An answering machine answered for extension 1002; the platform hung up after 0.0 s.',
    ],
    ['outgoing', 'ringing', 'user_busy', 486, 'extension 1002 was busy (SIP 486).'],
    ['outgoing', 'ringing', 'call_rejected', 603, 'extension 1002 declined the call (SIP 603).'],
    ['outgoing', 'dialing', 'no_user_response', 408, 'The phone of extension 1002 did not respond (SIP 408).'],
    ['outgoing', 'dialing', 'unallocated', 404, 'extension 1002 does not exist where the call was sent (SIP 404).'],
    ['outgoing', 'dialing', 'failure', 500, 'The call to extension 1002 could not be set up (SIP 500).'],
    ['outgoing', 'ringing', 'dial_timeout', 0, 'extension 1002 did not answer before the time to answer was over.'],
    [
      'outgoing',
      'canceling',
      'normal_clearing',
      487,
      'The call to extension 1002 was canceled before it was answered.',
    ],
    ['outgoing', 'canceling', 'answered_elsewhere', 0, 'The call to extension 1002 was answered elsewhere.'],
    ['incoming', 'ringing', 'normal_clearing', 0, 'extension 1001 gave up before the call was answered.'],
    [
      'outgoing',
      'progressing',
      'node_died',
      0,
      'The media process that held the call with extension 1002 died; the call was ended.',
    ],
  ];
  for (const [direction, before, cause, status, expected] of rows)
    it(`${direction}, ${before}, ${cause}: ${expected}`, () =>
      assert.equal(sentence(direction, before, cause, status), expected));

  it('an incoming call that the platform refuses unanswered', () => {
    const call = newCall({
      ...{ id: newId(), customer_id: newId(), direction: 'incoming', status: 'terminating', action: START_ACTION },
      ...{ source: party('1001'), destination: party('1002'), tm_create: timestamp() },
    });
    const ended = verdict('incoming', 'terminating', 'user_busy');
    const { data } = callSummary({ call, before: 'terminating', cause: 'user_busy', verdict: ended, sip_status: 0 });
    assert.equal(data['sentence'], 'The platform refused the call from extension 1001.');
    assert.equal(data['duration_ms'], 0);
  });
});
