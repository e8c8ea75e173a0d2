import fc from 'fast-check';
import { z } from 'zod';
import type { ActionInput } from '#contract/action';
import { registry } from '#flow/actions/index';

const NAMES = ['a', 'b', 'c', 'd', 'e'];

/** The id of a drawn action; `f` is the id of none. */
export const idOf = (name: string): string => `bbbbbbbb-0000-4000-8000-00000000000${name}`;
export const DRAWN_IDS = new Set(NAMES.map(idOf));

/** What a drawn flow may refer to. */
export interface Surroundings {
  /** URLs that answer fetch and webhook_send; the empty one is no URL. */
  urls: string[];
  /** SIP addresses, and extensions that nobody has. */
  destinations: { type: 'sip' | 'extension'; target: string }[];
  /** Flows that fetch_flow finds. */
  flow_ids: string[];
  /** A room that everybody may join. */
  conference_id: string;
  /** WebSocket addresses for external media; somebody listens at the first. */
  media_urls: string[];
  /** Whom calls come from. */
  source: string;
}

/** What the party does while the flow waits: presses a key, hangs up, or nothing. */
export type Wish = '1' | '2' | '#' | 'hangup' | 'nothing';

/** A flow, and what its party does in its quiet moments, in order. */
export interface DrawnFlow {
  actions: ActionInput[];
  wishes: Wish[];
  /** Other flows follow it when it has ended. */
  followed: boolean;
}

/** Types with the weight they are drawn by; what takes long on a real call is rare. */
const WEIGHTS: Record<string, number> = {
  ai_task: 1,
  amd: 3,
  answer: 1,
  beep: 1,
  block: 2,
  branch: 5,
  call: 3,
  case_create: 1,
  condition_call_digits: 3,
  condition_call_status: 3,
  condition_datetime: 3,
  condition_variable: 5,
  confbridge_join: 1,
  conference_join: 8,
  connect: 8,
  conversation_send: 1,
  digits_receive: 8,
  digits_send: 2,
  echo: 2,
  email_send: 1,
  external_media_start: 3,
  external_media_stop: 2,
  fetch: 4,
  fetch_flow: 4,
  goto: 5,
  hangup: 2,
  message_send: 1,
  mute: 1,
  play: 2,
  queue_join: 1,
  recording_start: 1,
  recording_stop: 1,
  sleep: 4,
  stop: 2,
  stream_echo: 2,
  talk: 1,
  transcribe_start: 1,
  variable_set: 8,
  webhook_send: 3,
};

const target = fc.constantFrom(...NAMES).map(idOf);
const anyTarget = fc.oneof({ weight: 24, arbitrary: target }, { weight: 1, arbitrary: fc.constant(idOf('f')) });

/** Short, or long enough to do something meanwhile. */
const duration = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 30 }) },
  { weight: 3, arbitrary: fc.constant(1400) },
);

const someOf = <T>(things: T[]) => fc.array(fc.constantFrom(...things), { minLength: 1, maxLength: 2 });

const optionOf = ({ urls, destinations, flow_ids, source, conference_id, media_urls }: Surroundings) =>
  fc.record({
    target_id: anyTarget,
    false_target_id: anyTarget,
    default_target_id: anyTarget,
    target_ids: fc.dictionary(fc.constantFrom('', '1', '2', '11', 'machine'), target),
    loop_count: fc.integer({ min: 0, max: 3 }),
    duration,
    length: fc.integer({ min: 0, max: 2 }),
    key: fc.constantFrom('k', 'm', 'svc.call.digits', '#'),
    value: fc.constantFrom('', '${k}1', '1', '${svc.call.digits}'),
    variable: fc.constantFrom('${k}', 'k', 'm', 'svc.call.digits', 'svc.call.amd_result'),
    condition: fc.constantFrom('==', '!=', '>='),
    value_type: fc.constantFrom('string', 'length', 'number'),
    minute: fc.constant(-1),
    hour: fc.constant(-1),
    month: fc.integer({ min: 0, max: 12 }),
    status: fc.constantFrom('progressing', 'ringing'),
    stream_urls: fc.constantFrom([], ['tone_stream://%(20,0,700)']),
    text: fc.constantFrom('', 'yes'),
    digits: fc.constantFrom('', '1'),
    conference_id: fc.constantFrom(conference_id, conference_id, conference_id, ''),
    confbridge_id: fc.constantFrom('', idOf('f')),
    url: fc.constantFrom(...media_urls, ''),
    encapsulation: fc.constantFrom('rtp', 'sln', 'audiosocket'),
    machine_handle: fc.constantFrom('continue', 'hangup'),
    source: fc.constant({ type: 'tel', target: source }),
    destinations: fc.oneof({ weight: 1, arbitrary: fc.constant([]) }, { weight: 12, arbitrary: someOf(destinations) }),
    relay_reason: fc.boolean(),
    early_media: fc.boolean(),
    actions: fc.constant([{ type: 'hangup' }]),
    flow_id: fc.constantFrom(...flow_ids, ''),
    uri: fc.constantFrom(...urls),
    event_url: fc.constantFrom(...urls),
    sync: fc.boolean(),
  });

const typed = fc.oneof(...Object.entries(WEIGHTS).map(([type, weight]) => ({ weight, arbitrary: fc.constant(type) })));
const next_id = fc.oneof({ weight: 6, arbitrary: fc.constant('') }, { weight: 1, arbitrary: target });

/** The fields that an action of this type knows. `call` would prefer a flow to its own actions. */
const fieldsOf = (type: string): string[] => {
  const schema = registry.get(type)?.option;
  const fields = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  return type === 'call' ? fields.filter(field => field !== 'flow_id') : fields;
};

const fitted = (action: ActionInput): ActionInput => {
  const fields = fieldsOf(action.type);
  const option = Object.entries(action.option ?? {}).filter(([field]) => fields.includes(field));
  return { ...action, option: Object.fromEntries(option) };
};

/** Flows drawn at random among those surroundings. */
export const drawnFlows = (surroundings: Surroundings): fc.Arbitrary<DrawnFlow> =>
  fc.record({
    actions: fc.array(
      fc
        .record({ id: fc.constantFrom(...NAMES).map(idOf), next_id, type: typed, option: optionOf(surroundings) })
        .map(fitted),
      { minLength: 2, maxLength: 9 },
    ),
    followed: fc.boolean(),
    wishes: fc.array(fc.constantFrom<Wish>('1', '2', '#', '1', 'hangup', 'nothing'), { maxLength: 4 }),
  });
