import { z } from 'zod';
import { normalizeAddress } from '#contract/address';
import { PlatformError } from '#contract/errors';
import { EMPTY_ID, isId, isSet, newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { isDuplicate, type Queryable, type Transaction } from '../db.ts';
import { because } from '../http/bind.ts';
import { byId, bySwitch, byText, byWord } from './filters.ts';
import { defineResource, render, type Row } from './resource.ts';

const ADDRESS_TYPES = ['tel', 'email', 'web_session'] as const;
export type ContactAddressType = (typeof ADDRESS_TYPES)[number];
/** What a contact itself is known by. */
export const TYPES_OF_CONTACTS = ['tel', 'email'] as const;

const text = (most: number, what: string) => z.string().max(most).default('').describe(what);

/** A kind of address; anything else is INVALID_ADDRESS_TYPE, nothing too. */
export const addressType = (types: readonly string[]) =>
  z
    .custom<ContactAddressType>(
      value => typeof value === 'string' && types.includes(value),
      because('INVALID_ADDRESS_TYPE', `must be one of ${types.join(', ')}`),
    )
    .meta({ type: 'string', enum: [...types] });

/** What an address leads to; nothing is INVALID_ADDRESS_TARGET. */
export const addressTarget = z
  .custom<string>(
    value => typeof value === 'string' && value.trim() !== '' && value.length <= 1024,
    because('INVALID_ADDRESS_TARGET', 'must be 1 to 1024 characters'),
  )
  .meta({ type: 'string', description: 'Stored as E.164, or in small letters.' });

/** What else is said of an address. */
export const addressFacts = {
  target_name: text(255, 'A name to call it by.'),
  name: text(255, 'Label.'),
  detail: text(1024, 'Free text.'),
  is_primary: z.boolean().default(false).describe('The one to use among those of its type.'),
};

/** The fields of a contact that hold in its own row. */
export const contactFields = {
  first_name: text(255, 'Given name.'),
  last_name: text(255, 'Family name.'),
  display_name: text(255, 'What people see.'),
  company: text(255, 'Where the contact works.'),
  job_title: text(255, 'As what.'),
  source: z.enum(['manual', 'import', 'api', 'sync']).default('manual').describe('Where the record came from.'),
  external_id: text(255, 'Its id in another system.'),
  notes: text(65_536, 'Free text.'),
  tag_ids: z
    .array(z.uuid().overwrite(id => id.toLowerCase()))
    .max(1000)
    .default([])
    .describe('Its tags.'),
};

/** Addresses, with or without a contact (contact-centre 18.2). */
const declaredAddresses = defineResource({
  name: 'contact_address',
  title: 'ContactAddress',
  path: '/contact_addresses',
  table: 'contact_addresses',
  not_found: 'ADDRESS_NOT_FOUND',
  duplicate: 'ADDRESS_ALREADY_EXISTS',
  read: 'manager',
  write: 'manager',
  unset: null,
  told: false,
  page_size: 20,
  filters: {
    contact_id: byId('Only those of this contact.'),
    type: byWord(ADDRESS_TYPES, 'Only those of this type.'),
    target: byText('Only this one, written in any way.'),
    unresolved: bySwitch('true: only those without a contact; false: only those with one.'),
  },
  narrow: {
    target: (rows, value) => void rows.whereIn('target', spellings(String(value))),
    unresolved: (rows, value) => void rows.where('contact_id', value === true ? '=' : '<>', EMPTY_ID),
  },
  fields: {},
  changeable: [],
  shown: {
    contact_id: z.string().describe('Whose it is; the empty UUID when nobody knows yet.'),
    type: z.enum(ADDRESS_TYPES),
    target: z.string().describe('E.164 number, e-mail address or session id.'),
    target_name: z.string(),
    name: z.string(),
    detail: z.string(),
    is_primary: z.boolean(),
  },
});
const addressSchema = declaredAddresses.schema
  .omit({ tm_update: true, tm_delete: true })
  .meta({ id: 'ContactAddress' });
export const contactAddresses = { ...declaredAddresses, schema: addressSchema };

const addressesOf = async (db: Queryable, contactIds: string[]): Promise<Row[]> =>
  db<Row>('contact_addresses')
    .whereIn('contact_id', contactIds)
    .whereIn('type', [...TYPES_OF_CONTACTS])
    .whereNull('tm_delete')
    .orderBy('tm_create');

const withAddresses = async (db: Queryable, rows: Row[]): Promise<Row[]> => {
  if (rows.length === 0) return rows;
  const ids = rows.map(({ id }) => id);
  const addresses = await addressesOf(db, ids);
  return rows.map(row => {
    const own = addresses.filter(address => address['contact_id'] === row.id);
    return { ...row, addresses: own.map(address => render(contactAddresses, address)) };
  });
};

/** People outside (contact-centre 18.1). Their addresses lie in a table of their own. */
export const contacts = defineResource({
  name: 'contact',
  title: 'Contact',
  path: '/contacts',
  table: 'contacts',
  not_found: 'CONTACT_NOT_FOUND',
  read: 'manager',
  write: 'manager',
  unset: null,
  told: true,
  whole: withAddresses,
  filters: {
    external_id: byText('Only the one with this id in another system.'),
    tag_id: byId('Only those with this tag.'),
  },
  narrow: { tag_id: (rows, value) => void rows.whereRaw('jsonb_exists(tag_ids, ?)', [String(value)]) },
  fields: contactFields,
  changeable: Object.keys(contactFields) as (keyof typeof contactFields)[],
  shown: { addresses: z.array(addressSchema).describe('By what the contact is known: tel and email.') },
});

/** A `+` that nobody encoded reaches us as a space. */
export const unspaced = (written: string): string => written.replace(/^ (?=\d)/, '+');

/** How a target may be stored that somebody has written. */
const spellings = (written: string): string[] => [
  written,
  written.trim().toLowerCase(),
  normalizeAddress({ ...NO_WORDS, type: 'tel', target: unspaced(written) }).target,
];

const NO_WORDS = { target_name: '', name: '', detail: '' };

const IS_VALID: Record<ContactAddressType, (target: string) => boolean> = {
  tel: target => /^\+[1-9]\d{6,14}$/.test(target),
  email: target => z.email().safeParse(target).success,
  web_session: isId,
};

/** The stored form of a target. Throws INVALID_ADDRESS_TARGET when it is none of its type. */
export const targetOf = (type: ContactAddressType, written: string): string => {
  const { target } = normalizeAddress({ ...NO_WORDS, type, target: unspaced(written) });
  if (IS_VALID[type](target)) return target;
  const kind = { tel: 'an E.164 number', email: 'an e-mail address', web_session: 'a UUID' }[type];
  throw new PlatformError('INVALID_ADDRESS_TARGET', `target: ${written} is not ${kind}.`);
};

/** An address as a client writes it. */
export interface NewAddress {
  type: ContactAddressType;
  target: string;
  target_name: string;
  name: string;
  detail: string;
  is_primary: boolean;
}

/** Of the addresses of a type one may be primary: the others are so no more. */
export const clearPrimary = async (trx: Transaction, contactId: string, type: unknown): Promise<void> => {
  const rivals = trx('contact_addresses')
    .where({ contact_id: contactId, type, is_primary: true })
    .whereNull('tm_delete');
  await rivals.update({ is_primary: false });
};

/** Throws INVALID_IS_PRIMARY for an address that is nobody's. */
export const mayBePrimary = (contactId: unknown, isPrimary: unknown): void => {
  if (isPrimary === true && !isSet(String(contactId)))
    throw new PlatformError('INVALID_IS_PRIMARY', 'An address without a contact cannot be primary.');
};

/** Rejects ADDRESS_ALREADY_EXISTS when what is written collides with a live address. */
export const refuseDoubles = async <T>(writing: Promise<T>): Promise<T> =>
  writing.catch((error: unknown) => {
    if (!isDuplicate(error)) throw error;
    throw new PlatformError('ADDRESS_ALREADY_EXISTS', 'The account has this address already.');
  });

/** Adds addresses to a contact, in order. */
export const addAddresses = async (trx: Transaction, contact: Row, addresses: NewAddress[]): Promise<void> => {
  const { id: contact_id, customer_id } = contact;
  for (const each of addresses) {
    if (each.is_primary) await clearPrimary(trx, contact_id, each.type);
    const facts = { ...each, target: targetOf(each.type, each.target), contact_id, customer_id };
    const row = { id: newId(), tm_create: timestamp(), ...facts };
    await refuseDoubles(Promise.resolve(trx('contact_addresses').insert(row)));
  }
};

/** Takes all addresses off a contact. */
export const dropAddresses = async (trx: Transaction, contactId: string): Promise<void> => {
  const own = trx('contact_addresses').where('contact_id', contactId).whereNull('tm_delete');
  await own.update({ tm_delete: timestamp(), is_primary: false });
};
