import { strict as assert } from 'node:assert';
import { causeOfReason, causeOfSipStatus, sipStatusOfCause, verdict, type ReleaseCause } from '#contract/hangup';
import type { CallStatus } from '#contract/machines/call';

type Row = ['incoming' | 'outgoing', CallStatus, ReleaseCause, by: string, reason: string];

/** voice-and-flows 8.3 to 8.5, row by row. */
const VERDICTS: Row[] = [
  ['outgoing', 'dialing', 'no_answer', 'remote', 'noanswer'],
  ['outgoing', 'ringing', 'call_rejected', 'remote', 'noanswer'],
  ['outgoing', 'ringing', 'user_busy', 'remote', 'busy'],
  ['outgoing', 'ringing', 'normal_clearing', 'remote', 'normal'],
  ['outgoing', 'ringing', 'answered_elsewhere', 'remote', 'normal'],
  ['outgoing', 'ringing', 'dial_timeout', 'remote', 'dialout'],
  ['outgoing', 'dialing', 'no_user_response', 'remote', 'failed'],
  ['outgoing', 'dialing', 'unallocated', 'remote', 'failed'],
  ['outgoing', 'dialing', 'failure', 'remote', 'failed'],
  ['outgoing', 'progressing', 'max_duration', 'remote', 'timeout'],
  ['outgoing', 'progressing', 'normal_clearing', 'remote', 'normal'],
  ['outgoing', 'progressing', 'user_busy', 'remote', 'normal'],
  ['outgoing', 'terminating', 'amd', 'local', 'amd'],
  ['outgoing', 'terminating', 'user_busy', 'local', 'normal'],
  ['outgoing', 'canceling', 'normal_clearing', 'local', 'cancel'],
  ['outgoing', 'canceling', 'user_busy', 'local', 'cancel'],
  ['incoming', 'ringing', 'no_answer', 'remote', 'noanswer'],
  ['incoming', 'ringing', 'user_busy', 'remote', 'busy'],
  ['incoming', 'ringing', 'normal_clearing', 'remote', 'normal'],
  ['incoming', 'dialing', 'failure', 'remote', 'normal'],
  ['incoming', 'progressing', 'max_duration', 'remote', 'timeout'],
  ['incoming', 'progressing', 'failure', 'remote', 'normal'],
  ['incoming', 'terminating', 'amd', 'local', 'normal'],
  ['incoming', 'terminating', 'no_answer', 'local', 'normal'],
];

const SIP_CAUSES: [number, ReleaseCause][] = [
  [403, 'call_rejected'],
  [404, 'unallocated'],
  [408, 'no_user_response'],
  [480, 'no_answer'],
  [486, 'user_busy'],
  [600, 'user_busy'],
  [603, 'call_rejected'],
  [604, 'failure'],
  [410, 'number_changed'],
  [484, 'invalid_number'],
  [500, 'network_out_of_order'],
  [501, 'not_implemented'],
  [502, 'destination_out_of_order'],
  [503, 'temporary_failure'],
  [488, 'failure'],
];

describe('how a call ended is a value', () => {
  for (const [direction, before, cause, by, reason] of VERDICTS) {
    it(`an ${direction} call that was ${before} and is released with ${cause} ends as ${reason}, by ${by}`, () => {
      assert.deepEqual(verdict(direction, before, cause), { hangup_by: by, hangup_reason: reason });
    });
  }

  for (const [status, cause] of SIP_CAUSES) {
    it(`${status} means ${cause}`, () => assert.equal(causeOfSipStatus(status), cause));
  }

  for (const [reason, cause] of [
    ['busy', 'user_busy'],
    ['failed', 'no_user_response'],
    ['noanswer', 'no_answer'],
    ['dialout', 'no_answer'],
    ['amd', 'amd'],
    ['normal', 'normal_clearing'],
    ['cancel', 'normal_clearing'],
    ['timeout', 'normal_clearing'],
    ['', 'normal_clearing'],
  ] as const) {
    it(`a hang-up asked for as "${reason}" releases with ${cause}`, () => assert.equal(causeOfReason(reason), cause));
  }

  it('an unanswered caller is refused with the code its cause has, 480 where it has none', () => {
    const codes = (
      ['user_busy', 'call_rejected', 'unallocated', 'failure', 'no_answer', 'normal_clearing'] as const
    ).map(sipStatusOfCause);
    assert.deepEqual(codes, [486, 603, 404, 500, 480, 480]);
  });
});
