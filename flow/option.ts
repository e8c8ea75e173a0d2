import type { z } from 'zod';
import type { ActionDefinition } from './action.ts';

type Option = Record<string, unknown>;

/** The option as the author meant it: a null stands for a field that was not set. */
const withoutNulls = (option: Option): Option =>
  Object.fromEntries(Object.entries(option).filter(([, value]) => value !== null));

const sentence = ({ path, message }: z.core.$ZodIssue): string =>
  `${['option', ...path.map(String)].join('.')}: ${message}`;

/** What is wrong with an option, in one sentence; undefined when nothing is. */
export const optionFault = (definition: ActionDefinition, option: Option): string | undefined => {
  const issue = definition.option.safeParse(withoutNulls(option)).error?.issues[0];
  return issue && sentence(issue);
};

/**
 * Reads what the flow's author wrote.
 *
 * @throws Error that names the first wrong field
 */
export const readOption = <O>(definition: ActionDefinition<O>, option: Option): O => {
  const parsed = definition.option.safeParse(withoutNulls(option));
  const issue = parsed.error?.issues[0];
  if (issue) throw new Error(sentence(issue));
  return parsed.data as O;
};
