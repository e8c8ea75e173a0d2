import type { z } from 'zod';

export type Environment = Record<string, string | undefined>;

/** The environment is no valid configuration; the message has one line for each mistake. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/**
 * The settings that a schema of environment variables finds in an environment; empty variables count as absent.
 * @throws SettingsError with every mistake at once
 */
export const settingsIn = <S extends z.ZodType>(schema: S, environment: Environment): z.output<S> => {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const sentences = parsed.error.issues.map(issue => {
    const name = issue.path.join('.');
    return given[name] === undefined ? `${name} is missing.` : `${name} is wrong: ${issue.message}.`;
  });
  throw new SettingsError(sentences.join('\n'));
};
