import { z } from 'zod';
import { PlatformError, REASONS, type Reason } from '#contract/errors';
import { isId } from '#contract/ids';

type Issue = z.core.$ZodIssue;

/** A zod refinement with a reason of its own: `z.string().refine(rule, because('INVALID_WEBHOOK_URI', 'must be …'))`. */
export const because = (reason: Reason, message: string): { error: string; params: { reason: Reason } } => ({
  error: message,
  params: { reason },
});

const valueAt = (value: unknown, path: PropertyKey[]): unknown =>
  path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key], value);

const nameOf = (path: PropertyKey[]): string =>
  path.map((key, at) => (typeof key === 'number' ? `[${key}]` : `${at > 0 ? '.' : ''}${String(key)}`)).join('');

/** True when the issue is about the JSON type of a value that was given (accounts-and-plumbing 1.4). */
const isWrongType = (issue: Issue, value: unknown): boolean =>
  value !== undefined &&
  (issue.code === 'invalid_type' || (issue.code === 'invalid_value' && typeof value !== 'string'));

const ownReason = (issue: Issue): Reason | undefined => {
  const reason: unknown = issue.code === 'custom' ? issue.params?.['reason'] : undefined;
  return typeof reason === 'string' && reason in REASONS ? (reason as Reason) : undefined;
};

const sentence = (issue: Issue, value: unknown): string => {
  const name = nameOf(issue.path) || 'The body';
  return value === undefined && issue.path.length > 0 ? `${name} is required.` : `${name}: ${issue.message}.`;
};

/** Parses a body by its schema. Throws INVALID_JSON_BODY for a wrong JSON type, else the broken rule's reason. */
export const bindBody = <S extends z.ZodType>(schema: S, body: unknown): z.output<S> => {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const typed = issues.find(issue => isWrongType(issue, valueAt(body, issue.path)));
  const issue = typed ?? issues[0];
  if (!issue) throw new PlatformError('INVALID_ARGUMENT', 'The body breaks a rule.');
  const reason = typed ? 'INVALID_JSON_BODY' : (ownReason(issue) ?? 'INVALID_ARGUMENT');
  throw new PlatformError(reason, sentence(issue, valueAt(body, issue.path)));
};

/**
 * Parses query parameters. Throws MISSING_REQUEST_PARAMETER or INVALID_REQUEST_PARAMETER, naming the parameter, or the
 * reason of the rule it breaks.
 */
export const bindQuery = <S extends z.ZodType>(schema: S, query: unknown): z.output<S> => {
  const parsed = schema.safeParse(query);
  if (parsed.success && holdsUnstorable(parsed.data))
    throw new PlatformError('INVALID_REQUEST_PARAMETER', 'A query parameter holds a NUL.');
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const missing = issue !== undefined && valueAt(query, issue.path) === undefined;
  const text = issue ? sentence(issue, valueAt(query, issue.path)) : 'A query parameter breaks a rule.';
  const reason = (issue && ownReason(issue)) ?? 'INVALID_REQUEST_PARAMETER';
  throw new PlatformError(missing ? 'MISSING_REQUEST_PARAMETER' : reason, text);
};

/** Checks a path parameter that is a word and no id. Throws the reason of the rule it breaks. */
const bindWord = (word: z.core.$ZodType, name: string, value: unknown): string => {
  const parsed = z.safeParse(word, value);
  if (parsed.success) return String(parsed.data);
  const issue = parsed.error.issues[0];
  const reason = (issue && ownReason(issue)) ?? 'INVALID_REQUEST_PARAMETER';
  throw new PlatformError(reason, `${name} in the path ${issue?.message ?? 'breaks a rule'}.`);
};

/**
 * Checks path parameters: every one is an id, unless the route's schema has a plain string for it. Throws INVALID_ID. Ids
 * come back in lower case, as they are stored.
 */
export const bindParams = (params: Record<string, unknown>, schema?: z.ZodObject): Record<string, string> =>
  Object.fromEntries(
    Object.entries(params).map(([name, value]) => {
      const word: unknown = schema?.shape[name];
      if (word instanceof z.ZodString) return [name, bindWord(word, name, value)];
      if (typeof value === 'string' && isId(value)) return [name, value.toLowerCase()];
      throw new PlatformError('INVALID_ID', `${name} in the path is not a UUID.`);
    }),
  );

const UNSTORABLE = /[\0\p{Surrogate}]/u;
const holdsUnstorable = (value: unknown): boolean => {
  if (typeof value === 'string') return UNSTORABLE.test(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, item]) => UNSTORABLE.test(key) || holdsUnstorable(item));
};

/** Reads a body as JSON; an empty one counts as absent. Throws INVALID_JSON_BODY, and INVALID_ARGUMENT for text that no database stores. */
export const parseJson = (raw: Buffer): unknown => {
  const text = raw.toString('utf8').trim();
  if (text === '') throw new PlatformError('INVALID_JSON_BODY', 'The body is empty; it must be JSON.');
  const value = jsonOf(text);
  // Only an escape can bring NUL or half a surrogate pair through JSON, so most bodies need no walk.
  if (/\\u(0000|d[89a-f])/i.test(text) && holdsUnstorable(value))
    throw new PlatformError('INVALID_ARGUMENT', 'The body holds a NUL or an unpaired surrogate.');
  return value;
};

/** Reads the fields of an HTML form, each by its first value. Throws INVALID_ARGUMENT for text that no database stores. */
export const parseForm = (raw: Buffer): Record<string, string> => {
  const fields = new URLSearchParams(raw.toString('utf8'));
  const form = Object.fromEntries([...fields.keys()].map(name => [name, fields.get(name) ?? '']));
  if (holdsUnstorable(form)) throw new PlatformError('INVALID_ARGUMENT', 'The form holds a NUL.');
  return form;
};

/** Nesting deeper than this is refused before anything walks it recursively. */
const DEEPEST = 64;
const depthOf = (text: string): number => {
  let depth = 0;
  let deepest = 0;
  for (const mark of text.replace(/"(?:[^"\\]|\\.)*"/g, '')) {
    if (mark === '{' || mark === '[') deepest = Math.max(deepest, ++depth);
    else if (mark === '}' || mark === ']') depth--;
  }
  return deepest;
};

const jsonOf = (text: string): unknown => {
  try {
    if (depthOf(text) > DEEPEST) throw new PlatformError('INVALID_ARGUMENT', 'The body is nested too deeply.');
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof PlatformError) throw error;
    throw new PlatformError('INVALID_JSON_BODY', 'The body is not valid JSON.');
  }
};
