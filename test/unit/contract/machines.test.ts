import { strict as assert } from 'node:assert';
import { ACTIVEFLOW_STATUSES, activeflowMachine } from '#contract/machines/activeflow';
import { CALL_STATUSES, callMachine, type CallStatus } from '#contract/machines/call';
import { CONFERENCE_STATUSES, conferenceMachine, type ConferenceStatus } from '#contract/machines/conference';
import { CONFERENCECALL_STATUSES, conferencecallMachine } from '#contract/machines/conferencecall';
import { GROUPCALL_STATUSES, groupcallMachine } from '#contract/machines/groupcall';
import { RECORDING_STATUSES, recordingMachine } from '#contract/machines/recording';

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

/** What a machine looks like to a test that knows none by its type. */
interface Moves {
  initial: string;
  statuses: readonly string[];
  table: Record<string, Record<string, string>>;
}
const of = (machine: { initial: string; table: object }, statuses: readonly string[]): Moves => ({
  initial: machine.initial,
  statuses,
  table: machine.table as Moves['table'],
});

/** Every move there is, and what makes it; what is not here does not exist. */
const OTHERS: [name: string, machine: Moves, initial: string, moves: [from: string, event: string, to: string][]][] = [
  [
    'an activeflow (voice-and-flows 7)',
    of(activeflowMachine, ACTIVEFLOW_STATUSES),
    'running',
    [['running', 'end', 'ended']],
  ],
  [
    'a groupcall (voice-and-flows 11.2)',
    of(groupcallMachine, GROUPCALL_STATUSES),
    'progressing',
    [
      ['progressing', 'hangup', 'hangingup'],
      ['progressing', 'end', 'hangup'],
      ['hangingup', 'end', 'hangup'],
    ],
  ],
  [
    'a conference (voice-and-flows 13.3)',
    of(conferenceMachine, CONFERENCE_STATUSES),
    'starting',
    [
      ['starting', 'ready', 'progressing'],
      ['starting', 'terminate', 'terminating'],
      ['starting', 'fail', 'terminated'],
      ['progressing', 'terminate', 'terminating'],
      ['progressing', 'fail', 'terminated'],
      ['terminating', 'empty', 'terminated'],
      ['terminating', 'fail', 'terminated'],
    ],
  ],
  [
    'a conferencecall (voice-and-flows 13.4)',
    of(conferencecallMachine, CONFERENCECALL_STATUSES),
    'joining',
    [
      ['joining', 'enter', 'joined'],
      ['joining', 'leave', 'leaving'],
      ['joining', 'end', 'leaved'],
      ['joined', 'leave', 'leaving'],
      ['joined', 'end', 'leaved'],
      ['leaving', 'end', 'leaved'],
    ],
  ],
  [
    'a recording (voice-and-flows 14.2)',
    of(recordingMachine, RECORDING_STATUSES),
    'initiating',
    [
      ['initiating', 'ready', 'recording'],
      ['initiating', 'stop', 'stopping'],
      ['initiating', 'fail', 'ended'],
      ['initiating', 'lose', 'ended'],
      ['recording', 'stop', 'stopping'],
      ['recording', 'lose', 'ended'],
      ['stopping', 'flush', 'ended'],
      ['stopping', 'lose', 'ended'],
    ],
  ],
];

describe('the other machines', () => {
  for (const [name, { initial, statuses, table }, begins, moves] of OTHERS)
    it(`${name} begins ${begins} and has ${moves.length} moves, none of them back`, () => {
      const made = statuses.flatMap(from => Object.entries(table[from] ?? {}).map(([event, to]) => [from, event, to]));
      assert.deepEqual([initial, made], [begins, moves]);
      assert.deepEqual(Object.keys(table), statuses, 'the machine and the API know the same statuses');
      for (const [from, , to] of moves) assert(statuses.indexOf(to) > statuses.indexOf(from), `${from} → ${to}`);
    });
});

type ConferenceMove = [
  from: ConferenceStatus,
  event: 'ready' | 'terminate' | 'empty',
  to: ConferenceStatus | undefined,
];

/** voice-and-flows 13.3 row for row: what each situation does to the status, one move after the other. */
const LIFE: [situation: string, result: string, moves: ConferenceMove[]][] = [
  ['created', 'starting, then progressing', [['starting', 'ready', 'progressing']]],
  ['timeout reached', 'same as DELETE', [['progressing', 'terminate', 'terminating']]],
  ['terminating, last participant left', 'terminated', [['terminating', 'empty', 'terminated']]],
  [
    'DELETE with no participants',
    'terminated immediately',
    [
      ['progressing', 'terminate', 'terminating'],
      ['terminating', 'empty', 'terminated'],
    ],
  ],
  ['DELETE before it was ready', 'not in the way', [['starting', 'terminate', 'terminating']]],
  ['last participant left, not terminating', 'it stands', [['progressing', 'empty', undefined]]],
  [
    'type connect, one participant leaves',
    'the other is ejected, and it is terminated',
    [
      ['progressing', 'terminate', 'terminating'],
      ['terminating', 'empty', 'terminated'],
    ],
  ],
  ['drawn loop terminating -> progressing', 'ignored', [['terminating', 'ready', undefined]]],
];

describe('the life of a conference, row for row (voice-and-flows 13.3)', () => {
  for (const [situation, result, moves] of LIFE)
    it(`${situation}: ${result}`, () => {
      for (const [from, event, to] of moves) assert.equal(conferenceMachine.step(from, event)?.to, to);
    });
});
