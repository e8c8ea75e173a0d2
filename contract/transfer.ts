import { z } from 'zod';
import { addressSchema } from './address.ts';
import { EMPTY_ID } from './ids.ts';
import type { TransferStatus } from './machines/transfer.ts';
import { NEVER } from './time.ts';

/** `attended`: the transferer talks with the new party first. `blind`: it is hung up at once. */
export const TRANSFER_TYPES = ['attended', 'blind'] as const;
export type TransferType = (typeof TRANSFER_TYPES)[number];

/** A conversation that is handed on to somebody else (platform-api Transfer, voice-and-flows 19). */
export const transferSchema = z
  .object({
    id: z.uuid(),
    customer_id: z.uuid(),
    type: z.enum(TRANSFER_TYPES),
    transferer_call_id: z.uuid().describe('The call of the party that transfers.'),
    transferee_addresses: z.array(addressSchema).describe('The new party.'),
    transferee_call_id: z.string().describe('The call of the new party, once the transfer is complete.'),
    groupcall_id: z.string().describe('What rings the new party.'),
    confbridge_id: z.string().describe('The bridge that the conversation is in.'),
    tm_create: z.string(),
    tm_update: z.string(),
    tm_delete: z.string(),
  })
  .meta({ id: 'Transfer', description: 'A conversation that is handed on to somebody else.' });

export type Transfer = z.infer<typeof transferSchema>;

/** A transfer as media-app keeps it; clients are not shown how far it has come. */
export type LiveTransfer = Transfer & { status: TransferStatus };

/** A transfer that has just been asked for. */
export const newTransfer = (
  given: Pick<
    Transfer,
    | 'id'
    | 'customer_id'
    | 'type'
    | 'transferer_call_id'
    | 'transferee_addresses'
    | 'groupcall_id'
    | 'confbridge_id'
    | 'tm_create'
  >,
): LiveTransfer => ({
  ...given,
  status: 'calling',
  transferee_call_id: EMPTY_ID,
  tm_update: NEVER,
  tm_delete: NEVER,
});

/** What clients see of it. */
export const publicTransfer = ({ status: _, ...transfer }: LiveTransfer): Transfer => transfer;
