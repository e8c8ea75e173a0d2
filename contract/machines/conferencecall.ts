import { defineMachine } from '../machine.ts';

/** One participation in a conference (platform-api, Conferencecall). */
export const conferencecallMachine = defineMachine('conferencecall', 'joining', {
  joining: { enter: 'joined', leave: 'leaving', end: 'leaved' },
  joined: { leave: 'leaving', end: 'leaved' },
  leaving: { end: 'leaved' },
  leaved: {},
});

export const CONFERENCECALL_STATUSES = ['joining', 'joined', 'leaving', 'leaved'] as const;
export type ConferencecallStatus = (typeof CONFERENCECALL_STATUSES)[number];
