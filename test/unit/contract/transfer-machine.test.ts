import { strict as assert } from 'node:assert';
import { EMPTY_ID, newId } from '#contract/ids';
import { TRANSFER_STATUSES, transferMachine, type TransferStatus } from '#contract/machines/transfer';
import { NEVER } from '#contract/time';
import { newTransfer, publicTransfer, TRANSFER_TYPES } from '#contract/transfer';

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

/** A cell of the table: what it makes of the transfer in this status, and what that leads to. */
type Cell = [in_status: TransferStatus, event: (typeof EVENTS)[number], to: TransferStatus] | 'nothing';

/** The steps of voice-and-flows 19 row for row, as far as they move the transfer; test/calls/transfer has what is heard. */
const STEPS: [step: string, blind: Cell[], attended: Cell[]][] = [
  ['transferee answers', [['calling', 'connect', 'completed']], [['calling', 'consult', 'consulting']]],
  [
    'transferee side ends without having been connected',
    [['calling', 'fail', 'failed']],
    [['calling', 'fail', 'failed']],
  ],
  [
    'transferer hangs up',
    ['nothing'],
    [
      ['calling', 'fail', 'failed'],
      ['consulting', 'complete', 'completed'],
    ],
  ],
];

describe('the steps of a transfer, row for row (voice-and-flows 19)', () => {
  it('request: a transfer begins as calling, with no transferee', () => {
    const id = newId();
    const address = { type: 'tel', target: '+15550001', target_name: '', name: '', detail: '' } as const;
    for (const type of TRANSFER_TYPES) {
      const made = newTransfer({
        ...{ id, customer_id: id, type, transferer_call_id: id, transferee_addresses: [address] },
        ...{ groupcall_id: id, confbridge_id: id, tm_create: NEVER },
      });
      assert.deepEqual([made.status, made.transferee_call_id, made.type], [transferMachine.initial, EMPTY_ID, type]);
      assert.equal('status' in publicTransfer(made), false);
    }
  });

  for (const [step, ...columns] of STEPS)
    for (const [index, type] of (['blind', 'attended'] as const).entries())
      for (const cell of columns[index] ?? [])
        if (cell !== 'nothing')
          it(`${step}, ${type}, ${cell[0]}: ${cell[2]}`, () => {
            const [from, event, to] = cell;
            assert.equal(transferMachine.step(from, event)?.to, to);
            assert.equal(transferMachine.step(to, event), undefined, 'and it happens once');
          });
});
