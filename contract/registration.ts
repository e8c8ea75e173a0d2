import { z } from 'zod';
import { fromDate, type Timestamp } from './time.ts';

/** Which way to which device, where the phone speaks outbound (RFC 5626 section 6). */
export interface Flow {
  instance: string;
  reg_id: number;
}

/** Where one device of an extension can be reached, as Redis holds it. Times in milliseconds since the epoch. */
export interface Contact {
  /** Whose extension it is: events of it go there. */
  customer_id: string;
  uri: string;
  /** The device and its way, where the phone speaks outbound: one binding each (RFC 5626). */
  flow?: Flow;
  /** Edge proxies between, the first one next to us (RFC 3327). */
  path: string[];
  /** What the phone would rather be rung by, as it wrote it: 0 to 1 (RFC 3261 section 20.10). */
  q?: string;
  /** The request's own source: the next hop when the contact's host is not where it came from. */
  source: { address: string; port: number; transport: string };
  /** The SIP server that received it: a TCP or WebSocket device is reached through that one only. */
  sip_server: string;
  user_agent: string;
  call_id: string;
  cseq: number;
  /** When it was last registered: the oldest gives way to a new one. */
  registered_at: number;
  expires_at: number;
}

/** Why a phone is not registered any more, as events say it. */
export const UNREGISTER_REASONS = [
  'unregistered',
  'expired',
  'replaced',
  'connection_lost',
  'unreachable',
  'extension_deleted',
] as const;
export type UnregisterReason = (typeof UNREGISTER_REASONS)[number];

export const shownContactSchema = z
  .object({
    uri: z.string().describe('The SIP URI it registered.'),
    transport: z.string().describe('What it came over: udp, tcp, tls, ws or wss.'),
    source_address: z.string().describe('The address it came from.'),
    source_port: z.int().describe('The port it came from.'),
    user_agent: z.string().describe('What the phone says it is.'),
    tm_register: z.string().describe('When it registered last.'),
    tm_expire: z.string().describe('When it is forgotten, if it does not register again.'),
  })
  .meta({ id: 'RegisteredContact', description: 'A phone that is registered.' });
export type ShownContact = z.infer<typeof shownContactSchema>;

/** What an extension's record says about its phones. */
export interface Registration {
  registered: boolean;
  contacts: ShownContact[];
  /** Empty for one that was never seen, as extensions show moments that have not come. */
  tm_last_seen: Timestamp;
}

const moment = (millis: number): Timestamp => fromDate(new Date(millis));

/** A contact as clients see it. */
export const shownContact = ({ uri, source, user_agent, registered_at, expires_at }: Contact): ShownContact => ({
  uri,
  transport: source.transport,
  source_address: source.address,
  source_port: source.port,
  user_agent,
  tm_register: moment(registered_at),
  tm_expire: moment(expires_at),
});

/** The contacts among those stored whose time is not over, oldest first. */
export const liveContacts = (stored: string[], now: number): Contact[] =>
  stored
    .map(text => JSON.parse(text) as Contact)
    .filter(contact => contact.expires_at > now)
    .sort((a, b) => a.registered_at - b.registered_at);

/** What is shown of an extension with these contacts, heard of last at `seen` (milliseconds; 0 for never). */
export const registrationOf = (contacts: Contact[], seen: number): Registration => ({
  registered: contacts.length > 0,
  contacts: contacts.map(shownContact),
  tm_last_seen: seen === 0 ? '' : moment(seen),
});
