import { defineMachine } from '../machine.ts';

/** An activeflow runs until it ends (voice-and-flows 7). */
export const activeflowMachine = defineMachine('activeflow', 'running', {
  running: { end: 'ended' },
  ended: {},
});

export const ACTIVEFLOW_STATUSES = ['running', 'ended'] as const;
