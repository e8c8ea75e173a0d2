import { z } from 'zod';
import {
  ACTION_TYPES,
  actionInputSchema,
  FINISH_ACTION_ID,
  START_ACTION_ID,
  type Action,
  type ActionInput,
  type ActionType,
} from '#contract/action';
import { PlatformError } from '#contract/errors';
import { EMPTY_ID, isId, isSet, newId } from '#contract/ids';
import { byteLength, isStorable } from './text.ts';

/** How large a flow may be. Its actions are copied into every activeflow and every event of it. */
export const FLOW_LIMITS = {
  actions: 1000,
  action_bytes: 64 * 1024,
  total_bytes: 512 * 1024,
  /** Objects and arrays inside one another in an option. */
  depth: 16,
} as const;

const RESERVED = new Set([START_ACTION_ID, FINISH_ACTION_ID, '00000000-0000-0000-0000-000000000003']);
const TYPES = new Set<string>(ACTION_TYPES);
const ANONYMOUS = new Set<unknown>([undefined, null, '', 'yes', 'no', 'auto']);

const invalid = (message: string, where: string): PlatformError =>
  new PlatformError('INVALID_ARGUMENT', message, [{ field: where }]);

/** Reads a list, or says what is wrong with its shape in one sentence. */
const parse = (given: unknown): ActionInput[] => {
  if (Array.isArray(given) && given.length > FLOW_LIMITS.actions)
    throw invalid(`A flow may have ${FLOW_LIMITS.actions} actions at most.`, 'actions');
  const parsed = z.array(actionInputSchema).safeParse(given);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = ['actions', ...(issue?.path ?? [])].map(String).join('.');
  throw invalid(`${where}: ${issue?.message ?? 'not a list of actions'}.`, where);
};

const checkDepth = (value: unknown, where: string, left: number = FLOW_LIMITS.depth): void => {
  if (typeof value === 'string' && !isStorable(value))
    throw invalid('Text may hold no NUL character and no half of a surrogate pair.', where);
  if (typeof value !== 'object' || value === null) return;
  if (left === 0) throw invalid(`An option may be nested ${FLOW_LIMITS.depth} levels deep at most.`, where);
  for (const [key, item] of Object.entries(value)) {
    checkDepth(key, where, left - 1);
    checkDepth(item, where, left - 1);
  }
};

const checkSize = (bytes: number, limit: number, where: string): void => {
  if (bytes > limit) throw invalid(`${where} may have ${limit} bytes at most.`, where);
};

const idOf = (given: string | undefined, where: string): string => {
  if (!isSet(given)) return EMPTY_ID;
  if (!isId(given) || RESERVED.has(given.toLowerCase())) throw invalid(`${where} is no usable UUID.`, where);
  return given.toLowerCase();
};

const typeOf = (given: string, where: string): ActionType => {
  if (!TYPES.has(given))
    throw new PlatformError('INVALID_ACTION_TYPE', `${JSON.stringify(given.slice(0, 64))} is no action type.`, [
      { field: `${where}.type` },
    ]);
  return given as ActionType;
};

const checkAnonymous = (type: ActionType, option: Record<string, unknown>, where: string): void => {
  if ((type === 'call' || type === 'connect') && !ANONYMOUS.has(option.anonymous))
    throw new PlatformError('INVALID_ANONYMOUS_VALUE', 'anonymous is one of yes, no, auto or empty.', [
      { field: `${where}.option.anonymous` },
    ]);
};

const normalise = (given: ActionInput, where: string): Action => {
  const type = typeOf(given.type, where);
  const option = given.option ?? {};
  checkDepth(option, `${where}.option`);
  checkAnonymous(type, option, where);
  const [id, nextId] = [idOf(given.id, `${where}.id`), idOf(given.next_id, `${where}.next_id`)];
  return { id: isSet(id) ? id : newId(), next_id: nextId, type, option, tm_execute: null };
};

/**
 * Checks the actions of a flow and completes them (voice-and-flows 2.3): missing ids are generated, absent options
 * become `{}`. Options are otherwise kept as given, and targets are not looked up; both matter at run time only.
 *
 * @throws PlatformError INVALID_ACTION_TYPE, INVALID_ANONYMOUS_VALUE, or INVALID_ARGUMENT for the shape and the size
 */
export const validateActions = (given: unknown): Action[] => {
  let total = 0;
  return parse(given).map((input, index) => {
    const action = normalise(input, `actions.${index}`);
    const bytes = byteLength(JSON.stringify(action));
    checkSize(bytes, FLOW_LIMITS.action_bytes, `actions.${index}`);
    checkSize((total += bytes), FLOW_LIMITS.total_bytes, 'actions');
    return action;
  });
};
