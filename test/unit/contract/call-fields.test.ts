import { strict as assert } from 'node:assert';
import { START_ACTION } from '#contract/action';
import { callSchema, newCall } from '#contract/call';
import { groupcallSchema } from '#contract/groupcall';
import { EMPTY_ID, newId } from '#contract/ids';
import { timestamp } from '#contract/time';

const address = { type: 'tel', target: '+15550100001', target_name: '', name: '', detail: '' } as const;
const call = newCall({
  ...{ id: newId(), customer_id: newId(), direction: 'outgoing', status: 'dialing', tm_create: timestamp() },
  ...{ source: address, destination: address, action: START_ACTION },
});
const groupcall = groupcallSchema.parse({
  ...{ id: newId(), customer_id: newId(), owner_type: '', owner_id: EMPTY_ID, status: 'progressing' },
  ...{ flow_id: EMPTY_ID, source: address, destinations: [address] },
  ...{ master_call_id: EMPTY_ID, master_groupcall_id: EMPTY_ID, ring_method: 'ring_all', answer_method: '' },
  ...{ answer_call_id: EMPTY_ID, call_ids: [], answer_groupcall_id: EMPTY_ID, groupcall_ids: [] },
  ...{ call_count: 0, groupcall_count: 0, dial_index: 0, tm_create: '', tm_update: '', tm_delete: '' },
});

type Row = [field: string, values: unknown[], others: unknown[]];

/** voice-and-flows 8.1: what each field may say, and what it may not. */
const OF_A_CALL: Row[] = [
  ['type', ['flow'], ['', 'conference', 'sip-service']], // legacy: no call of today has another
  [
    'status',
    ['dialing', 'ringing', 'progressing', 'terminating', 'canceling', 'hangup'],
    ['', 'answered', 'hangingup', 'cancelling'],
  ],
  ['direction', ['incoming', 'outgoing'], ['', 'in', 'both']],
  ['mute_direction', ['', 'in', 'out', 'both'], ['none', 'incoming']],
  ['hangup_by', ['', 'remote', 'local'], ['caller', 'none']],
  [
    'hangup_reason',
    ['', 'normal', 'failed', 'busy', 'cancel', 'timeout', 'noanswer', 'dialout', 'amd'],
    ['no_answer', 'rejected'],
  ],
  ['chained_call_ids', [[], [newId()]], [null, newId()]],
  ['recording_ids', [[], [newId(), newId()]], [null, '']],
  ...['tm_ringing', 'tm_progressing', 'tm_hangup', 'tm_update', 'tm_delete'].map((field): Row => [
    field,
    [null, timestamp()],
    [0, undefined],
  ]),
];

/** voice-and-flows 11.1. */
const OF_A_GROUPCALL: Row[] = [
  ['status', ['progressing', 'hangingup', 'hangup'], ['', 'ringing', 'ended']],
  ['ring_method', ['ring_all', 'linear'], ['', 'random']], // an empty one becomes ring_all before it is stored
  ['answer_method', ['hangup_others', ''], ['none']],
  ['destinations', [[], [address, address]], [address, null]],
  ['call_ids', [[], [newId()]], [null, '']],
  ['groupcall_ids', [[], [newId()]], [null, '']],
  ['call_count', [0, 7], [0.5, '1', null]],
  ['groupcall_count', [0, 7], [0.5, '1', null]],
  ['dial_index', [0, 7], [0.5, '1', null]],
];

describe('what a call and a groupcall may say', () => {
  for (const [resource, schema, whole, rows] of [
    ['call (8.1)', callSchema, call, OF_A_CALL],
    ['groupcall (11.1)', groupcallSchema, groupcall, OF_A_GROUPCALL],
  ] as const)
    for (const [field, values, others] of rows)
      it(`${resource} ${field} is what the table says, and nothing else`, () => {
        const fits = (value: unknown) => schema.safeParse({ ...whole, [field]: value }).success;
        assert.deepEqual([values.filter(value => !fits(value)), others.filter(fits)], [[], []]);
      });

  it('a new call says nothing that nobody knows yet: no owner, flow, master, group, recording, verdict or time', () => {
    const { id, customer_id, tm_create, source, destination, action, ...unset } = call;
    assert(id && customer_id && tm_create && source && destination && action);
    const empty = { owner_id: EMPTY_ID, flow_id: EMPTY_ID, activeflow_id: EMPTY_ID, master_call_id: EMPTY_ID };
    assert.deepEqual(unset, {
      ...{ type: 'flow', status: 'dialing', direction: 'outgoing' },
      ...empty,
      ...{ recording_id: EMPTY_ID, groupcall_id: EMPTY_ID, chained_call_ids: [], recording_ids: [] },
      ...{ owner_type: '', mute_direction: '', hangup_by: '', hangup_reason: '' },
      ...{ tm_ringing: null, tm_progressing: null, tm_hangup: null, tm_update: null, tm_delete: null },
    });
  });
});
