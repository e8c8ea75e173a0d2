/** Headers of an event or message in the order in which they are written. */
export type EslHeaders = Record<string, string>;

/** An event as the media server raises it. `name` is the Event-Name, `subclass` only for CUSTOM. */
export interface EslEvent {
  name: string;
  subclass?: string;
  headers: EslHeaders;
  body?: string;
}

/** Wire formats an event connection can ask for; XML is not offered. */
export type EventFormat = 'json' | 'plain';

const unsafe = /[\x00-\x20\x7f-\u{10ffff}"#%&+:;<=>?@[\\\]^`{|}]/u;
const goodbye = 'Disconnected, goodbye.\nSee you at ClueCon! http://www.cluecon.com/\n';

/**
 * Encodes one header value of a plain message as FreeSWITCH does: control characters, space, bytes from 0x80 and
 * `" # % & + : ; < = > ? @ [ \ ] ^ \` { | }` become %XX; an empty value is `_undef_`. Escapes that are already there are
 * encoded again: the client decodes once, so the value arrives unchanged.
 */
export function encodeValue(value: string): string {
  if (value === '') return '_undef_';
  let out = '';
  for (const character of value) out += unsafe.test(character) ? encodeCharacter(character) : character;
  return out;
}

function encodeCharacter(character: string): string {
  let out = '';
  for (const byte of Buffer.from(character, 'utf8')) out += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  return out;
}

/** The header lines of a plain message, encoded, one per line, without the closing empty line. */
export function plainHeaders(headers: EslHeaders): string {
  let out = '';
  for (const [name, value] of Object.entries(headers)) out += `${oneLine(name)}: ${encodeValue(value)}\n`;
  return out;
}

/** A `command/reply`; `extra` headers follow the Reply-Text. */
export function commandReply(text: string, extra: EslHeaders = {}): string {
  let out = `Content-Type: command/reply\nReply-Text: ${oneLine(text)}\n`;
  for (const [name, value] of Object.entries(extra)) out += `${name}: ${oneLine(value)}\n`;
  return `${out}\n`;
}

/** The answer to `api`; an empty result is written as FreeSWITCH writes it. */
export function apiResponse(body: string): string {
  const text = body === '' ? '-ERR no reply\n' : body;
  return `Content-Type: api/response\nContent-Length: ${Buffer.byteLength(text)}\n\n${text}`;
}

/** One event in the format a connection asked for, complete with its frame. */
export function encodeEvent(event: EslEvent, format: EventFormat): string {
  return format === 'json' ? jsonEvent(event) : plainEvent(event);
}

function jsonEvent(event: EslEvent): string {
  const { headers, body } = event;
  const complete =
    body === undefined ? headers : { ...headers, 'Content-Length': String(Buffer.byteLength(body)), _body: body };
  const text = JSON.stringify(complete);
  return `Content-Length: ${Buffer.byteLength(text)}\nContent-Type: text/event-json\n\n${text}`;
}

function plainEvent(event: EslEvent): string {
  let text = plainHeaders(event.headers);
  if (event.body === undefined) text += '\n';
  else text += `Content-Length: ${Buffer.byteLength(event.body)}\n\n${event.body}`;
  return `Content-Length: ${Buffer.byteLength(text)}\nContent-Type: text/event-plain\n\n${text}`;
}

/** The last message on a connection. `controlled` is the channel of an outbound connection. */
export function disconnectNotice(controlled?: string): string {
  const session = controlled ? `Controlled-Session-UUID: ${controlled}\nContent-Disposition: disconnect\n` : '';
  return `Content-Type: text/disconnect-notice\n${session}Content-Length: ${goodbye.length}\n\n${goodbye}`;
}

/** Says that a hung-up channel's connection stays open for a while (protocol page §2). */
export function lingerNotice(controlled: string, channelName: string, seconds: number): string {
  return (
    `Content-Type: text/disconnect-notice\nControlled-Session-UUID: ${controlled}\nContent-Disposition: linger\n` +
    `Channel-Name: ${oneLine(channelName)}\nLinger-Time: ${seconds}\nContent-Length: 0\n\n`
  );
}

function oneLine(text: string): string {
  return text.replace(/[\r\n\0]+/g, ' ');
}
