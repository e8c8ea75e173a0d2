import { header, type SipHeader, type SipRequest } from '../sip/message.ts';
import { formatUri, parseUri } from '../sip/uri.ts';

/** Written by the server whatever the URI says. A Route is not: it is how an application gives the way (RFC 3327 5.3). */
const DECIDED = new Set(['via', 'from', 'to', 'call-id', 'cseq', 'record-route', 'rseq', 'content-length', 'body']);

/**
 * The headers a request URI asks for, `?Route=%3Csip:edge;lr%3E`, and the URI without them, as it goes out (RFC 3261 19.1.5
 * and table 1): what needs no escape in its user is written plainly, as drachtio-server does. Undefined when it is no URI, or
 * its headers are no text of one line.
 */
export function splitUriHeaders(given: SipRequest): { uri: string; headers: SipHeader[] } | undefined {
  const uri = parseUri(given.uri);
  if (!uri) return undefined;
  const { headers: asked, ...bare } = uri;
  const plain = bare.user === undefined ? bare : { ...bare, user: plainly(bare.user) };
  if (asked === undefined) return { uri: bare.user === plain.user ? given.uri : formatUri(plain), headers: [] };
  const pairs = asked.split('&').map(pair => /^([^=]+)=(.*)$/.exec(pair)?.slice(1).map(unescaped));
  const headers = pairs.flatMap(pair => (pair?.[0] && pair[1] !== undefined ? [header(pair[0], pair[1])] : []));
  if (headers.length !== pairs.length) return undefined;
  return { uri: formatUri(plain), headers: headers.filter(one => !DECIDED.has(one.key)) };
}

/** RFC 3261 25.1: unreserved and user-unreserved. */
const PLAIN = /[\w\-.!~*'()&=+$,;?/]/;

const plainly = (user: string): string =>
  user.replace(/%([0-9a-f]{2})/gi, (escape, code: string) => {
    const character = String.fromCharCode(parseInt(code, 16));
    return PLAIN.test(character) ? character : escape;
  });

function unescaped(text: string): string | undefined {
  try {
    const plain = decodeURIComponent(text);
    return /[\x00-\x1f\x7f]/.test(plain) ? undefined : plain;
  } catch {
    return undefined; // bad escapes: the caller refuses the URI
  }
}
