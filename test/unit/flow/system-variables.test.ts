import { strict as assert } from 'node:assert';
import { newCall } from '#contract/call';
import { EMPTY_ID, newId } from '#contract/ids';
import { newRecording, recordingVariables } from '#contract/recording';
import { callVariables } from '#flow/call-variables';
import { createActiveflow } from '#flow/runner';
import { action, CUSTOMER, World } from './world.ts';

const source = { type: 'tel', target: '+15550001', target_name: 'Ann', name: 'Front', detail: 'desk' } as const;
const destination = { type: 'tel', target: '+15550002', target_name: 'Bob', name: 'Back', detail: 'room' } as const;
const master = newId();

const call = newCall({
  id: newId(),
  customer_id: CUSTOMER,
  direction: 'outgoing',
  status: 'dialing',
  tm_create: null,
  source,
  destination,
  master_call_id: master,
  action: { id: EMPTY_ID, next_id: EMPTY_ID, type: '', option: {}, tm_execute: null },
});

const template = { id: newId(), customer_id: CUSTOMER, actions: [], on_complete_flow_id: '' };
const parentId = newId();
const child = createActiveflow({
  template,
  reference_type: 'call',
  reference_id: call.id,
  reference_activeflow_id: parentId,
  parentVariables: { 'svc.activeflow.complete_count': '2' },
  now: new Date(),
});
const alone = createActiveflow({ template, reference_type: 'api', reference_id: '', now: new Date() });

const recording = newRecording({
  id: newId(),
  customer_id: CUSTOMER,
  activeflow_id: child.activeflow.id,
  reference_type: 'call',
  reference_id: call.id,
  on_end_flow_id: EMPTY_ID,
  tm_create: '2026-11-22T03:00:00.000000Z',
});

const [first, later, calls, recordings] = [
  alone.variables.all(),
  child.variables.all(),
  callVariables(call),
  recordingVariables(recording),
];

type Row = [key: string, when: string, found: string | undefined, expected: string | undefined];

/** The five rows of an address. */
const addressRows = (side: 'source' | 'destination', address: typeof source | typeof destination): Row[] =>
  (['name', 'detail', 'target', 'target_name', 'type'] as const).map(field => [
    `svc.call.${side}.${field}`,
    'when the call is created',
    calls[`svc.call.${side}.${field}`],
    address[field],
  ]);

/** voice-and-flows 5.4, row for row, as far as there is somebody who sets them. */
const ROWS: Row[] = [
  ['svc.activeflow.id', 'at creation', later['svc.activeflow.id'], child.activeflow.id],
  ['svc.activeflow.reference_type', 'at creation', later['svc.activeflow.reference_type'], 'call'],
  ['svc.activeflow.reference_id', 'at creation', later['svc.activeflow.reference_id'], call.id],
  ['svc.activeflow.reference_id', 'empty UUID text when none', first['svc.activeflow.reference_id'], EMPTY_ID],
  [
    'svc.activeflow.reference_activeflow_id',
    'at creation; parent activeflow',
    later['svc.activeflow.reference_activeflow_id'],
    parentId,
  ],
  ['svc.activeflow.flow_id', 'at creation', later['svc.activeflow.flow_id'], template.id],
  ['svc.activeflow.complete_count', '"0"', first['svc.activeflow.complete_count'], '0'],
  ['svc.activeflow.complete_count', 'or parent + 1', later['svc.activeflow.complete_count'], '3'],
  ['svc.flow.reference_data', 'computed on read, never stored', later['svc.flow.reference_data'], undefined],
  ['svc.call.id', 'when the call is created', calls['svc.call.id'], call.id],
  ...addressRows('source', source),
  ...addressRows('destination', destination),
  ['svc.call.direction', 'incoming or outgoing', calls['svc.call.direction'], 'outgoing'],
  ['svc.call.master_call_id', 'the link', calls['svc.call.master_call_id'], master],
  ['svc.call.digits', '"" at call creation', calls['svc.call.digits'], ''],
  ['svc.recording.id', 'when a recording record is created', recordings['svc.recording.id'], recording.id],
  ['svc.recording.reference_type', 'the same', recordings['svc.recording.reference_type'], 'call'],
  ['svc.recording.reference_id', 'the same', recordings['svc.recording.reference_id'], call.id],
  ['svc.recording.format', 'the same', recordings['svc.recording.format'], recording.format],
];

describe('the variables of the system, row for row (voice-and-flows 5.4)', () => {
  for (const [key, when, found, expected] of ROWS) it(`${key}: ${when}`, () => assert.equal(found, expected));

  it('there is no other name of a call, an activeflow or a recording', () => {
    const known = new Set(ROWS.map(([key]) => key));
    const others = Object.keys({ ...later, ...calls, ...recordings }).filter(key => !known.has(key));
    assert.deepEqual(others, ['svc.recording.recording_name', 'svc.recording.filenames']);
  });

  it('svc.recording.recording_name, .filenames: a name, and the two voices of a call comma-joined', () => {
    const name = recordings['svc.recording.recording_name'] ?? '';
    const files = recordings['svc.recording.filenames']?.split(',') ?? [];
    assert.equal(files.length, 2);
    for (const file of files) assert(name !== '' && file.includes(name), `${file} of ${name}`);
  });

  for (const name of ['svc.call.status', 'svc.call.caller_id', 'svc.transcribe.text', 'svc.message.text'])
    it(`${name}: named by guides but never set, so empty`, async () => {
      const actions = [action('v', 'variable_set', { key: 'k', value: `<\${${name}}>` })];
      assert.equal((await new World({ actions }).run()).runner.variables.get('k'), '<>');
    });
});
