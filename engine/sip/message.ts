import { randomBytes, randomUUID } from 'node:crypto';
import { headerKey, headerName } from './names.ts';
import { tagOf } from './uri.ts';

/** One header line. `key` is the lower-case long name used for look-ups, `name` the spelling on the wire. */
export interface SipHeader {
  name: string;
  key: string;
  value: string;
}

/** A SIP request (RFC 3261 7.1). `body` is bytes; Content-Length is computed when it is written. */
export interface SipRequest {
  method: string;
  uri: string;
  headers: SipHeader[];
  body: Buffer;
}

/** A SIP response (RFC 3261 7.2). */
export interface SipResponse {
  status: number;
  reason: string;
  headers: SipHeader[];
  body: Buffer;
}

export type SipMessage = SipRequest | SipResponse;

/** Headers as a caller writes them; a list gives several lines. Undefined values are left out. */
export type HeaderInput = Record<string, string | string[] | undefined>;

/** A request has a method, a response a status. */
export const isRequest = (message: SipMessage): message is SipRequest => 'method' in message;

/** CR, LF and NUL can never become part of a line we write. */
const oneLine = (text: string): string => (/[\r\n\0]/.test(text) ? text.replace(/[\r\n\0]+/g, ' ') : text);

/** A header record from a name in any spelling. */
export function header(name: string, value: string): SipHeader {
  const key = headerKey(name);
  return { key, name: headerName(key, oneLine(name)), value: oneLine(value) };
}

function headerList(input: HeaderInput): SipHeader[] {
  const list: SipHeader[] = [];
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) list.push(header(name, one));
  }
  return list;
}

/** A request with exactly these headers. The stack adds Via (and Max-Forwards when absent) as it sends. */
export function newRequest(
  method: string,
  uri: string,
  headers: HeaderInput = {},
  body: string | Buffer = '',
): SipRequest {
  return { method, uri: oneLine(uri), headers: headerList(headers), body: Buffer.from(body) };
}

/** Headers every response repeats from its request, in this order (RFC 3261 8.2.6.2). */
const COPIED = ['via', 'from', 'to', 'call-id', 'cseq'];

/** A response with Via, From, To, Call-ID and CSeq copied; Record-Route too where a dialog may begin (RFC 3261 12.1.1). */
export function responseTo(
  request: SipRequest,
  status: number,
  reason?: string,
  headers: HeaderInput = {},
  body: string | Buffer = '',
): SipResponse {
  const list: SipHeader[] = [];
  for (const key of COPIED) for (const one of request.headers) if (one.key === key) list.push(one);
  if (status > 100 && status < 300) for (const one of request.headers) if (one.key === 'record-route') list.push(one);
  const given = headerList(headers);
  const own = new Set(given.map(one => one.key));
  const kept = own.size > 0 ? list.filter(one => !own.has(one.key)) : list;
  const text = oneLine(reason ?? reasonOf(status));
  return { status, reason: text, headers: [...kept, ...given], body: Buffer.from(body) };
}

/** The response that stands for one which never came (RFC 3261 8.1.3.1); outside a dialog with a tag of its own. */
export function responseInPlace(request: SipRequest, status: number, reason?: string): SipResponse {
  const to = headerOf(request, 'to') ?? '';
  return responseTo(request, status, reason, tagOf(to) === undefined ? { To: `${to};tag=${newTag()}` } : {});
}

/** Value of the first header of that name, any spelling; undefined when absent. */
export function headerOf(message: { headers: SipHeader[] }, name: string): string | undefined {
  const key = headerKey(name);
  for (const one of message.headers) if (one.key === key) return one.value;
  return undefined;
}

/** Values of every header line of that name, in order. Comma-joined lists are not split. */
export function headersOf(message: { headers: SipHeader[] }, name: string): string[] {
  const key = headerKey(name);
  return message.headers.filter(one => one.key === key).map(one => one.value);
}

/** Replaces the first header of that name and drops the others; appends when absent. */
export function setHeader(message: { headers: SipHeader[] }, name: string, value: string): void {
  const fresh = header(name, value);
  const at = message.headers.findIndex(one => one.key === fresh.key);
  if (at < 0) message.headers.push(fresh);
  else message.headers = message.headers.filter((one, i) => i === at || one.key !== fresh.key).with(at, fresh);
}

/** Number and method of CSeq; undefined when absent or malformed. */
export function cseqOf(message: { headers: SipHeader[] }): { number: number; method: string } | undefined {
  const parts = headerOf(message, 'cseq')?.split(/\s+/);
  if (parts?.length !== 2 || !parts[0] || !parts[1] || !/^\d{1,10}$/.test(parts[0])) return undefined;
  const number = Number(parts[0]);
  return number < 2 ** 32 ? { number, method: parts[1] } : undefined;
}

/** The bytes on the wire. Content-Length is always the last header and always true. */
export function serialize(message: SipMessage): Buffer {
  let head = isRequest(message)
    ? `${message.method} ${message.uri} SIP/2.0\r\n`
    : `SIP/2.0 ${message.status} ${message.reason}\r\n`;
  for (const one of message.headers) if (one.key !== 'content-length') head += `${one.name}: ${one.value}\r\n`;
  head += `Content-Length: ${message.body.length}\r\n\r\n`;
  return message.body.length === 0 ? Buffer.from(head) : Buffer.concat([Buffer.from(head), message.body]);
}

/** A tag that nobody guesses (RFC 3261 19.3). */
export const newTag = (): string => randomBytes(8).toString('hex');
/** A branch with the magic cookie of RFC 3261 8.1.1.7. */
export const newBranch = (): string => `z9hG4bK${randomBytes(10).toString('hex')}`;
/** A Call-ID of our own (RFC 3261 8.1.1.4). */
export const newCallId = (): string => randomUUID();

const REASONS: Readonly<Record<number, string>> = {
  100: 'Trying',
  180: 'Ringing',
  181: 'Call Is Being Forwarded',
  182: 'Queued',
  183: 'Session Progress',
  200: 'OK',
  202: 'Accepted',
  300: 'Multiple Choices',
  301: 'Moved Permanently',
  302: 'Moved Temporarily',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  407: 'Proxy Authentication Required',
  408: 'Request Timeout',
  415: 'Unsupported Media Type',
  416: 'Unsupported URI Scheme',
  420: 'Bad Extension',
  422: 'Session Interval Too Small',
  480: 'Temporarily Unavailable',
  481: 'Call/Transaction Does Not Exist',
  482: 'Loop Detected',
  483: 'Too Many Hops',
  486: 'Busy Here',
  487: 'Request Terminated',
  488: 'Not Acceptable Here',
  491: 'Request Pending',
  500: 'Server Internal Error',
  501: 'Not Implemented',
  503: 'Service Unavailable',
  504: 'Server Time-out',
  505: 'Version Not Supported',
  513: 'Message Too Large',
  600: 'Busy Everywhere',
  603: 'Decline',
};

/** The RFC's phrase for a status, or one for its class. */
const reasonOf = (status: number): string => REASONS[status] ?? (status < 300 ? 'OK' : 'Failure');
