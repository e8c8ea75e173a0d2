import { defineMachine } from '../machine.ts';

/** A conference (platform-api, Conference; voice-and-flows 13.3). `fail`: its node died. */
export const conferenceMachine = defineMachine('conference', 'starting', {
  starting: { ready: 'progressing', terminate: 'terminating', fail: 'terminated' },
  progressing: { terminate: 'terminating', fail: 'terminated' },
  terminating: { empty: 'terminated', fail: 'terminated' },
  terminated: {},
});

export const CONFERENCE_STATUSES = ['starting', 'progressing', 'terminating', 'terminated'] as const;
export type ConferenceStatus = (typeof CONFERENCE_STATUSES)[number];
