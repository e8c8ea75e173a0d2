import type { RemoteInfo } from 'node:dgram';
import type { MediaClock } from './clock.ts';
import { sampleRate } from './clock.ts';
import type { CodecName, Decoder } from './codecs/table.ts';
import { codecNamed, decoderAt } from './codecs/table.ts';
import { JitterBuffer } from './jitter-buffer.ts';
import type { LegMemory } from './leg-memory.ts';
import type { RemoteParty } from './remote-party.ts';
import { emptyHeader, parseRtp } from './rtp.ts';
import type { Digit } from './telephone-event.ts';
import { DigitReceiver } from './telephone-event.ts';
import { StreamTime } from './stream-time.ts';

const maxPayload = 1600;
/** What one packet says; every leg puts it in order before the next comes. */
const decoded = new Int16Array(2 * maxPayload);
const relatchTicks = 50;
/** After so many packets, a second of speech, it is known who the party is. */
const settledPackets = 50;
/**
 * Packets of audio that are decoded: so many a tick on average, which is one every 2.5 ms, and so many at once, which have waited
 * while the process stood still. Decoding costs far more than receiving.
 */
const pace = { tick: 8, atOnce: 400 };
const comfortNoise = 13;
/** A spacing that is this far off is a new talkspurt of a sender that does not count silence. */
const longestPauseMs = 1000;

/** An address that packets come from. */
export interface Source {
  address: string;
  port: number;
}

/** Packets and bytes of what came in. */
export interface ReceivedCounts {
  packets: number;
  media: number;
  digits: number;
  noise: number;
  skipped: number;
  bytes: number;
  mediaBytes: number;
}

/**
 * The receiving half of a leg: from datagrams to ordered audio and digits. The first packet decides which source is
 * the party's (symmetric RTP, RFC 4961). Another source is believed only when it is the signalled one, or after a second of
 * silence, and once the party is known only when its address or its stream is still the same: a NAT may give it another port, a
 * phone another network, but a stranger cannot take the stream over while the party says nothing.
 */
export class RtpReceiver {
  readonly counts: ReceivedCounts = { packets: 0, media: 0, digits: 0, noise: 0, skipped: 0, bytes: 0, mediaBytes: 0 };
  readonly jitter: JitterBuffer;
  /** Where packets really come from; null before the first one. */
  source: Source | null = null;
  /** Tick of the last packet that was believed. */
  lastTick: number;
  /** Packets since the source was chosen. */
  #fromSource = 0;
  #allowed = pace.atOnce;
  /** When the first audio came, milliseconds since the epoch; 0 before that. */
  firstAudioAt = 0;
  /** Interarrival jitter in milliseconds (RFC 3550 section 6.4.1). */
  interarrivalJitter = 0;
  /** Stream identifier of the last packet, for RTCP. */
  ssrc: number | null = null;
  readonly #clock: Pick<MediaClock, 'now'>;
  readonly #onFirst: () => void;
  readonly #digits: DigitReceiver;
  readonly #header = emptyHeader();
  #remote: RemoteParty | null = null;
  /** The decoders of the stream, kept while it lasts. */
  readonly #decoders = new Map<CodecName, Decoder>();
  readonly #time = new StreamTime();
  /** Ticks of the party's RTP clock in a second. */
  clockRate = sampleRate;
  /** A number from the start, so that a new one needs no place of its own. */
  #transit = NaN;

  constructor(clock: Pick<MediaClock, 'now'>, memory: LegMemory, onDigit: (digit: Digit) => void, onFirst: () => void) {
    this.#clock = clock;
    this.jitter = new JitterBuffer(memory);
    this.#digits = new DigitReceiver(({ digit, duration_samples }) =>
      onDigit({ digit, duration_samples: Math.round((duration_samples * sampleRate) / this.clockRate) }),
    );
    this.#onFirst = onFirst;
    this.lastTick = clock.now;
  }

  /** The party as signalled. Another address or port than before makes the next packet decide anew. */
  setRemote(remote: RemoteParty | null): void {
    const same = remote?.address === this.#remote?.address && remote?.port === this.#remote?.port;
    if (this.#remote !== null && !same) this.source = null;
    if (remote?.codec !== this.#remote?.codec) this.#decoders.clear();
    this.#remote = remote;
    if (remote) this.#speaks(remote.codec);
    this.lastTick = this.#clock.now;
  }

  /** Takes a datagram, whatever it holds. `authentic`: it cannot be a stranger's, wherever it comes from. */
  datagram(bytes: Buffer, from: RemoteInfo, authentic = false): void {
    const header = this.#header;
    this.counts.packets += 1;
    this.counts.bytes += bytes.length;
    if (!parseRtp(bytes, header) || !this.#believe(from, authentic)) {
      this.counts.skipped += 1;
      return;
    }
    this.lastTick = this.#clock.now;
    if (header.ssrc !== this.ssrc) this.#newStream(header.ssrc);
    this.#payload(bytes);
  }

  /** To be called at every tick. */
  tick(): void {
    this.#allowed = Math.min(pace.atOnce, this.#allowed + pace.tick);
    this.#digits.tick(this.#clock.now);
  }

  #speaks(name: CodecName): void {
    const { clock, rate } = codecNamed(name);
    this.clockRate = clock;
    this.#time.ratio = clock / rate;
    if (rate !== this.jitter.rate) this.#transit = NaN;
    this.jitter.rate = rate;
  }

  #payload(bytes: Buffer): void {
    const { payloadType, payloadStart, payloadEnd, timestamp } = this.#header;
    const codec = this.#codecOf(payloadType);
    const count = payloadEnd - payloadStart;
    if (codec !== null && count > 0 && count <= maxPayload && this.#allowed > 0) this.#audio(bytes, codec);
    else if (payloadType === this.#remote?.telephoneEvent) this.#event(bytes, payloadStart, payloadEnd, timestamp);
    else if (payloadType === comfortNoise) this.#noise();
    else this.counts.skipped += 1;
  }

  #audio(bytes: Buffer, codec: CodecName): void {
    const { payloadStart, payloadEnd, sequence, ssrc } = this.#header;
    this.#allowed -= 1;
    this.counts.media += 1;
    this.counts.mediaBytes += payloadEnd - payloadStart;
    const count = this.#decoder(codec).decode(bytes, payloadStart, payloadEnd, decoded);
    if (count === 0) return this.#unreadable();
    const timestamp = this.#time.at(this.#header.timestamp);
    this.#arrived(timestamp);
    if (!this.jitter.push(sequence, timestamp, ssrc, decoded, count)) this.counts.skipped += 1;
  }

  /** It came, but there is nothing to be heard in it. */
  #unreadable(): void {
    this.jitter.note(this.#header.sequence);
    this.counts.skipped += 1;
  }

  #decoder(codec: CodecName): Decoder {
    const open = this.#decoders.get(codec) ?? decoderAt(codec, this.jitter.rate);
    this.#decoders.set(codec, open);
    return open;
  }

  /** Compares the spacing of arrivals with that of the sender's clock; a jump of that clock is no jitter. */
  #arrived(timestamp: number): void {
    const now = performance.now();
    this.firstAudioAt ||= performance.timeOrigin + now;
    const transit = now - (timestamp * 1000) / this.jitter.rate;
    const change = Math.abs(transit - this.#transit);
    this.#transit = transit;
    // Not for the first packet, which has none before it.
    if (change < longestPauseMs) this.interarrivalJitter += (change - this.interarrivalJitter) / 16;
  }

  #event(bytes: Buffer, start: number, end: number, timestamp: number): void {
    this.counts.digits += 1;
    this.jitter.note(this.#header.sequence);
    if (end - start >= 4)
      this.jitter.silence(this.#time.at(timestamp), Math.round(bytes.readUInt16BE(start + 2) / this.#time.ratio));
    this.#digits.packet(bytes, start, end, timestamp, this.#clock.now);
  }

  /** Comfort noise (RFC 3389) is heard as silence. */
  #noise(): void {
    this.counts.noise += 1;
    this.jitter.note(this.#header.sequence);
    this.jitter.rest(this.#time.at(this.#header.timestamp));
  }

  /** The negotiated number, and the two static ones in case a party uses what it has offered. */
  #codecOf(payloadType: number): CodecName | null {
    if (payloadType === this.#remote?.payloadType) return this.#remote.codec;
    if (payloadType === this.#remote?.telephoneEvent) return null;
    if (payloadType === 0) return 'PCMU';
    return payloadType === 8 ? 'PCMA' : null;
  }

  #believe(from: RemoteInfo, authentic: boolean): boolean {
    const source = this.source;
    if (source?.address === from.address && source.port === from.port) {
      this.#fromSource += 1;
      return true;
    }
    const signalled = from.address === this.#remote?.address && from.port === this.#remote.port;
    if (source && !authentic && !signalled && !this.#mayBe(from, source)) return false;
    this.source = { address: from.address, port: from.port };
    this.#fromSource = 1;
    return true;
  }

  /** Whether a packet from elsewhere may be the party's, which has fallen silent. */
  #mayBe(from: RemoteInfo, source: Source): boolean {
    if (this.#clock.now - this.lastTick < relatchTicks) return false;
    const known = this.#fromSource > settledPackets;
    return !known || from.address === source.address || this.#header.ssrc === this.ssrc;
  }

  #newStream(ssrc: number): void {
    if (this.ssrc === null) this.#onFirst();
    else this.#digits.restart();
    for (const decoder of this.#decoders.values()) decoder.restart();
    this.#time.restart();
    this.ssrc = ssrc;
  }
}
