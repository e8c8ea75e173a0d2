import type { ActionDefinition } from '../action.ts';

/**
 * Declares an action type whose engine this version lacks: flows may contain it and its option is checked like any
 * other's, but when it is reached it fails by its row of voice-and-flows 4.7, and log, timeline and simulator say why.
 */
export const defineUnavailable = <O>(
  definition: Omit<ActionDefinition<O>, 'run' | 'available'>,
): ActionDefinition<O> => ({
  ...definition,
  available: false,
  async run() {
    throw new Error(`${definition.type} is not available in this version`);
  },
});
