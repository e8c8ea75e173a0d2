import { z } from 'zod';
import { ADDRESS_TYPES, addressSchema, normalizeAddress } from '#contract/address';
import { PlatformError } from '#contract/errors';
import { isSet } from '#contract/ids';
import { fromDate, type Timestamp } from '#contract/time';
import type { Queryable } from '../db.ts';
import { readInteractions, readPeerEvents, type Peer } from '../events/peer-events.ts';
import { because } from '../http/bind.ts';
import { pageOf, pageQuery } from '../http/pagination.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { contacts, unspaced } from './contact-store.ts';
import { byId, byText } from './filters.ts';
import type { Row } from './resource.ts';

const DAY_MS = 86_400_000;
/** How far agents look back when they do not say, in days, and the furthest (contact-centre 18.3). */
const USUAL_DAYS = 30;
const MOST_DAYS = 180;

const peerEventSchema = z
  .object({
    timestamp: z.iso.datetime().describe('UTC.'),
    customer_id: z.uuid(),
    publisher: z.enum(['call', 'conversation_message', 'conversation']).describe('What kind of record it belongs to.'),
    event_type: z.string().describe('What happened; of an interaction, what happened last.'),
    reference_id: z.uuid().describe('The record it belongs to: the call.'),
    direction: z.enum(['incoming', 'outgoing', '']).describe('Who began, seen from this account.'),
    peer: addressSchema.describe('The party outside.'),
    local: addressSchema.describe('The party of this account.'),
    data: z.record(z.string(), z.unknown()).describe('The record at that moment.'),
  })
  .meta({ id: 'PeerEvent', description: 'Something that happened with a party outside.' });

const ofPeer = {
  peer_type: byText(`Only those with this party, together with peer_target; one of ${ADDRESS_TYPES.join(', ')}.`),
  peer_target: byText('Its number or address, written in any way.'),
};
const ofContact = { contact_id: byId('Only those with this contact, by any of its addresses.'), ...ofPeer };
const ofAddress = { ...ofContact, address_id: byId('Only those with this contact address.') };

/** The widest of the selectors. */
interface Selection {
  contact_id?: string | undefined;
  address_id?: string | undefined;
  peer_type?: string | undefined;
  peer_target?: string | undefined;
}

const invalid = (message: string): PlatformError => new PlatformError('INVALID_FILTER', message);

/** A party outside as somebody wrote it, in its stored form. */
const writtenPeer = ({ peer_type = '', peer_target = '' }: Selection): Peer => {
  const type = ADDRESS_TYPES.find(each => each === peer_type);
  if (!type) throw invalid(`peer_type: must be one of ${ADDRESS_TYPES.join(', ')}.`);
  if (peer_target === '') throw invalid('peer_target: is needed together with peer_type.');
  const address = { type, target: unspaced(peer_target), target_name: '', name: '', detail: '' };
  return { type, target: normalizeAddress(address).target };
};

const addressesOf = async (db: Queryable, narrow: Record<string, string>): Promise<Peer[]> =>
  db('contact_addresses').where(narrow).whereNull('tm_delete').select<Peer[]>('type', 'target');

const peersOfContact = async (db: Queryable, customer_id: string, id: string): Promise<Peer[]> => {
  const contact = await db<Row>(contacts.table).where({ id, customer_id }).whereNull('tm_delete').first('id');
  if (!contact) throw new PlatformError('CONTACT_NOT_FOUND', 'Contact not found.');
  const peers = await addressesOf(db, { customer_id, contact_id: id });
  if (peers.length > 0) return peers;
  throw new PlatformError('CONTACT_HAS_NO_ADDRESSES', 'The contact has no address that anybody could be known by.');
};

const peerOfAddress = async (db: Queryable, customer_id: string, id: string): Promise<Peer[]> => {
  const peers = await addressesOf(db, { customer_id, id });
  if (peers.length > 0) return peers;
  throw new PlatformError('ADDRESS_NOT_FOUND', 'Contact address not found.');
};

/** The parties that a selection names. Rejects INVALID_FILTER unless it names them in exactly one way. */
const peersOf = async (db: Queryable, customerId: string, query: Selection, names: string): Promise<Peer[]> => {
  const { contact_id = '', address_id = '', peer_type = '', peer_target = '' } = query;
  const given = [isSet(contact_id), isSet(address_id), `${peer_type}${peer_target}` !== ''];
  if (given.filter(Boolean).length !== 1) throw invalid(`Give exactly one of ${names}.`);
  if (isSet(contact_id)) return peersOfContact(db, customerId, contact_id);
  return isSet(address_id) ? peerOfAddress(db, customerId, address_id) : [writtenPeer(query)];
};

const describedReasons = ['INVALID_FILTER', 'CONTACT_NOT_FOUND', 'CONTACT_HAS_NO_ADDRESSES'] as const;

const interactionsBy = (more: z.ZodRawShape): Route =>
  defineRoute({
    method: 'get',
    path: '/contact_interactions',
    operation_id: 'list_contact_interactions',
    summary: 'List the calls with a party outside, newest first, each with what happened last',
    tag: contacts.title,
    permission: 'manager',
    query: pageQuery.extend({ ...ofAddress, ...more }),
    response: pageOf(peerEventSchema),
    reasons: [...describedReasons, 'ADDRESS_NOT_FOUND', ...('since' in more ? (['INVALID_SINCE'] as const) : [])],
    async handle({ context: { db }, identity: { customer_id }, query }) {
      const names = 'contact_id, address_id, and peer_type with peer_target';
      const peers = await peersOf(db, customer_id, query, names);
      const since = (query as { since?: Timestamp }).since;
      return readInteractions(db, { customer_id, peers, ...query, since });
    },
  });

const listPeerEvents = defineRoute({
  method: 'get',
  path: '/contact_peer_events',
  operation_id: 'list_contact_peer_events',
  summary: 'List everything that happened with a party outside, newest first',
  tag: contacts.title,
  permission: 'manager',
  query: pageQuery.extend(ofContact),
  response: pageOf(peerEventSchema),
  reasons: [...describedReasons],
  async handle({ context: { db }, identity: { customer_id }, query }) {
    const peers = await peersOf(db, customer_id, query, 'contact_id, and peer_type with peer_target');
    return readPeerEvents(db, { customer_id, peers, ...query });
  },
});

const isSince = (text: string): boolean => /^[1-9]\d{0,2}d$/.test(text) && Number.parseInt(text, 10) <= MOST_DAYS;

const since = z
  .string()
  .refine(isSince, because('INVALID_SINCE', `must be 1d to ${MOST_DAYS}d`))
  .default(`${USUAL_DAYS}d`)
  .transform(text => fromDate(new Date(Date.now() - Number.parseInt(text, 10) * DAY_MS)))
  .describe(`How many days back, such as 7d; at most ${MOST_DAYS}d.`)
  .meta({ type: 'string', default: `${USUAL_DAYS}d` });

export const contactInteractionRoutes: Route[] = [interactionsBy({}), listPeerEvents];

/** The same for agents, who look back a month unless they ask for more. */
export const agentInteractionRoutes: Route[] = [interactionsBy({ since }), listPeerEvents];
