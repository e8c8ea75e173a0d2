import { defineMachine } from '../machine.ts';

/**
 * A transfer (voice-and-flows 19). `connect`: the new party of a blind transfer came into the bridge. `consult`: that of
 * an attended one talks with the transferer; `complete`: the transferer left the two others together. `fail`: the
 * original parties are back together, or the bridge is over. `lose`: its node died.
 */
export const transferMachine = defineMachine('transfer', 'calling', {
  calling: { connect: 'completed', consult: 'consulting', fail: 'failed', lose: 'failed' },
  consulting: { complete: 'completed', fail: 'failed', lose: 'failed' },
  completed: {},
  failed: {},
});

export const TRANSFER_STATUSES = ['calling', 'consulting', 'completed', 'failed'] as const;
export type TransferStatus = (typeof TRANSFER_STATUSES)[number];
