import { defineMachine } from '../machine.ts';

/** The statuses of a call and what moves it on (voice-and-flows 8.2). Never backward. */
export const callMachine = defineMachine('call', 'dialing', {
  dialing: { ring: 'ringing', answer: 'progressing', cancel: 'canceling', terminate: 'terminating', end: 'hangup' },
  ringing: { answer: 'progressing', cancel: 'canceling', terminate: 'terminating', end: 'hangup' },
  progressing: { terminate: 'terminating', end: 'hangup' },
  canceling: { end: 'hangup' },
  terminating: { end: 'hangup' },
  hangup: {},
});

export const CALL_STATUSES = ['dialing', 'ringing', 'progressing', 'terminating', 'canceling', 'hangup'] as const;
export type CallStatus = (typeof CALL_STATUSES)[number];
