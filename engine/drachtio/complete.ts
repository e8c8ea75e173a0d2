import { formatHostPort } from '../sip/grammar.ts';
import type { Source, Transport } from '../sip/hop.ts';
import { header, headerOf, type SipHeader, type SipMessage } from '../sip/message.ts';

/** An address of ours, as the other side sees it. */
export interface Local {
  host: string;
  port: number;
  transport: Transport;
}

/** Our side of what came from there. */
export const localOf = (source: Source): Local => ({
  transport: source.transport,
  host: source.localAddress,
  port: source.localPort,
});

/** Our Contact as a header value, with the transport parameter for streams. */
export function contactValue(local: Local): string {
  const parameter = transportParameter(local);
  return `<sip:${formatHostPort(local.host, local.port)}${parameter}>`;
}

const transportParameter = (local: Local): string => (local.transport === 'udp' ? '' : `;transport=${local.transport}`);

const LOCALHOST = /(sips?:(?:[^@<>\s]{0,512}@)?)localhost(?::\d+)?(?![\w.-])/gi;

/** `sip:me@localhost` means the address of the interface the message leaves by. */
export function resolveLocalhost(value: string, local: Local): string {
  if (!value.includes('localhost')) return value;
  return value.replace(LOCALHOST, (_all, before: string) => `${before}${formatHostPort(local.host, local.port)}`);
}

/** A Contact on localhost also says by which transport we are reached. */
function resolveContact(value: string, local: Local): string {
  if (!value.includes('localhost') || value.includes('transport=')) return resolveLocalhost(value, local);
  const bracketed = value.includes('<') || value.includes(';') ? value : `<${value}>`;
  const resolved = resolveLocalhost(bracketed, local);
  return resolved.includes('<') ? resolved.replace('>', `${transportParameter(local)}>`) : resolved;
}

/** Headers in which applications write localhost. */
const RESOLVED = new Set(['from', 'to', 'contact', 'p-asserted-identity']);

/** The application's own headers without those the server decides, localhost resolved. */
export function ownHeaders(message: SipMessage, decided: ReadonlySet<string>, local: Local): SipHeader[] {
  return message.headers
    .filter(one => !decided.has(one.key))
    .map(one => (RESOLVED.has(one.key) ? header(one.name, resolved(one, local)) : one));
}

const resolved = (one: SipHeader, local: Local): string =>
  one.key === 'contact' ? resolveContact(one.value, local) : resolveLocalhost(one.value, local);

const SDP = Buffer.from('v=0');

/** Content-Type to add, '' when none is needed, undefined when the application must say it itself. */
export function missingContentType(message: SipMessage): string | undefined {
  if (message.body.length === 0 || headerOf(message, 'content-type') !== undefined) return '';
  return message.body.subarray(0, SDP.length).equals(SDP) ? 'application/sdp' : undefined;
}

export const CONTENT_TYPE_MISSING = 'missing content-type';
