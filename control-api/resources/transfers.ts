import { z } from 'zod';
import { normalizeAddress } from '#contract/address';
import { PlatformError } from '#contract/errors';
import { TRANSFER_TYPES, transferSchema } from '#contract/transfer';
import { defineRoute, type Route } from '../http/route.ts';
import { admit, calls, destinationsField } from './calls.ts';
import { findLive } from './live.ts';

/** A conversation is handed on to somebody else (voice-and-flows 19). There is nothing to read: the calls tell. */
const create = defineRoute({
  method: 'post',
  path: '/transfers',
  operation_id: 'create_transfer',
  summary: 'Hand the conversation of one call on to somebody else',
  tag: 'Transfer',
  permission: 'manager',
  body: z.object({
    transfer_type: z
      .enum(TRANSFER_TYPES)
      .describe('`blind`: the transferer is hung up at once; `attended`: it talks with the new party first.'),
    transferer_call_id: z
      .uuid()
      .overwrite(text => text.toLowerCase())
      .describe('The call of the party that transfers; it is in a conversation.'),
    transferee_addresses: destinationsField.describe('The new party. All are rung; the first to answer wins.'),
  }),
  response: transferSchema,
  reasons: [
    'CALL_NOT_FOUND',
    'CALL_STATE_INVALID',
    'IDENTITY_VERIFICATION_REQUIRED',
    'INSUFFICIENT_BALANCE',
    'REQUEST_TIMEOUT',
  ],
  async handle(request) {
    const { context, request_id, body } = request;
    const { data, owner, live } = await findLive(calls, request, body.transferer_call_id);
    const transferee_addresses = body.transferee_addresses.map(normalizeAddress);
    await admit(request, transferee_addresses);
    if (!live || owner === undefined || data.status !== 'progressing')
      throw new PlatformError('CALL_STATE_INVALID', 'The call is in no conversation that could be transferred.');
    const order = { customer_id: data.customer_id, request_id, body: { ...body, transferee_addresses }, owner };
    return context.commands.send('transfer.create', order);
  },
});

export const transferRoutes: Route[] = [create];
