import { ownServers } from './own-servers.ts';

/**
 * A test that says what the engine does where the real servers do otherwise, or cannot be asked: `why` says which. With servers
 * of one's own it is listed as pending with that reason; sip-config/README.md and freeswitch/README.md say what was run.
 */
export const engineOnly = (why: string, title: string, test: Mocha.AsyncFunc): void => {
  if (ownServers()) it(`${title} (the engine only: ${why})`);
  else it(title, test);
};

/** Such a scenario of `sideBySide`, to be spread among the others. */
export const engineScenario = (
  why: string,
  title: string,
  run: () => Promise<'unable' | void>,
): Record<string, () => Promise<'unable' | void>> =>
  ownServers() ? { [`${title} (the engine only: ${why})`]: () => Promise.resolve('unable') } : { [title]: run };

/** A whole suite that starts engines of its own, with settings that a server which stands cannot take. */
export const engineSuite = (why: string, title: string, suite: (this: Mocha.Suite) => void): void => {
  describe(title, ownServers() ? () => it(`is of the engine only: ${why}`) : suite);
};

/** Part of a test that real servers do not fulfil; the rest of it holds for them too. */
export const onEngine = async (_why: string, check: () => unknown): Promise<void> => {
  if (!ownServers()) await check();
};
