import { defineMachine } from '../machine.ts';

/**
 * The statuses of a recording (platform-api, State machines): only forward. `lose` is what a node does for a media-app
 * that died: what was captured is kept.
 */
export const recordingMachine = defineMachine('recording', 'initiating', {
  initiating: { ready: 'recording', stop: 'stopping', fail: 'ended', lose: 'ended' },
  recording: { stop: 'stopping', lose: 'ended' },
  stopping: { flush: 'ended', lose: 'ended' },
  ended: {},
});

export const RECORDING_STATUSES = ['initiating', 'recording', 'stopping', 'ended'] as const;
