import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { EMPTY_ID, isId, isSet } from '#contract/ids';
import type { Queryable, Transaction } from '../db.ts';
import { because } from '../http/bind.ts';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import {
  addressFacts,
  addressTarget,
  addressType,
  clearPrimary,
  contactAddresses,
  contacts,
  mayBePrimary,
  targetOf,
} from './contact-store.ts';
import { addressChangeBody, changeAddress } from './contacts.ts';
import { crud, idParams, scopeOf } from './crud.ts';
import { render, type Row } from './resource.ts';
import { Store, tellUpdated, type More } from './store.ts';

const contactId = z
  .string()
  .refine(text => text === '' || isId(text), because('INVALID_CONTACT_ID', 'must be a UUID'))
  .overwrite(text => (text === '' ? EMPTY_ID : text.toLowerCase()))
  .describe('Whose it is; empty: nobody knows yet.');

const reasons = [
  'INVALID_ADDRESS_TYPE',
  'INVALID_ADDRESS_TARGET',
  'INVALID_IS_PRIMARY',
  'ADDRESS_ALREADY_EXISTS',
] as const;

const mustBeContact = async (db: Queryable, customerId: string, id: string): Promise<void> => {
  if (!isSet(id)) return;
  const found = await db<Row>('contacts').where({ id, customer_id: customerId }).whereNull('tm_delete').first('id');
  if (!found) throw new PlatformError('CONTACT_NOT_FOUND', 'Contact not found.');
};

/** Tells that contacts look otherwise since an address of theirs changed. */
const tellContacts = async (trx: Transaction, ids: unknown[], request: RouteRequest): Promise<void> => {
  const rows = await trx<Row>('contacts').whereIn('id', ids.map(String)).whereNull('tm_delete').orderBy('id');
  await tellUpdated(trx, contacts, rows, request.request_id);
};

const create = defineRoute({
  method: 'post',
  path: contactAddresses.path,
  operation_id: 'create_contact_address',
  summary: 'Keep an address, of a contact or of nobody yet',
  tag: contacts.title,
  permission: 'manager',
  body: z.object({
    contact_id: contactId.default(EMPTY_ID),
    type: addressType(['tel', 'email', 'web_session']),
    target: addressTarget,
    ...addressFacts,
  }),
  status: 201,
  response: contactAddresses.schema,
  reasons: ['CONTACT_NOT_FOUND', 'INVALID_CONTACT_ID', ...reasons],
  async handle(request) {
    const { context, body } = request;
    const scope = scopeOf(request);
    mayBePrimary(body.contact_id, body.is_primary);
    const target = targetOf(body.type, body.target);
    await mustBeContact(context.db, scope.customer_id, body.contact_id);
    const more: More = {
      // Written as any other first: of two primary addresses the index would refuse the second.
      before: async (trx, row) => {
        if (!body.is_primary) return;
        await clearPrimary(trx, body.contact_id, body.type);
        const [primary] = await trx<Row>('contact_addresses')
          .where('id', row.id)
          .update({ is_primary: true })
          .returning('*');
        return primary;
      },
      within: trx => tellContacts(trx, [body.contact_id], request),
    };
    const store = new Store(contactAddresses, context.db);
    return render(contactAddresses, await store.insert(scope, { ...body, target, is_primary: false }, more));
  },
});

/** Changes an address and tells its contacts, the one before and the one after. */
const changed = async (
  request: RouteRequest<{ id: string }>,
  work: (trx: Transaction, address: Row) => Promise<void>,
): Promise<Record<string, unknown>> => {
  const store = new Store(contactAddresses, request.context.db);
  const before: More['before'] = async (trx, address) => {
    await work(trx, address);
    const now = await trx<Row>('contact_addresses').where('id', address.id).first();
    await tellContacts(trx, [address['contact_id'], now?.['contact_id']], request);
    return now;
  };
  return render(contactAddresses, await store.update(scopeOf(request), request.params.id, {}, { before }));
};

const update = defineRoute({
  method: 'put',
  path: `${contactAddresses.path}/{id}`,
  operation_id: 'update_contact_address',
  summary: 'Change one address; what is left out stays as it is',
  tag: contacts.title,
  permission: 'manager',
  params: idParams,
  body: addressChangeBody,
  response: contactAddresses.schema,
  reasons: ['ADDRESS_NOT_FOUND', ...reasons],
  handle: request =>
    changed(request, async (trx, address) => {
      mayBePrimary(address['contact_id'], request.body['is_primary']);
      await changeAddress(trx, address, request.body);
    }),
});

const claim = defineRoute({
  method: 'post',
  path: `${contactAddresses.path}/{id}/claim`,
  operation_id: 'claim_contact_address',
  summary: 'Give one address to a contact',
  tag: contacts.title,
  permission: 'manager',
  params: idParams,
  body: z.object({
    contact_id: contactId.refine(isSet, because('INVALID_CONTACT_ID', 'must not be empty')),
    force: z.boolean().default(false).describe('Even when it is the address of another contact.'),
  }),
  response: contactAddresses.schema,
  reasons: ['ADDRESS_NOT_FOUND', 'CONTACT_NOT_FOUND', 'INVALID_CONTACT_ID', 'ADDRESS_ALREADY_CLAIMED'],
  handle: request =>
    changed(request, async (trx, address) => {
      const { contact_id, force } = request.body;
      await mustBeContact(trx, address.customer_id, contact_id);
      const owner = String(address['contact_id']);
      if (owner === contact_id) return;
      if (isSet(owner) && !force)
        throw new PlatformError(
          'ADDRESS_ALREADY_CLAIMED',
          'It is the address of another contact; force takes it away.',
        );
      await trx('contact_addresses').where('id', address.id).update({ contact_id, is_primary: false });
    }),
});

const { list, get, remove } = crud(contactAddresses, {
  removal: { is_primary: false },
  removing: request => ({ within: (trx, row) => tellContacts(trx, [row['contact_id']], request) }),
});

export const contactAddressRoutes: Route[] = [list, create, get, update, remove, claim].map(route => ({
  ...route,
  tag: contacts.title,
}));
