import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { EMPTY_ID } from '#contract/ids';
import { timestamp } from '#contract/time';
import type { Transaction } from '../db.ts';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import {
  addAddresses,
  addressFacts,
  addressTarget,
  addressType,
  clearPrimary,
  contactFields,
  contacts,
  dropAddresses,
  refuseDoubles,
  targetOf,
  TYPES_OF_CONTACTS,
  type ContactAddressType,
} from './contact-store.ts';
import { crud, idParams, scopeOf } from './crud.ts';
import { byText } from './filters.ts';
import { changesOf, render, type Row } from './resource.ts';
import { Store, type More } from './store.ts';

const newAddress = z.object({ type: addressType(TYPES_OF_CONTACTS), target: addressTarget, ...addressFacts });
const addressesField = z.array(newAddress).max(100).describe('By what the contact is known.');
const addressReasons = ['INVALID_ADDRESS_TYPE', 'INVALID_ADDRESS_TARGET', 'ADDRESS_ALREADY_EXISTS'] as const;

const {
  list,
  get,
  create: plainCreate,
  update: plainUpdate,
  remove,
} = crud(contacts, {
  removing: () => ({ within: (trx, row) => dropAddresses(trx, row.id) }),
});

const create = defineRoute({
  ...plainCreate,
  status: 201,
  body: contacts.create.extend({ addresses: addressesField.default([]) }),
  response: contacts.schema,
  reasons: [...addressReasons],
  async handle(request) {
    const { addresses, ...values } = request.body;
    const before: More['before'] = (trx, row) => addAddresses(trx, row, addresses);
    return render(contacts, await new Store(contacts, request.context.db).insert(scopeOf(request), values, { before }));
  },
});

/** Changes a contact; what is changed around it belongs to the same transaction and the same event. */
const changed = async (
  request: RouteRequest<{ id: string }>,
  values: Record<string, unknown>,
  before?: More['before'],
): Promise<Record<string, unknown>> => {
  const store = new Store(contacts, request.context.db);
  return render(contacts, await store.update(scopeOf(request), request.params.id, values, before && { before }));
};

const contactChanges = { ...contactFields, addresses: addressesField };

const update = defineRoute({
  ...plainUpdate,
  status: 200,
  params: idParams,
  body: changesOf(contactChanges, Object.keys(contactChanges)),
  response: contacts.schema,
  reasons: [contacts.not_found, ...addressReasons],
  async handle(request) {
    const { addresses, ...values } = request.body as { addresses?: z.output<typeof addressesField> };
    return changed(request, values, async (trx, row) => {
      if (addresses === undefined) return;
      await dropAddresses(trx, row.id);
      await addAddresses(trx, row, addresses);
    });
  },
});

const lookup = defineRoute({
  method: 'get',
  path: '/contacts/lookup',
  operation_id: 'lookup_contact',
  summary: 'Find the contact with a telephone number or an e-mail address',
  tag: contacts.title,
  permission: 'manager',
  query: z.object({ phone: byText('E.164.'), email: byText('In any case.') }),
  response: contacts.schema,
  reasons: ['CONTACT_NOT_FOUND', 'MISSING_REQUEST_PARAMETER', 'INVALID_ADDRESS_TARGET'],
  async handle(request) {
    const { phone, email } = request.query;
    const written = phone || email;
    if (!written) throw new PlatformError('MISSING_REQUEST_PARAMETER', 'phone or email is required.');
    const type = phone ? 'tel' : 'email';
    const scope = scopeOf(request);
    const address = await request.context
      .db('contact_addresses')
      .where({ customer_id: scope.customer_id, type, target: targetOf(type, written) })
      .whereNull('tm_delete')
      .first<{ contact_id: string } | undefined>('contact_id');
    return render(contacts, await new Store(contacts, request.context.db).get(scope, address?.contact_id ?? EMPTY_ID));
  },
});

const addressParams = idParams.extend({ address_id: z.uuid().describe('The id of the address.') });

const addAddress = defineRoute({
  method: 'post',
  path: '/contacts/{id}/addresses',
  operation_id: 'add_contact_address',
  summary: 'Add an address to one contact',
  tag: contacts.title,
  permission: 'manager',
  params: idParams,
  body: newAddress,
  response: contacts.schema,
  reasons: [contacts.not_found, ...addressReasons],
  handle: request => changed(request, {}, (trx, row) => addAddresses(trx, row, [request.body])),
});

const addressOf = async (trx: Transaction, contact: Row, addressId: string): Promise<Row> => {
  const rows = trx<Row>('contact_addresses').where({ id: addressId, contact_id: contact.id }).whereNull('tm_delete');
  const address = await rows.forUpdate().first();
  if (address) return address;
  throw new PlatformError('ADDRESS_NOT_FOUND', 'The contact has no such address.');
};

const addressChanges = { target: addressTarget, ...addressFacts };

/** What may change of any address. */
export const addressChangeBody = changesOf(addressChanges, Object.keys(addressChanges));

/** Writes the changes of an address that is locked. */
export const changeAddress = async (
  trx: Transaction,
  address: Row,
  body: { target?: string; is_primary?: boolean },
): Promise<void> => {
  const type = address['type'] as ContactAddressType;
  if (body.is_primary) await clearPrimary(trx, String(address['contact_id']), type);
  const target = body.target === undefined ? {} : { target: targetOf(type, body.target) };
  const columns = { ...body, ...target, tm_update: timestamp() };
  await refuseDoubles(Promise.resolve(trx('contact_addresses').where('id', address.id).update(columns)));
};

const updateAddress = defineRoute({
  method: 'put',
  path: '/contacts/{id}/addresses/{address_id}',
  operation_id: 'update_address_of_contact',
  summary: 'Change an address of one contact; what is left out stays as it is',
  tag: contacts.title,
  permission: 'manager',
  params: addressParams,
  body: addressChangeBody,
  response: contacts.schema,
  reasons: [contacts.not_found, 'ADDRESS_NOT_FOUND', ...addressReasons],
  handle: request =>
    changed(request, {}, async (trx, row) =>
      changeAddress(trx, await addressOf(trx, row, request.params.address_id), request.body),
    ),
});

const removeAddress = defineRoute({
  method: 'delete',
  path: '/contacts/{id}/addresses/{address_id}',
  operation_id: 'delete_address_of_contact',
  summary: 'Take an address off one contact',
  tag: contacts.title,
  permission: 'manager',
  params: addressParams,
  response: contacts.schema,
  reasons: [contacts.not_found, 'ADDRESS_NOT_FOUND'],
  handle: request =>
    changed(request, {}, async (trx, row) => {
      const { id } = await addressOf(trx, row, request.params.address_id);
      await trx('contact_addresses').where('id', id).update({ tm_delete: timestamp(), is_primary: false });
    }),
});

const setTags = async (trx: Transaction, contact: Row, tagIds: string[]): Promise<Row | undefined> => {
  const own = trx<Row>('contacts').where('id', contact.id);
  const [row] = await own.update({ tag_ids: JSON.stringify(tagIds) }).returning('*');
  return row;
};

const addTag = defineRoute({
  method: 'post',
  path: '/contacts/{id}/tags',
  operation_id: 'add_contact_tag',
  summary: 'Put a tag on one contact; twice is no error',
  tag: contacts.title,
  permission: 'manager',
  params: idParams,
  body: z.object({ tag_id: z.uuid().overwrite(id => id.toLowerCase()) }),
  response: contacts.schema,
  reasons: [contacts.not_found, 'TAG_NOT_FOUND'],
  handle: request =>
    changed(request, {}, async (trx, row) => {
      const { tag_id: id } = request.body;
      const tag = trx<Row>('tags').where({ id, customer_id: row.customer_id }).whereNull('tm_delete');
      if (!(await tag.first('id'))) throw new PlatformError('TAG_NOT_FOUND', 'Tag not found.');
      return setTags(trx, row, [...new Set([...(row['tag_ids'] as string[]), id])]);
    }),
});

const removeTag = defineRoute({
  method: 'delete',
  path: '/contacts/{id}/tags/{tag_id}',
  operation_id: 'delete_contact_tag',
  summary: 'Take a tag off one contact',
  tag: contacts.title,
  permission: 'manager',
  params: idParams.extend({ tag_id: z.uuid().describe('The id of the tag.') }),
  response: contacts.schema,
  reasons: [contacts.not_found, 'CONTACT_TAG_NOT_FOUND'],
  handle: request =>
    changed(request, {}, async (trx, row) => {
      const tagIds = row['tag_ids'] as string[];
      const { tag_id } = request.params;
      if (tagIds.includes(tag_id))
        return setTags(
          trx,
          row,
          tagIds.filter(id => id !== tag_id),
        );
      throw new PlatformError('CONTACT_TAG_NOT_FOUND', 'The contact has no such tag.');
    }),
});

/** `lookup` comes before `{id}`, which would take its path. */
export const contactRoutes: Route[] = [
  lookup,
  list,
  create,
  get,
  update,
  remove,
  addAddress,
  updateAddress,
  removeAddress,
  addTag,
  removeTag,
];
