import { defineMachine } from '../machine.ts';

/** A groupcall rings several legs for one destination (voice-and-flows 11.2). */
export const groupcallMachine = defineMachine('groupcall', 'progressing', {
  progressing: { hangup: 'hangingup', end: 'hangup' },
  hangingup: { end: 'hangup' },
  hangup: {},
});

export const GROUPCALL_STATUSES = ['progressing', 'hangingup', 'hangup'] as const;
