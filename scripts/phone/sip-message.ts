/** SIP messages as the phone reads and writes them (RFC 3261 section 7). Independent of the engine's parser on purpose. */

export interface SipHeader {
  name: string;
  value: string;
}

export interface SipRequest {
  kind: 'request';
  method: string;
  uri: string;
  headers: SipHeader[];
  body: string;
}

export interface SipResponse {
  kind: 'response';
  status: number;
  reason: string;
  headers: SipHeader[];
  body: string;
}

export type SipMessage = SipRequest | SipResponse;

/** One-letter header names (RFC 3261 section 7.3.3, RFC 3515, RFC 6665), by letter. */
export const COMPACT_NAMES: Record<string, string> = {
  i: 'call-id',
  m: 'contact',
  e: 'content-encoding',
  l: 'content-length',
  c: 'content-type',
  f: 'from',
  s: 'subject',
  k: 'supported',
  t: 'to',
  v: 'via',
  r: 'refer-to',
  o: 'event',
};

const MAX_HEADERS = 200;

/**
 * Reads one whole message. Throws SyntaxError when it is no SIP message or shorter than it claims to be
 * (RFC 3261 section 18.3: a datagram longer than its Content-Length is cut, a shorter one is an error).
 */
export function parseMessage(data: Buffer): SipMessage {
  const end = data.indexOf('\r\n\r\n');
  if (end < 0) throw new SyntaxError('no empty line after the SIP headers');
  const [first = '', ...lines] = data
    .toString('utf8', 0, end)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  if (lines.length > MAX_HEADERS) throw new SyntaxError('too many SIP headers');
  const headers = lines.map(parseHeader);
  const body = bodyOf(data.subarray(end + 4), headers);
  return parseFirstLine(first, headers, body);
}

function parseHeader(line: string): SipHeader {
  const colon = line.indexOf(':');
  if (colon < 1) throw new SyntaxError(`no colon in SIP header "${line.slice(0, 40)}"`);
  const name = line.slice(0, colon).trim().toLowerCase();
  return { name: COMPACT_NAMES[name] ?? name, value: line.slice(colon + 1).trim() };
}

function bodyOf(rest: Buffer, headers: SipHeader[]): string {
  const claimed = headers.find(h => h.name === 'content-length')?.value;
  if (claimed === undefined) return rest.toString('utf8');
  const length = Number(claimed);
  if (!Number.isInteger(length) || length < 0 || length > rest.length) throw new SyntaxError('wrong Content-Length');
  return rest.toString('utf8', 0, length);
}

function parseFirstLine(line: string, headers: SipHeader[], body: string): SipMessage {
  const response = /^SIP\/2\.0 (\d{3}) ?(.*)$/.exec(line);
  if (response) return { kind: 'response', status: Number(response[1]), reason: response[2] ?? '', headers, body };
  const request = /^([A-Za-z]+) (\S+) SIP\/2\.0$/.exec(line);
  if (!request?.[1] || !request[2]) throw new SyntaxError(`no SIP first line: "${line.slice(0, 40)}"`);
  return { kind: 'request', method: request[1].toUpperCase(), uri: request[2], headers, body };
}

/** The bytes of a message; writes Content-Length itself and lets no line break through in a value. */
export function formatMessage(message: SipMessage): Buffer {
  const first =
    message.kind === 'request'
      ? `${message.method} ${oneLine(message.uri)} SIP/2.0`
      : `SIP/2.0 ${message.status} ${oneLine(message.reason)}`;
  const lines = message.headers.map(h => `${titleCase(h.name)}: ${oneLine(h.value)}`);
  const length = `Content-Length: ${Buffer.byteLength(message.body)}`;
  return Buffer.from([first, ...lines, length, '', message.body].join('\r\n'));
}

function oneLine(value: string): string {
  return value.replace(/[\r\n\0]+/g, ' ');
}

const SPELLED: Record<string, string> = { 'call-id': 'Call-ID', cseq: 'CSeq', 'www-authenticate': 'WWW-Authenticate' };

function titleCase(name: string): string {
  return (
    SPELLED[name] ?? name.replace(/(^|-)([a-z])/g, (_, dash: string, letter: string) => dash + letter.toUpperCase())
  );
}

/** The first header of that (lower case, long) name. */
export function header(message: SipMessage, name: string): string | undefined {
  return message.headers.find(h => h.name === name)?.value;
}

/** Every value of a header that may be a comma list (Via, Route, Contact), in order. Not for Authenticate headers. */
export function headerList(message: SipMessage, name: string): string[] {
  return message.headers.filter(h => h.name === name).flatMap(h => splitList(h.value));
}

/** Splits at commas outside quotes and angle brackets. */
function splitList(value: string): string[] {
  const parts = value.match(/(?:"(?:[^"\\]|\\.)*"|<[^>]*>|[^,"<])+/g) ?? [];
  return parts.map(part => part.trim()).filter(part => part !== '');
}

export interface CSeq {
  number: number;
  method: string;
}

/** RFC 3261 section 20.16. Throws SyntaxError when missing or malformed. */
export function cseq(message: SipMessage): CSeq {
  const match = /^(\d+)\s+([A-Za-z]+)$/.exec(header(message, 'cseq') ?? '');
  if (!match?.[1] || !match[2]) throw new SyntaxError('no CSeq');
  return { number: Number(match[1]), method: match[2].toUpperCase() };
}

const REASONS: Record<number, string> = {
  100: 'Trying',
  180: 'Ringing',
  183: 'Session Progress',
  200: 'OK',
  202: 'Accepted',
  302: 'Moved Temporarily',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  480: 'Temporarily Unavailable',
  481: 'Call/Transaction Does Not Exist',
  486: 'Busy Here',
  487: 'Request Terminated',
  488: 'Not Acceptable Here',
  500: 'Server Internal Error',
  503: 'Service Unavailable',
  600: 'Busy Everywhere',
  603: 'Decline',
};

/** The usual phrase of a status code (RFC 3261 section 21). */
function reasonPhrase(status: number): string {
  return REASONS[status] ?? 'Unknown';
}

/** A response to a request (RFC 3261 section 8.2.6.2); `toTag` is added to To where it has none. */
export function respondTo(
  request: SipRequest,
  status: number,
  toTag: string,
  extra: SipHeader[] = [],
  body = '',
): SipResponse {
  const copied = request.headers.filter(h => ['via', 'from', 'call-id', 'cseq'].includes(h.name));
  const to = header(request, 'to') ?? '';
  const tagged = status === 100 || /;\s*tag=/i.test(to) ? to : `${to};tag=${toTag}`;
  const routes = status > 100 && status < 300 ? request.headers.filter(h => h.name === 'record-route') : [];
  const headers = [...copied, { name: 'to', value: tagged }, ...routes, ...extra];
  return { kind: 'response', status, reason: reasonPhrase(status), headers, body };
}
