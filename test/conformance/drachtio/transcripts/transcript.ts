import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * What was recorded between drachtio-srf 5.0.29, scripted phones and drachtio-server 0.9.10-1, one scenario a file: after
 * the head one block for each message, `+<ms>  <channel>` and its text. `A→S` and `S→A` are frames of the admin protocol
 * (`#2`: of the second connection), `SIP ua→drachtio` and back are SIP; `##` are notes. Line ends are CRLF on the wire; empty
 * lines at the end of a message are not shown.
 */
export interface Step {
  /** Since the first message, as recorded. */
  at: number;
  /** `A→S` with the number of the connection, or `SIP` with the phone's name. */
  channel: string;
  /** Towards the server: to be played. Else it is expected. */
  towards: boolean;
  over: 'admin' | 'UDP' | 'TCP';
  kind: 'connect' | 'message' | 'raw' | 'end';
  /** As on the wire; a frame is without its length, but for bytes that are none (raw). */
  text: string;
}

export interface Transcript {
  name: string;
  shows: string;
  steps: Step[];
}

/** All of them, in the order of their numbers. */
export const readTranscripts = (): Transcript[] =>
  readdirSync(import.meta.dirname)
    .filter(file => file.endsWith('.txt'))
    .sort()
    .map(file => parse(file.replace('.txt', ''), readFileSync(join(import.meta.dirname, file), 'utf8')));

function parse(name: string, text: string): Transcript {
  const [head = '', ...blocks] = text.split(/^(?=\+[\d.]+ ms {2})/m);
  const shows = /^# Shows: (.*)$/m.exec(head)?.[1] ?? '';
  return { name, shows, steps: blocks.flatMap(stepOf) };
}

function stepOf(block: string): Step[] {
  const [, at = '', what = '', rest = ''] = /^\+([\d.]+) ms {2}(.*)\n?([^]*)$/.exec(block) ?? [];
  const shown = rest.replace(/\n+$/, '').replace(/x{4}… \((\d+) times x\)/, (_all, times) => 'x'.repeat(Number(times)));
  if (what.startsWith('##')) return [];
  const admin = /^(A→S|S→A)(#\d+)?(?: {2}\((.*)\))?$/.exec(what);
  return [admin ? adminStep(Number(at), admin, shown) : sipStep(Number(at), what, shown)];
}

function adminStep(at: number, [, way, number = '#1', mark = '']: RegExpExecArray, shown: string): Step {
  const common = { at, channel: `A→S${number}`, towards: way === 'A→S', over: 'admin' } as const;
  if (mark !== '') return { ...common, kind: mark.startsWith('FIN') ? 'end' : 'connect', text: '' };
  const [, raw] = /^(.*?) *<<unparsed>>$/.exec(shown) ?? [];
  if (raw !== undefined) return { ...common, kind: 'raw', text: raw.replaceAll('\\r\\n', '\r\n') };
  return { ...common, kind: 'message', text: payload(shown) };
}

function sipStep(at: number, what: string, shown: string): Step {
  const [, tcp, from = '', to = ''] = /^SIP(\/TCP)? (\S+)→(\S+)$/.exec(what) ?? [];
  const towards = to === 'drachtio';
  const channel = `SIP ${towards ? from : to}`;
  return { at, channel, towards, over: tcp ? 'TCP' : 'UDP', kind: 'message', text: message(shown) };
}

/** SIP text with the empty lines that are not shown. */
function message(shown: string): string {
  // A double line break to keep a connection open, and the single one that answers it (RFC 5626 3.5.1).
  if (shown === '' || shown === '"\\r\\n\\r\\n"') return shown === '' ? '\r\n' : '\r\n\r\n';
  const text = shown.replaceAll('\n', '\r\n');
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return `${text}\r\n\r\n`;
  const length = Number(/^Content-Length: (\d+)|^l: (\d+)/im.exec(text)?.slice(1).find(Boolean) ?? 0);
  return pad(text, Buffer.byteLength(text.slice(0, end + 4)) + length);
}

/** A frame without its length, which says how many empty lines are not shown. */
function payload(shown: string): string {
  const [, length, rest = ''] = /^(\d+)#([^]*)$/.exec(shown) ?? [];
  if (length === undefined) return shown;
  return pad(rest.replaceAll('\n', '\r\n'), Number(length));
}

/** Blank lines that are not shown are few; where more is missing, the message was cut short on purpose. */
const MOST_PADDING = 4;

function pad(text: string, bytes: number): string {
  let padded = text;
  if (bytes - Buffer.byteLength(text) > MOST_PADDING) return text;
  while (Buffer.byteLength(padded) < bytes) padded += '\r\n';
  return padded;
}
