import type { Law } from './g711.ts';
import type { Remote } from './sip-address.ts';

/** Session descriptions (RFC 4566) and offer/answer (RFC 3264) for one stream of telephone audio. */

export type Direction = 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive';

/** What a description says of its audio stream. */
export interface AudioDescription {
  remote: Remote;
  direction: Direction;
  /** Payload types of the laws we speak, in the description's order. */
  codecs: { law: Law; payloadType: number }[];
  eventPayloadType: number | undefined;
  /** Every media line, for an answer must repeat them all (RFC 3264 section 6). */
  media: MediaLine[];
  /** Which of them is the audio. */
  index: number;
}

interface MediaLine {
  kind: string;
  port: number;
  protocol: string;
  formats: string[];
  lines: string[];
}

export interface LocalDescription {
  id: number;
  version: number;
  remote: Remote;
  direction: Direction;
  codecs: { law: Law; payloadType: number }[];
  eventPayloadType: number | undefined;
}

const FIXED: Record<Law, number> = { PCMU: 0, PCMA: 8 };
export const EVENT_PAYLOAD_TYPE = 101;

/** The payload type of a law (RFC 3551 table 4). */
export function payloadTypeOf(law: Law): number {
  return FIXED[law];
}

/** Our offer. */
export function formatSdp(local: LocalDescription): string {
  return [...sessionLines(local), ...audioLines(local), ''].join('\r\n');
}

/** Our answer: the chosen stream, every other one refused with port 0. */
export function formatAnswer(local: LocalDescription, offer: AudioDescription): string {
  const media = offer.media.flatMap((line, i) =>
    i === offer.index ? audioLines(local) : [`m=${line.kind} 0 ${line.protocol} ${line.formats.join(' ')}`],
  );
  return [...sessionLines(local), ...media, ''].join('\r\n');
}

function sessionLines(local: LocalDescription): string[] {
  const address = `IN ${local.remote.host.includes(':') ? 'IP6' : 'IP4'} ${local.remote.host}`;
  return ['v=0', `o=- ${local.id} ${local.version} ${address}`, 's=phone', `c=${address}`, 't=0 0'];
}

function audioLines(local: LocalDescription): string[] {
  const events = local.eventPayloadType;
  const types = [...local.codecs.map(c => c.payloadType), ...(events === undefined ? [] : [events])];
  return [
    `m=audio ${local.remote.port} RTP/AVP ${types.join(' ')}`,
    ...local.codecs.map(c => `a=rtpmap:${c.payloadType} ${c.law}/8000`),
    ...(events === undefined ? [] : [`a=rtpmap:${events} telephone-event/8000`, `a=fmtp:${events} 0-15`]),
    'a=ptime:20',
    `a=${local.direction}`,
  ];
}

/** Reads the first plain RTP audio stream that is not refused; undefined when there is none with an address. */
export function parseSdp(text: string): AudioDescription | undefined {
  const { session, media } = sections(text);
  const index = media.findIndex(m => m.kind === 'audio' && m.port > 0 && m.protocol === 'RTP/AVP');
  const audio = media[index];
  const host = audio && (connection(audio.lines) ?? connection(session));
  if (!audio || host === undefined) return undefined;
  const names = payloadNames(audio);
  const codecs = audio.formats.flatMap(format => {
    const law = names.get(format);
    return law === 'PCMU' || law === 'PCMA' ? [{ law, payloadType: Number(format) } as const] : [];
  });
  const event = audio.formats.find(format => names.get(format) === 'TELEPHONE-EVENT');
  const direction = directionOf(audio.lines) ?? directionOf(session) ?? 'sendrecv';
  const remote = { host, port: audio.port };
  return { remote, direction, codecs, eventPayloadType: event === undefined ? undefined : Number(event), media, index };
}

function sections(text: string): { session: string[]; media: MediaLine[] } {
  const session: string[] = [];
  const media: MediaLine[] = [];
  for (const line of text.split(/\r?\n/)) {
    const match = /^m=(\S+) (\d+)(?:\/\d+)? (\S+) (.*)$/.exec(line);
    if (match)
      media.push({
        kind: match[1] ?? '',
        port: Number(match[2]),
        protocol: match[3] ?? '',
        formats: (match[4] ?? '').trim().split(/\s+/),
        lines: [],
      });
    else (media.at(-1)?.lines ?? session).push(line);
  }
  return { session, media };
}

function connection(lines: string[]): string | undefined {
  return lines.flatMap(line => /^c=IN IP[46] ([^\s/]+)/.exec(line)?.[1] ?? [])[0];
}

function directionOf(lines: string[]): Direction | undefined {
  return lines.flatMap(line => /^a=(sendrecv|sendonly|recvonly|inactive)\s*$/.exec(line)?.[1] ?? [])[0] as
    Direction | undefined;
}

/** Encoding names at 8000 Hz by payload type; 0 and 8 need no rtpmap (RFC 3551). */
function payloadNames(media: MediaLine): Map<string, string> {
  const names = new Map([
    ['0', 'PCMU'],
    ['8', 'PCMA'],
  ]);
  for (const line of media.lines) {
    const match = /^a=rtpmap:(\d+) ([^/]+)\/8000/i.exec(line);
    if (match?.[1] && match[2]) names.set(match[1], match[2].toUpperCase());
  }
  return names;
}

/** What we answer to a direction (RFC 3264 section 6.1). */
export function mirrored(direction: Direction, own: Direction = 'sendrecv'): Direction {
  const send = (direction === 'sendrecv' || direction === 'recvonly') && (own === 'sendrecv' || own === 'sendonly');
  const receive = (direction === 'sendrecv' || direction === 'sendonly') && (own === 'sendrecv' || own === 'recvonly');
  if (send) return receive ? 'sendrecv' : 'sendonly';
  return receive ? 'recvonly' : 'inactive';
}
