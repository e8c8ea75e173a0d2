import Srf from 'drachtio-srf';
import { stripLineBreaks } from '#contract/address';

export interface SipUri {
  user: string;
  host: string;
  port: number | undefined;
  transport: string;
}

/** The parts of a SIP URI we route by, lower-cased host; `undefined` when it is none. */
export const parseSipUri = (text: string): SipUri | undefined => {
  try {
    const uri = Srf.parseUri(text);
    if (!uri?.host) return undefined;
    return {
      // `conference:<id>` looks like a user and a password (RFC 3261 section 19.1.1); here it is one word.
      user: decodeURIComponent(uri.password === undefined ? (uri.user ?? '') : `${uri.user}:${uri.password}`),
      host: uri.host.toLowerCase(),
      port: uri.port ? Number(uri.port) : undefined,
      transport: (uri.params.transport ?? 'udp').toLowerCase(),
    };
  } catch {
    // A hostile URI (bad escapes, no host) is simply not one of ours.
    return undefined;
  }
};

/** A display name in quotes may hold anything, angle brackets too (RFC 3261 section 25.1, quoted-string). */
const QUOTED_NAME = /^\s*"(?:[^"\\]|\\.)*"/;

/** The URI inside a From, To or Contact value: `"Ann" <sip:a@b>;tag=x` gives `sip:a@b`. */
export const uriOf = (header: string): string => {
  const rest = header.replace(QUOTED_NAME, '');
  return /<([^>]*)>/.exec(rest)?.[1] ?? rest.split(';')[0]?.trim() ?? '';
};

/** A display name safe inside quotes in a SIP header. */
export const quoted = (name: string): string => `"${stripLineBreaks(name).replace(/["\\]/g, '').slice(0, 128)}"`;

/** A user part with everything that could end it escaped (RFC 3261 section 25.1, user). */
export const escapeUser = (user: string): string =>
  encodeURIComponent(stripLineBreaks(user).slice(0, 128)).replace(/%2B/g, '+').replace(/%3B/g, ';');

/**
 * A URI as a SIP server takes it in a request line: drachtio-server would end it at a semicolon of its user, and writes that out
 * when it is given escaped.
 */
export const requestUri = (uri: string): string =>
  uri.replace(
    /^(sips?:)([^@?]*)@/i,
    (_all, scheme: string, user: string) => `${scheme}${user.replaceAll(';', '%3B')}@`,
  );

const IP_LITERAL = /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\]|localhost)$/i;

/** True for an address written as such: the domain of a phone that was given no name for us. */
export const isAddress = (host: string): boolean => IP_LITERAL.test(host);
