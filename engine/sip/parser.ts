import { headerKey, headerName } from './names.ts';
import { listOf, splitOutside } from './grammar.ts';
import { cseqOf, headerOf, headersOf, isRequest, type SipHeader, type SipMessage, type SipRequest } from './message.ts';
import { parseNameAddr, parseUri } from './uri.ts';
import { parseVia, topVia } from './via.ts';

/** What hostile input may not exceed. */
export const LIMITS = { message: 65_536, headers: 256, line: 8192 } as const;

/**
 * Result of parsing. A refusal carries the status to answer with and, when start line and headers could be read, the
 * message itself, so that the sender of a malformed request can be told.
 */
export type Parsed =
  { ok: true; message: SipMessage } | { ok: false; error: string; status: number; message?: SipMessage };

const refuse = (error: string, message?: SipMessage, status = 400): Parsed => ({ ok: false, error, status, message });

const TOKEN = /^[A-Za-z0-9\-.!%*_+`'~]+$/;
const END = '\r\n\r\n';

/** One datagram: the whole message, with its body cut to Content-Length (RFC 3261 18.3). Never throws. */
export function parseDatagram(data: Buffer): Parsed {
  if (data.length > LIMITS.message) return refuse('message too large');
  const end = data.indexOf(END);
  if (end < 0) return refuse('no end of headers');
  const head = parseHead(data.toString('utf8', 0, end));
  if (!head.ok) return head;
  const length = contentLength(head.message);
  const rest = data.subarray(end + END.length);
  if (length === undefined || length > rest.length) return refuse('wrong Content-Length', head.message);
  head.message.body = length < 0 ? rest : rest.subarray(0, length);
  return checked(head.message);
}

/** Text from an application: no header is mandatory and the body is whatever follows the blank line. Never throws. */
export function parseLoose(text: string): Parsed {
  const end = text.indexOf(END);
  const head = parseHead(end < 0 ? text.replace(/(\r\n)+$/, '') : text.slice(0, end));
  if (head.ok && end >= 0) head.message.body = Buffer.from(text.slice(end + END.length));
  return head;
}

/** Declared length, -1 when absent, undefined when unusable or contradictory. */
export function contentLength(message: SipMessage): number | undefined {
  let length = -1;
  for (const one of message.headers) {
    if (one.key !== 'content-length') continue;
    if (!/^\d{1,7}$/.test(one.value) || (length >= 0 && length !== Number(one.value))) return undefined;
    length = Number(one.value);
  }
  return length;
}

/** Start line and headers, without the blank line. A quoted NUL becomes a blank; no other is taken. */
export function parseHead(text: string): Parsed {
  const lines = text
    .replaceAll('\\\0', '\\ ')
    .replace(/^(\r\n)+/, '')
    .split('\r\n');
  if (lines.length > LIMITS.headers * 4) return refuse('too many lines');
  if (lines.some(line => line.length > LIMITS.line || /[\r\n\0]/.test(line))) return refuse('unusable line');
  const start = lines[0] ?? '';
  const message = parseStart(start) ?? guessStart(start);
  if (!message) return refuse('unreadable start line');
  const headers = parseHeaders(lines);
  if (typeof headers === 'string') return refuse(headers);
  message.headers = headers;
  if (parseStart(start)) return { ok: true, message };
  return refuse('wrong start line', message, /SIP\/2\.0\s*$/i.test(start) ? 400 : 505);
}

/** What a wrong request line was meant to be, so that its sender can be told. */
function guessStart(line: string): SipMessage | undefined {
  // Word by word: one pattern for all of it would look for its end from every blank of a line that has thousands.
  const words = line.trimEnd().split(/\s+/);
  const [method = '', version = ''] = [words[0], words.at(-1)];
  if (words.length < 3 || method.length > 50 || !TOKEN.test(method) || !/^SIP\/\d+\.\d+$/i.test(version))
    return undefined;
  const uri = line.slice(method.length, line.lastIndexOf(version)).trim();
  return { method, uri, headers: [], body: Buffer.alloc(0) };
}

function parseStart(line: string): SipMessage | undefined {
  if (/^SIP\/2\.0 /i.test(line)) {
    const status = /^[1-6]\d\d$/.test(line.slice(8, 11)) ? Number(line.slice(8, 11)) : 0;
    const separated = line.length === 11 || line[11] === ' ';
    return status > 0 && separated
      ? { status, reason: line.slice(12).trim(), headers: [], body: Buffer.alloc(0) }
      : undefined;
  }
  const [method, uri, version, more] = line.split(' ');
  if (!method || !uri || more !== undefined || version?.toUpperCase() !== 'SIP/2.0') return undefined;
  return TOKEN.test(method) && !/[\t<>]/.test(uri) ? { method, uri, headers: [], body: Buffer.alloc(0) } : undefined;
}

/** Header records with folded lines joined (RFC 3261 7.3.1), or what is wrong with them. */
function parseHeaders(lines: string[]): SipHeader[] | string {
  const headers: SipHeader[] = [];
  for (let i = 1; i < lines.length; i++) {
    const line = lines[i] ?? '';
    const last = headers.at(-1);
    if ((line.startsWith(' ') || line.startsWith('\t')) && last) last.value = `${last.value} ${line.trim()}`.trim();
    else {
      const one = parseHeader(line);
      if (!one) return 'unreadable header line';
      if (headers.push(one) > LIMITS.headers) return 'too many headers';
    }
    if ((headers.at(-1)?.value.length ?? 0) > LIMITS.line) return 'header too long';
  }
  return headers;
}

function parseHeader(line: string): SipHeader | undefined {
  const colon = line.indexOf(':');
  const name = colon < 0 ? '' : line.slice(0, colon).trimEnd();
  if (!TOKEN.test(name)) return undefined;
  const key = headerKey(name);
  return { key, name: headerName(key, name), value: line.slice(colon + 1).trim() };
}

/** What RFC 3261 8.1.1 makes mandatory. */
export function checked(message: SipMessage): Parsed {
  const fault = faultIn(message);
  return fault === undefined ? { ok: true, message } : refuse(fault, message);
}

/** Of these a message has one (RFC 3261 7.3.1). */
const SINGLE = ['call-id', 'cseq', 'from', 'to', 'max-forwards'];

function faultIn(message: SipMessage): string | undefined {
  const twice = SINGLE.find(key => message.headers.filter(one => one.key === key).length > 1);
  if (twice !== undefined) return `several ${twice}`;
  const callId = headerOf(message, 'call-id');
  if (!callId || callId.length > 512) return 'missing Call-ID';
  const cseq = cseqOf(message);
  if (!cseq) return 'missing CSeq';
  if (isRequest(message) && cseq.method !== message.method) return 'CSeq does not name the method';
  if (!topVia(message)) return 'missing Via';
  if (headersOf(message, 'via').some(value => splitOutside(value, ',').some(one => !parseVia(one))))
    return 'unusable Via';
  if (!parseNameAddr(headerOf(message, 'from') ?? '')) return 'missing From';
  if (!parseNameAddr(headerOf(message, 'to') ?? '')) return 'missing To';
  return isRequest(message) ? faultInRequest(message) : undefined;
}

function faultInRequest(request: SipRequest): string | undefined {
  // RFC 3261 19.1.1: a request URI has no headers.
  if (parseUri(request.uri)?.headers !== undefined) return 'headers in the request URI';
  const contacts = listOf(headersOf(request, 'contact'));
  return contacts.some(one => one !== '*' && !parseNameAddr(one)) ? 'unusable Contact' : undefined;
}
