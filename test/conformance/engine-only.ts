import { ownServers } from '../support/own-servers.ts';

/**
 * A test that says what the engine does where the real servers do otherwise, or cannot be asked: `why` says which. With servers
 * of one's own it is listed as pending with that reason; freeswitch/README.md says what was run.
 */
export const engineOnly = (why: string, title: string, test: Mocha.AsyncFunc): void => {
  if (ownServers()) it(`${title} (the engine only: ${why})`);
  else it(title, test);
};
