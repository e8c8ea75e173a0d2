import { strict as assert } from 'node:assert';
import { ACTION_TYPES, type ActionType } from '#contract/action';
import { REFERENCE_TYPES } from '#contract/activeflow';
import { EMPTY_ID } from '#contract/ids';
import { registry } from '#flow/actions/index';
import { optionFault, readOption } from '#flow/option';
import { action, World } from '../world.ts';

/** Where the flow stops when the action fails; all others go on (voice-and-flows 4.7). */
const STOPS = new Set<ActionType>([
  'ai_summary',
  'ai_talk',
  'ai_task',
  'branch',
  'call',
  'condition_call_digits',
  'condition_call_status',
  'condition_datetime',
  'condition_variable',
  'conference_join',
  'connect',
  'fetch',
  'fetch_flow',
  'goto',
  'message_send',
  'queue_join',
  'stop',
]);

/** What runs without a call (4.8; ai_summary, ai_task and block run everywhere). */
const ANYWHERE = new Set<ActionType>([
  'ai_summary',
  'ai_talk',
  'ai_task',
  'block',
  'branch',
  'call',
  'case_create',
  'condition_datetime',
  'condition_variable',
  'conversation_send',
  'email_send',
  'fetch',
  'fetch_flow',
  'goto',
  'message_send',
  'stop',
  'transcribe_recording',
  'variable_set',
  'webhook_send',
]);

/** An option that no action of this type can read; absent for those that have none. */
const UNREADABLE: Partial<Record<ActionType, Record<string, unknown>>> = {
  ai_summary: { reference_type: 'agent' },
  ai_talk: { duration: 'long' },
  ai_task: { assistance_type: 'person' },
  amd: { async: 'yes' },
  branch: { target_ids: [] },
  call: { chained: 'yes' },
  case_create: { sync: 1 },
  condition_call_digits: { length: 1.5 },
  condition_call_status: { status: 1 },
  condition_datetime: { hour: '9' },
  condition_variable: { value_number: '1' },
  confbridge_join: { confbridge_id: 1 },
  conference_join: { conference_id: 1 },
  connect: { early_media: 1 },
  conversation_send: { sync: 'no' },
  digits_receive: { length: 'four' },
  digits_send: { digits: 12 },
  echo: { duration: 'long' },
  email_send: { attachments: [{ reference_type: 'file' }] },
  external_media_start: { transport: 'pigeon' },
  fetch: { event_method: 'PATCH' },
  fetch_flow: { flow_id: 1 },
  goto: { loop_count: '1' },
  hangup: { reason: 1 },
  message_send: { destinations: [{ type: 'pigeon', target: 'x' }] },
  play: { stream_urls: 'http://a' },
  queue_join: { queue_id: 1 },
  recording_start: { duration: 'long' },
  sleep: { duration: '5' },
  stream_echo: { duration: 'long' },
  talk: { text: 5 },
  transcribe_recording: { direction: 'up' },
  transcribe_start: { provider: 'provider_a' },
  variable_set: { key: 1 },
  webhook_send: { uri: 'ftp://a' },
};

/** What an absent option means (section 6). */
const DEFAULTS: Partial<Record<ActionType, Record<string, unknown>>> = {
  ai_summary: { reference_type: '', reference_id: EMPTY_ID, language: '', on_end_flow_id: EMPTY_ID },
  ai_talk: { assistance_type: '', assistance_id: EMPTY_ID, ai_id: EMPTY_ID, duration: 0 },
  ai_task: { assistance_type: '', assistance_id: EMPTY_ID, ai_id: EMPTY_ID },
  amd: { machine_handle: '', async: false },
  branch: { variable: '', target_ids: {}, default_target_id: EMPTY_ID },
  call: { destinations: [], flow_id: '', actions: [], chained: false, early_execution: false, anonymous: 'auto' },
  case_create: { name: '', detail: '', note: '', sync: false },
  condition_call_digits: { length: 0, key: '', false_target_id: EMPTY_ID },
  condition_call_status: { status: '', false_target_id: EMPTY_ID },
  condition_datetime: {
    condition: '',
    minute: 0,
    hour: 0,
    day: 0,
    month: 0,
    weekdays: [],
    false_target_id: EMPTY_ID,
  },
  connect: { destinations: [], early_media: false, relay_reason: false, anonymous: 'auto' },
  conversation_send: { conversation_id: EMPTY_ID, text: '', sync: false },
  digits_receive: { duration: 0, length: 0, key: '' },
  echo: { duration: 0 },
  email_send: { destinations: [], subject: '', content: '', attachments: [] },
  fetch: { event_url: '', event_method: 'POST' },
  goto: { target_id: EMPTY_ID, loop_count: 0 },
  hangup: { reason: '', reference_id: '' },
  message_send: { destinations: [], text: '' },
  play: { stream_urls: [] },
  queue_join: { queue_id: EMPTY_ID },
  sleep: { duration: 0 },
  stream_echo: { duration: 0 },
  talk: { text: '', language: '', provider: '', voice_id: '', digits_handle: '', async: false },
  transcribe_recording: { language: '', provider: '', direction: 'both', on_end_flow_id: EMPTY_ID },
  transcribe_start: { language: '', provider: '', direction: 'both', on_end_flow_id: EMPTY_ID },
  variable_set: { key: '', value: '' },
};

const definitionOf = (type: ActionType) => {
  const definition = registry.get(type);
  assert.ok(definition, type);
  return definition;
};

describe('the catalogue of actions', () => {
  for (const [type, option] of Object.entries(UNREADABLE))
    it(`${type} that cannot read its option ${STOPS.has(type as ActionType) ? 'stops the flow' : 'lets the flow go on'}, by the name of the field`, async () => {
      const world = await new World({ actions: [action('a', type, option), action('b', 'beep')] }).run();
      const stops = STOPS.has(type as ActionType);
      assert.deepEqual(world.path, ['start', type, ...(stops ? [] : ['beep', 'finish'])]);
      assert.match(String(world.warnings[0]?.reason), new RegExp(`^option\\.${Object.keys(option)[0]}`));
    });

  for (const type of ACTION_TYPES.filter(one => !(one in UNREADABLE)))
    it(`${type} has no option that could be wrong`, () => {
      assert.equal(optionFault(definitionOf(type), { anything: [1] }), undefined);
      assert.equal(definitionOf(type).onError, STOPS.has(type) ? 'stop' : 'next');
    });

  for (const [type, expected] of Object.entries(DEFAULTS))
    it(`an absent option of ${type} has the defaults of the specification`, () => {
      assert.deepEqual(readOption(definitionOf(type as ActionType), {}), expected);
    });

  it('ignores fields that it does not know', () => {
    for (const type of ACTION_TYPES.filter(one => one !== 'webhook_send'))
      assert.equal(optionFault(definitionOf(type), { unheard_of: 1 }), undefined, type);
  });

  for (const type of ACTION_TYPES.filter(one => registry.get(one)?.available === false))
    it(`${type}, which this version cannot run, says so and ${STOPS.has(type) ? 'stops the flow' : 'lets it go on'}`, async () => {
      const world = await new World({ actions: [action('a', type), action('b', 'beep')] }).run();
      assert.deepEqual(world.path, ['start', type, ...(STOPS.has(type) ? [] : ['beep', 'finish'])]);
      assert.equal(world.warnings[0]?.reason, `${type} is not available in this version`);
    });
});

describe('media gating', () => {
  for (const reference of REFERENCE_TYPES)
    it(`in a flow for ${reference || 'nothing'}, ${reference === 'call' ? 'everything runs' : 'what needs a call is skipped and counted'}`, async () => {
      for (const type of ACTION_TYPES) {
        const skipped = reference !== 'call' && !ANYWHERE.has(type);
        const world = await new World({ actions: [action('a', type)], reference }).begin();
        const executed = [...world.runner.activeflow.executed_actions, world.runner.activeflow.current_action];
        const shown = executed.find(one => one.type === type);
        assert.ok(shown, type);
        assert.equal(shown.tm_execute === null, skipped, type);
        if (skipped) assert.deepEqual([world.warnings, world.heard], [[], []], type);
        await world.runner.stop();
      }
    });
});
