import { strict as assert } from 'node:assert';
import { CALL_STATUSES, callMachine, type CallStatus } from '#contract/machines/call';

/** voice-and-flows 8.2: where a call may go from each status. */
const MOVES: Record<CallStatus, CallStatus[]> = {
  dialing: ['ringing', 'progressing', 'canceling', 'terminating', 'hangup'],
  ringing: ['progressing', 'canceling', 'terminating', 'hangup'],
  progressing: ['terminating', 'hangup'],
  canceling: ['hangup'],
  terminating: ['hangup'],
  hangup: [],
};

const EVENTS = ['ring', 'answer', 'cancel', 'terminate', 'end'] as const;

describe('the call machine', () => {
  for (const from of CALL_STATUSES) {
    const allowed = MOVES[from];
    it(`${from} leads to ${allowed.join(', ') || 'nothing'} and nowhere else`, () => {
      const reached = EVENTS.flatMap(event => callMachine.step(from, event)?.to ?? []);
      assert.deepEqual(new Set(reached), new Set(allowed));
    });
  }

  it('only hangup is final', () => {
    assert.deepEqual(
      CALL_STATUSES.filter(status => callMachine.isFinal(status)),
      ['hangup'],
    );
  });

  it('never leads back to a status that was left', () => {
    const order: CallStatus[] = ['dialing', 'ringing', 'progressing', 'canceling', 'terminating', 'hangup'];
    for (const from of CALL_STATUSES)
      for (const event of EVENTS) {
        const to = callMachine.step(from, event)?.to;
        if (to) assert(order.indexOf(to) > order.indexOf(from), `${from} → ${to}`);
      }
  });
});
