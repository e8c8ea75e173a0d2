import type { Action } from '#contract/action';
import type { Address } from '#contract/address';
import { EMPTY_ID, newId } from '#contract/ids';
import { registry } from '#flow/actions/index';
import type { DirectResource } from '../directory.ts';

/** An action of a flow that is built for one call. */
export const action = (type: Action['type'], option: Record<string, unknown>): Action => ({
  id: newId(),
  next_id: EMPTY_ID,
  type,
  option,
  tm_execute: null,
});

type Directly = (direct: DirectResource, source: Address, destination: Address) => Action[];

const connected: Directly = (_direct, source, destination) => [
  action('connect', { source, destinations: [destination] }),
];
const talk =
  (assistance_type: 'ai' | 'team'): Directly =>
  ({ id }) => [action('answer', {}), action('ai_talk', { assistance_type, assistance_id: id })];

/** Accounts-and-plumbing 20.2, but for conferences and flows, which bring more than actions; nothing for what no call reaches. */
const DIRECTLY: Partial<Record<DirectResource['type'], Directly>> = {
  extension: connected,
  agent: connected,
  queue: ({ id }) => [action('answer', {}), action('queue_join', { queue_id: id })],
  ai: talk('ai'),
  ai_team: talk('team'),
};

/** What a call to a direct hash goes through; `undefined` where none leads. */
export const directActions = (direct: DirectResource, source: Address, destination: Address): Action[] | undefined =>
  DIRECTLY[direct.type]?.(direct, source, destination);

/** The first of some actions that this version cannot carry out; nobody is answered, and charged, to be told so. */
export const missingAmong = (actions: Action[]): string | undefined =>
  actions.find(({ type }) => registry.get(type)?.available === false)?.type;
