import { strict as assert } from 'node:assert';
import { TRANSFER_STATUSES, transferMachine, type TransferStatus } from '#contract/machines/transfer';

const EVENTS = ['connect', 'consult', 'complete', 'fail', 'lose'] as const;

/** voice-and-flows 19: from where, what happens, where to. All else leads nowhere. */
const MOVES: [TransferStatus, (typeof EVENTS)[number], TransferStatus, string][] = [
  ['calling', 'connect', 'completed', 'the new party of a blind transfer answers'],
  ['calling', 'consult', 'consulting', 'the new party of an attended transfer answers'],
  ['calling', 'fail', 'failed', 'nobody answers, or somebody leaves first'],
  ['calling', 'lose', 'failed', 'the node dies while it rings'],
  ['consulting', 'complete', 'completed', 'the transferer leaves the others together'],
  ['consulting', 'fail', 'failed', 'the new party leaves again'],
  ['consulting', 'lose', 'failed', 'the node dies during the consultation'],
];

describe('the transfer machine', () => {
  for (const [from, event, to, title] of MOVES)
    it(`${title}: ${from} becomes ${to}`, () => assert.equal(transferMachine.step(from, event)?.to, to));

  it('has no other move, and what is completed or failed stays so', () => {
    const made = TRANSFER_STATUSES.flatMap(from =>
      EVENTS.filter(event => transferMachine.step(from, event)).map(event => `${from} ${event}`),
    );
    assert.deepEqual(new Set(made), new Set(MOVES.map(([from, event]) => `${from} ${event}`)));
    assert.deepEqual(
      TRANSFER_STATUSES.filter(status => transferMachine.isFinal(status)),
      ['completed', 'failed'],
    );
  });
});
