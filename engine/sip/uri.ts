import { formatHostPort, formatParams, parseHostPort, parseParams } from './grammar.ts';

/** A sip, sips or tel URI (RFC 3261 19.1, RFC 3966). For tel the number is `user` and `host` is ''. */
export interface SipUri {
  scheme: 'sip' | 'sips' | 'tel';
  user?: string;
  host: string;
  port?: number;
  params: Map<string, string>;
  /** What follows the question mark, unparsed. */
  headers?: string;
}

/** A name-addr or addr-spec with header parameters: From, To, Contact, Route, Refer-To … */
export interface NameAddr {
  display: string;
  uri: string;
  params: Map<string, string>;
}

const LONGEST = 2048;
const SCHEME = /^(sips?|tel):/i;

/** Undefined when the text is no sip, sips or tel URI or longer than 2048 characters. */
export function parseUri(text: string): SipUri | undefined {
  const scheme = text.length <= LONGEST ? SCHEME.exec(text)?.[1]?.toLowerCase() : undefined;
  if (scheme === undefined || /[\s<>"]/.test(text)) return undefined;
  const rest = text.slice(scheme.length + 1);
  if (scheme === 'tel') return parseTel(rest);
  // A user part may hold ; and ? unescaped, so the @ is looked for first (RFC 3261 25.1, user-unreserved).
  const at = rest.lastIndexOf('@');
  const tail = parseTail(rest.slice(at + 1));
  if (!tail || at === 0) return undefined;
  return { scheme: scheme === 'sip' ? 'sip' : 'sips', ...(at > 0 && { user: rest.slice(0, at) }), ...tail };
}

function parseTel(rest: string): SipUri | undefined {
  const at = rest.indexOf(';');
  const user = at < 0 ? rest : rest.slice(0, at);
  if (!/^[+0-9A-Fa-f*#().-]+$/.test(user)) return undefined;
  return { scheme: 'tel', user, host: '', params: parseParams(at < 0 ? '' : rest.slice(at + 1)) };
}

function parseTail(text: string): Pick<SipUri, 'host' | 'port' | 'params' | 'headers'> | undefined {
  const question = text.indexOf('?');
  const plain = question < 0 ? text : text.slice(0, question);
  const semicolon = plain.indexOf(';');
  const place = parseHostPort(semicolon < 0 ? plain : plain.slice(0, semicolon));
  if (!place) return undefined;
  const params = parseParams(semicolon < 0 ? '' : plain.slice(semicolon + 1));
  return { ...place, params, ...(question >= 0 && { headers: text.slice(question + 1) }) };
}

/** The URI as text; nothing is escaped anew. */
export function formatUri(uri: SipUri): string {
  const params = formatParams(uri.params);
  if (uri.scheme === 'tel') return `tel:${uri.user ?? ''}${params}`;
  const user = uri.user === undefined ? '' : `${uri.user}@`;
  const headers = uri.headers === undefined ? '' : `?${uri.headers}`;
  return `${uri.scheme}:${user}${formatHostPort(uri.host, uri.port)}${params}${headers}`;
}

/** Undefined when there is no URI in it. The URI is kept as text: give it to parseUri when its parts matter. */
export function parseNameAddr(value: string): NameAddr | undefined {
  const open = angleAt(value);
  if (open < 0) return parseAddrSpec(value);
  const close = value.indexOf('>', open);
  const rest = close < 0 ? '' : value.slice(close + 1).trim();
  if (close < 0 || (rest !== '' && !rest.startsWith(';'))) return undefined;
  const uri = value.slice(open + 1, close).trim();
  return isUri(uri)
    ? { display: unquote(value.slice(0, open).trim()), uri, params: parseParams(rest.slice(1)) }
    : undefined;
}

/**
 * Without brackets everything after the first semicolon belongs to the header, not to the URI, and a URI with a question
 * mark has to have brackets (RFC 3261 20.10).
 */
function parseAddrSpec(value: string): NameAddr | undefined {
  const at = value.indexOf(';');
  const uri = (at < 0 ? value : value.slice(0, at)).trim();
  const plain = isUri(uri) && !uri.includes('?');
  return plain ? { display: '', uri, params: parseParams(at < 0 ? '' : value.slice(at + 1)) } : undefined;
}

const isUri = (text: string): boolean => /^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"]+$/.test(text);

function angleAt(value: string): number {
  let quoted = false;
  for (let i = 0; i < value.length; i++) {
    const char = value[i];
    if (quoted && char === '\\') i++;
    else if (char === '"') quoted = !quoted;
    else if (char === '<' && !quoted) return i;
  }
  return -1;
}

const unquote = (text: string): string =>
  text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text;

/** The tag of a From or To value; undefined when it has none. */
export const tagOf = (value: string | undefined): string | undefined =>
  value === undefined ? undefined : parseNameAddr(value)?.params.get('tag') || undefined;
