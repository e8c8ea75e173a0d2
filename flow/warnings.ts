import { z } from 'zod';
import type { Action } from '#contract/action';
import { registry } from './actions/index.ts';
import { FlowGraph, type Reference } from './graph.ts';
import { optionFault } from './option.ts';
import { LIMITS } from './runner.ts';
import { validateActions } from './validate.ts';

export const WARNING_CODES = [
  'unreachable',
  'after_end',
  'beyond_limit',
  'missing_target',
  'no_default',
  'endless_loop',
  'media_before_answer',
  'invalid_option',
  'duplicate_id',
  'unavailable',
] as const;
type Code = (typeof WARNING_CODES)[number];

export const warningSchema = z
  .object({
    action_id: z.string(),
    index: z.number().int().describe('Place of the action in the list, from 0.'),
    code: z.enum(WARNING_CODES),
    message: z.string().describe('For people.'),
  })
  .meta({ id: 'FlowWarning', description: 'Something in a flow that looks wrong.' });
export type Warning = z.infer<typeof warningSchema>;

/** More than this nobody reads. */
const MOST_WARNINGS = 500;

/** What an analysis works on. */
interface Subject {
  actions: readonly Action[];
  graph: FlowGraph;
  reference: Reference;
}
type Found = [index: number, message: string];
type Analysis = (subject: Subject) => Found[];

/** Heard or sent only on an answered call, which they do not answer themselves. */
const MEDIA = new Set<string>([
  'beep',
  'digits_receive',
  'digits_send',
  'echo',
  'play',
  'recording_start',
  'stream_echo',
]);

const hasVariables = (option: unknown): boolean => JSON.stringify(option).includes('${');

const every = (actions: readonly Action[], said: (action: Action, index: number) => string | undefined): Found[] =>
  actions.flatMap((action, index): Found[] => {
    const message = said(action, index);
    return message === undefined ? [] : [[index, message]];
  });

const unreached = ({ actions, graph }: Subject): Set<number> =>
  graph.leadsAnywhere ? new Set() : new Set([...actions.keys()].filter(index => !graph.reached.has(index)));

/** An unreachable action behind a stop or hangup, and those that follow it. */
const behindEnds = (subject: Subject): Set<number> => {
  const found = new Set<number>();
  for (const index of [...unreached(subject)].sort((a, b) => a - b))
    if (subject.graph.ends(index - 1) || found.has(index - 1)) found.add(index);
  return found;
};

const invalidOption = ({ type, option }: Action): string | undefined => {
  const definition = hasVariables(option) ? undefined : registry.get(type);
  const fault = definition && optionFault(definition, option);
  return fault && `${fault}.`;
};

/** The inline actions of a call, which nobody checks before they run (voice-and-flows 2.3). */
const invalidNested = ({ type, option }: Action): string | undefined => {
  if (type !== 'call' || !Array.isArray(option['actions']) || hasVariables(option)) return undefined;
  try {
    validateActions(option['actions']);
    return undefined;
  } catch (error) {
    return error instanceof Error ? `In its own actions: ${error.message}` : String(error); // what is wrong is the answer
  }
};

const ANALYSES: Record<Code, Analysis> = {
  unreachable: subject => {
    const behind = behindEnds(subject);
    return [...unreached(subject)].filter(index => !behind.has(index)).map(index => [index, 'Nothing leads here.']);
  },
  after_end: subject => [...behindEnds(subject)].map(index => [index, 'It stands behind a stop or hangup.']),
  beyond_limit: ({ graph }) =>
    [...graph.reached]
      .filter(([, moves]) => moves > LIMITS.moves + 1)
      .map(([index]) => [index, `It comes after more than ${LIMITS.moves} actions, which end the flow.`]),
  missing_target: ({ actions, graph }) =>
    actions.flatMap((_action, index) =>
      graph.missing(index).map(({ field, id }): Found => [index, `${field}: there is no action ${id} in this flow.`]),
    ),
  no_default: ({ graph, actions }) =>
    every(actions, (_action, index) =>
      graph.lacksDefault(index) ? 'The flow stops when nothing matches: there is no other target.' : undefined,
    ),
  endless_loop: ({ graph }) =>
    graph.endlessLoops().map(([first, size]) => {
      const loop =
        size === 1 ? 'This action leads only to itself' : `${size} actions from here lead only to each other`;
      return [first, `${loop}: only the limit of ${LIMITS.moves} actions or the end of the call ends the loop.`];
    }),
  media_before_answer: ({ actions, graph, reference }) =>
    reference.reference_type === 'call' && reference.direction === 'incoming'
      ? every(actions, ({ type }, index) =>
          MEDIA.has(type) && graph.unanswered.has(index)
            ? 'The call may not be answered here: put answer or talk before it.'
            : undefined,
        )
      : [],
  invalid_option: ({ actions }) => every(actions, action => invalidOption(action) ?? invalidNested(action)),
  duplicate_id: ({ actions }) => {
    const first = new Map<string, number>();
    return every(actions, ({ id }, index) => {
      const known = first.get(id);
      if (known === undefined) first.set(id, index);
      return known === undefined ? undefined : `Action ${known} has this id too; targets find only that one.`;
    });
  },
  unavailable: ({ actions }) =>
    every(actions, ({ type }) =>
      registry.get(type)?.available === false
        ? `${type} is not available in this version and counts as failed.`
        : undefined,
    ),
};

/**
 * What looks wrong in a flow, without running it; in the order of its actions, the first 500. Flows that other flows fetch may use
 * targets outside themselves, which an analysis of one flow calls missing.
 */
export const warningsOf = (actions: readonly Action[], reference: Reference): Warning[] => {
  const subject = { actions, graph: new FlowGraph(actions, reference), reference };
  return WARNING_CODES.flatMap(code =>
    ANALYSES[code](subject).map(([index, message]) => ({ action_id: actions[index]?.id ?? '', index, code, message })),
  )
    .sort((a, b) => a.index - b.index)
    .slice(0, MOST_WARNINGS);
};
