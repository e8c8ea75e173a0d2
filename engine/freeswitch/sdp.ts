import { isIPv6, SocketAddress } from 'node:net';
import type { CodecName } from '../media/codecs/table.ts';
import { codecNamed, codecNames } from '../media/codecs/table.ts';
import type { CryptoLine } from './sdp-crypto.ts';
import { parseCrypto, writeCrypto } from './sdp-crypto.ts';
import type { DtlsAttributes, LocalDtls } from './sdp-dtls.ts';
import { dtlsLines, readDtls } from './sdp-dtls.ts';

/** Media directions of RFC 8866 section 6.7, as the writer of the description means them. */
export type Direction = 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive';

/** Where and how the other side wants to receive audio. */
export interface RemoteAudio {
  address: string;
  port: number;
  codec: CodecName;
  payloadType: number;
  /** Payload number of telephone-event, at the codec's clock where there is a choice; null when it was not offered. */
  telephoneEvent: number | null;
  /** Its clock as the other side wrote it. */
  telephoneEventClock: number;
  /** Milliseconds of audio per packet. */
  ptime: number;
  /** Direction as the other side wrote it. */
  direction: Direction;
  /** The key that the other side sends with, by the first line of it that we understand; null for plain RTP. */
  crypto: CryptoLine | null;
  /** What it says for DTLS, on a line that asks for it; null otherwise. */
  dtls: Required<DtlsAttributes> | null;
  /** Its name of the line, which an answer repeats (RFC 5888). */
  mid: string | null;
  /** Whether it takes control packets on the media's port (RFC 5761). */
  multiplexed: boolean;
}

/** One `m=` section. */
interface MediaSection {
  kind: string;
  port: number;
  proto: string;
  payloads: number[];
  address: string | null;
  direction: Direction | null;
  ptime: number | null;
  rtpmaps: Map<number, string>;
  crypto: CryptoLine | null;
  dtls: DtlsAttributes;
  mid: string | null;
  multiplexed: boolean;
}

/** A parsed session description, as much of it as a telephone call needs. */
export interface SessionDescription {
  address: string | null;
  direction: Direction;
  dtls: DtlsAttributes;
  /** Whether lines of it may share one transport (RFC 9143). */
  bundles: boolean;
  media: MediaSection[];
}

/** What our own descriptions say about us. */
export interface LocalAudio {
  address: string;
  port: number;
  sessionId: number;
  version: number;
  /** The keys that we send with, under the tags that they are offered or answered by; none for plain RTP. */
  crypto: readonly CryptoLine[];
  /** Our end of DTLS and connectivity checks; null without. */
  dtls: LocalDtls | null;
}

/** Audio over SRTP with keys by DTLS (RFC 5764). */
const dtlsProto = /^UDP\/TLS\/RTP\/SAVPF?$/;
const maxSdpBytes = 16 * 1024;
const maxMediaSections = 16;
const maxPayloads = 64;
const directions = new Set<string>(['sendrecv', 'sendonly', 'recvonly', 'inactive']);
const supportedPtimes = new Set([10, 20, 30, 40, 60]);
const answered: Record<Direction, Direction> = {
  sendrecv: 'sendrecv',
  sendonly: 'recvonly',
  recvonly: 'sendonly',
  inactive: 'inactive',
};
/** Parses a session description (RFC 8866); null when it is none or is larger than a call needs. */
export function parseSdp(text: string): SessionDescription | null {
  if (text.length > maxSdpBytes || !/^v=0\s*$/m.test(text)) return null;
  const session: SessionDescription = { address: null, direction: 'sendrecv', dtls: {}, bundles: false, media: [] };
  let section: MediaSection | null = null;
  for (const line of text.split(/\r?\n/)) {
    const value = line.slice(2);
    if (line.startsWith('m=')) {
      section = parseMedia(value);
      if (!section || session.media.length >= maxMediaSections) return null;
      session.media.push(section);
    } else if (line.startsWith('c=')) setAddress(section ?? session, value);
    else if (line.startsWith('a=')) setAttribute(session, section, value);
  }
  return session;
}

function parseMedia(value: string): MediaSection | null {
  const [kind, port, proto, ...payloads] = value.trim().split(/\s+/);
  const number = Number((port ?? '').split('/')[0]);
  if (!kind || !proto || !Number.isInteger(number) || number < 0 || number > 65535) return null;
  const numbers = payloads.slice(0, maxPayloads).map(Number).filter(isPayloadType);
  return {
    kind,
    port: number,
    proto,
    payloads: numbers,
    address: null,
    direction: null,
    ptime: null,
    rtpmaps: new Map(),
    crypto: null,
    dtls: {},
    mid: null,
    multiplexed: false,
  };
}

function isPayloadType(number: number): boolean {
  return Number.isInteger(number) && number >= 0 && number <= 127;
}

/** To groups and broadcasts we do not speak: whoever asks for it wants others to be flooded. Their address stays empty. */
const isGroup = (address: string): boolean => /^(22[4-9]|2[3-9]\d)\.|^ff[0-9a-f]{2}:/i.test(address);

function setAddress(target: { address: string | null }, value: string): void {
  const [, family, address = ''] = /^IN (IP[46]) ([0-9A-Za-z.:-]{1,255})/.exec(value.trim()) ?? [];
  if (isGroup(address)) target.address = '';
  else if (family === 'IP4' && !address.includes(':')) target.address = address;
  else if (family === 'IP6' && isIPv6(address)) target.address = new SocketAddress({ address, family: 'ipv6' }).address;
}

function setAttribute(session: SessionDescription, section: MediaSection | null, value: string): void {
  const attribute = value.trim();
  if (directions.has(attribute)) {
    if (section) section.direction = attribute as Direction;
    else session.direction = attribute as Direction;
    return;
  }
  readDtls(attribute, (section ?? session).dtls);
  if (!section && attribute.startsWith('group:BUNDLE')) session.bundles = true;
  if (!section) return;
  section.mid ??= /^mid:([\w.-]{1,32})$/.exec(attribute)?.[1] ?? null;
  const rtpmap = /^rtpmap:(\d{1,3}) ([\w.-]{1,32}\/\d{1,6}(?:\/\d)?)$/.exec(attribute);
  if (rtpmap && section.rtpmaps.size < maxPayloads)
    section.rtpmaps.set(Number(rtpmap[1]), (rtpmap[2] ?? '').replace(/\/1$/, '').toUpperCase());
  const ptime = /^ptime:(\d{1,3})/.exec(attribute);
  if (ptime) section.ptime = Number(ptime[1]);
  if (attribute.startsWith('crypto:')) section.crypto ??= parseCrypto(attribute);
  if (attribute === 'rtcp-mux') section.multiplexed = true;
}

/**
 * The first audio line we can serve, with what was negotiated on it; null when there is none (SIP 488).
 * @param spoken the codecs that we speak, the most preferred first; the order of the description does not count (protocol page section 12)
 */
export function chooseAudio(
  session: SessionDescription,
  spoken = codecNames,
): { index: number; audio: RemoteAudio } | null {
  for (const [index, section] of session.media.entries()) {
    const audio = usable(session, section) ? readAudio(session, section, spoken) : null;
    if (audio) return { index, audio };
  }
  return null;
}

function usable(session: SessionDescription, section: MediaSection): boolean {
  if (section.kind !== 'audio' || section.port === 0) return false;
  if (dtlsProto.test(section.proto)) return dtlsOf(session, section) !== null;
  return /^RTP\/AVPF?$/.test(section.proto) || (/^RTP\/SAVPF?$/.test(section.proto) && section.crypto !== null);
}

/** What a line and its session say together; null when something is missing that a handshake needs. */
function dtlsOf(session: SessionDescription, section: MediaSection): Required<DtlsAttributes> | null {
  const { fingerprint, setup = 'actpass', fragment, password } = { ...session.dtls, ...defined(section.dtls) };
  return fingerprint && fragment && password ? { fingerprint, setup, fragment, password } : null;
}

function defined(attributes: DtlsAttributes): DtlsAttributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}

function readAudio(
  session: SessionDescription,
  section: MediaSection,
  spoken: readonly CodecName[],
): RemoteAudio | null {
  const chosen = chooseCodec(section, spoken);
  const address = section.address ?? session.address;
  if (!chosen || !address) return null;
  const { crypto, mid, multiplexed } = section;
  const dtls = dtlsProto.test(section.proto) ? dtlsOf(session, section) : null;
  const held = (address === '0.0.0.0' || address === '::') && !dtls; // RFC 2543 hold; a browser that is still looking for addresses says so, too
  const { clock } = codecNamed(chosen.codec);
  const matching = payloadMapped(section, `telephone-event/${clock}`);
  const telephoneEvent = matching ?? payloadMapped(section, 'telephone-event/8000') ?? null;
  const telephoneEventClock = matching === undefined ? 8000 : clock;
  const ptime = supportedPtimes.has(section.ptime ?? 0) ? (section.ptime ?? 20) : 20;
  const direction = held ? 'inactive' : (section.direction ?? session.direction);
  return {
    address,
    port: section.port,
    ...chosen,
    telephoneEvent,
    telephoneEventClock,
    ptime,
    direction,
    crypto,
    dtls,
    mid,
    multiplexed,
  };
}

/** The first of these codecs that the line has. */
function chooseCodec(
  section: MediaSection,
  spoken: readonly CodecName[],
): Pick<RemoteAudio, 'codec' | 'payloadType'> | null {
  for (const codec of spoken.map(codecNamed)) {
    const unmapped = codec.isStatic && !section.rtpmaps.has(codec.payloadType);
    const payloadType =
      unmapped && section.payloads.includes(codec.payloadType)
        ? codec.payloadType
        : payloadMapped(section, encodingOf(codec.name));
    if (payloadType !== undefined) return { codec: codec.name, payloadType };
  }
  return null;
}

/** The first payload number of a line that stands for this encoding. */
function payloadMapped(section: MediaSection, encoding: string): number | undefined {
  return section.payloads.find(type => section.rtpmaps.get(type) === encoding.toUpperCase());
}

/** A codec as an rtpmap names it: `PCMU/8000`, `opus/48000/2`. */
function encodingOf(name: CodecName): string {
  const { clock, channels } = codecNamed(name);
  return `${name}/${clock}${channels === 1 ? '' : `/${channels}`}`;
}

/**
 * Answers an offer (RFC 3264): one codec plus telephone-event on the chosen line, every other line refused with port 0.
 * `direction` is ours.
 */
export function answerSdp(
  offer: SessionDescription,
  chosen: { index: number; audio: RemoteAudio },
  local: LocalAudio,
): string {
  const lines = sessionLines(local, offer.bundles ? chosen.audio.mid : null);
  for (const [index, section] of offer.media.entries()) {
    if (index === chosen.index) lines.push(...audioLines(section.proto, local, chosen.audio));
    else lines.push(`m=${section.kind} 0 ${section.proto} ${section.payloads[0] ?? 0}`, ...midLine(section.mid));
  }
  return `${lines.join('\r\n')}\r\n`;
}

/** A description of the audio already negotiated, for a re-INVITE without an offer. */
export function describeSdp(local: LocalAudio, audio: RemoteAudio): string {
  return `${[...sessionLines(local), ...audioLines(protoOf(local), local, audio)].join('\r\n')}\r\n`;
}

/** Payload numbers of telephone-event in our offers, one for each clock that our codecs have. */
const offeredEvents = new Map([
  [101, 8000],
  [103, 48_000],
]);

/** The offer with which an INVITE without a body is answered: everything we can do, in the order of our preference. */
export function offerSdp(local: LocalAudio, spoken = codecNames): string {
  const codecs = spoken.map(codecNamed);
  const lines = [
    ...sessionLines(local),
    `m=audio ${local.port} ${protoOf(local)} ${[...codecs.map(one => one.payloadType), ...offeredEvents.keys()].join(' ')}`,
    ...codecs.flatMap(one => codecLines(one.name, one.payloadType)),
    ...[...offeredEvents].flatMap(([type, clock]) => eventLines(type, clock)),
    'a=ptime:20',
    ...(local.dtls ? ['a=sendrecv', 'a=mid:0', 'a=rtcp-mux'] : []),
    ...securityLines(local),
  ];
  return `${lines.join('\r\n')}\r\n`;
}

function codecLines(name: CodecName, payloadType: number): string[] {
  const { fmtp } = codecNamed(name);
  return [`a=rtpmap:${payloadType} ${encodingOf(name)}`, ...(fmtp === null ? [] : [`a=fmtp:${payloadType} ${fmtp}`])];
}

function eventLines(payloadType: number, clock: number): string[] {
  return [`a=rtpmap:${payloadType} telephone-event/${clock}`, `a=fmtp:${payloadType} 0-15`];
}

function protoOf({ crypto, dtls }: LocalAudio): string {
  if (dtls) return 'UDP/TLS/RTP/SAVPF';
  return crypto.length > 0 ? 'RTP/SAVP' : 'RTP/AVP';
}

function securityLines({ address, port, crypto, dtls }: LocalAudio): string[] {
  return dtls ? dtlsLines(dtls, address, port) : crypto.map(writeCrypto);
}

function midLine(mid: string | null): string[] {
  return mid === null ? [] : [`a=mid:${mid}`];
}

/** `bundled`: the line that shares its transport with others, of which we refuse all (RFC 9143). */
function sessionLines(local: LocalAudio, bundled: string | null = null): string[] {
  const network = `IN IP${isIPv6(local.address) ? 6 : 4} ${local.address}`;
  return [
    'v=0',
    `o=Trunkline ${local.sessionId} ${local.version} ${network}`,
    's=Trunkline',
    `c=${network}`,
    't=0 0',
    ...(bundled === null ? [] : [`a=group:BUNDLE ${bundled}`]),
    ...(local.dtls ? ['a=ice-lite'] : []),
  ];
}

function audioLines(proto: string, local: LocalAudio, audio: RemoteAudio): string[] {
  const event = audio.telephoneEvent;
  const direction = answered[audio.direction];
  return [
    `m=audio ${local.port} ${proto} ${audio.payloadType}${event === null ? '' : ` ${event}`}`,
    ...codecLines(audio.codec, audio.payloadType),
    ...(event === null ? [] : eventLines(event, audio.telephoneEventClock)),
    ...(direction === 'sendrecv' && !local.dtls ? [] : [`a=${direction}`]), // the real server leaves sendrecv out in its SIP answers
    `a=ptime:${audio.ptime}`,
    ...midLine(audio.mid),
    ...(audio.multiplexed ? ['a=rtcp-mux'] : []),
    ...securityLines(local),
  ];
}

/** The same description with `a=sendrecv` spelled out, as `rtp_local_sdp_str` shows it to applications. */
export function withDirection(sdp: string): string {
  return /^a=(sendrecv|sendonly|recvonly|inactive)\s*$/m.test(sdp) ? sdp : `${sdp}a=sendrecv\r\n`;
}
