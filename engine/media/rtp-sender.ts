import { frameSamples, framesPerSecond, sampleRate } from './clock.ts';
import type { Encoder } from './codecs/table.ts';
import { rateOf } from './frame-resampler.ts';
import { codecNamed } from './codecs/table.ts';
import type { LegMemory, Packet } from './leg-memory.ts';
import type { RemoteParty } from './remote-party.ts';
import { listens } from './remote-party.ts';
import { headerBytes, OutgoingStream, writeRtpHeader } from './rtp.ts';
import type { Source } from './rtp-receiver.ts';
import { addDigitTone } from './tones.ts';
import type { EventPacket } from './telephone-event.ts';
import { DigitSender, keyOf, writeEvent } from './telephone-event.ts';
import type { Wire } from './wire.ts';

/** Packets and bytes of what went out. */
export interface SentCounts {
  packets: number;
  media: number;
  digits: number;
  bytes: number;
  mediaBytes: number;
  failed: number;
}

/** The sending half of a leg: 20 ms frames in, packets of the party's length out, digits in place of audio. */
export class RtpSender {
  readonly counts: SentCounts = { packets: 0, media: 0, digits: 0, bytes: 0, mediaBytes: 0, failed: 0 };
  readonly digits = new DigitSender();
  readonly stream = new OutgoingStream();
  readonly #wire: Wire;
  readonly #pending: Int16Array;
  readonly #packets: readonly Packet[];
  #pendingCount = 0;
  #nextPacket = 0;
  #eventTimestamp = 0;
  #marker = true;
  #remote: RemoteParty | null = null;
  #packetSamples = frameSamples;
  #packetTicks = frameSamples;
  #encoder: Encoder | null = null;
  /** Ticks of the codec's clock in a second, and in a frame. */
  clockRate = sampleRate;
  #frameTicks = frameSamples;

  constructor(wire: Wire, { pending, packets }: LegMemory) {
    this.#wire = wire;
    this.#pending = pending;
    this.#packets = packets;
  }

  /** The party as signalled; null stops sending. */
  setRemote(remote: RemoteParty | null): void {
    const codec = codecNamed(remote?.codec ?? 'PCMU');
    if (remote?.codec !== this.#remote?.codec) this.#encoder = remote && codec.openEncoder();
    this.#remote = remote;
    this.clockRate = codec.clock;
    this.#frameTicks = codec.clock / framesPerSecond;
    const wanted = remote?.ptime ?? 20;
    const ptime = codec.packetTimes.includes(wanted) ? wanted : 20;
    this.#packetSamples = (ptime * codec.rate) / 1000;
    this.#packetTicks = (ptime * codec.clock) / 1000;
    this.#pendingCount = 0;
    this.#marker = true;
  }

  /**
   * Sends what the party hears in this tick, at the rate of its codec, or a digit in its place. `frame` may be overwritten. `source` is where the
   * party's packets come from, which is believed more than its description.
   */
  tick(frame: Int16Array, source: Source | null): void {
    const remote = this.#remote;
    const event = this.digits.next();
    if (!remote || !listens(remote)) return this.stream.advance(this.#frameTicks); // silence takes time too (RFC 3550 §5.1)
    const to = source ?? remote;
    if (event && remote.telephoneEvent !== null) this.#event(event, remote.telephoneEvent, to);
    else this.#audio(event ? toneOf(event, frame) : frame, remote, to);
  }

  #event(event: EventPacket, payloadType: number, to: Source): void {
    if (event.first) this.#eventTimestamp = this.stream.timestamp;
    this.#pendingCount = 0;
    const packet = this.#take();
    writeRtpHeader(packet.bytes, payloadType, event.marker, this.stream, this.#eventTimestamp);
    writeEvent(packet.bytes, headerBytes, event, this.clockRate / sampleRate);
    this.counts.digits += 1;
    this.#send(packet, headerBytes + 4, to);
    this.stream.advance(this.#frameTicks);
  }

  #audio(frame: Int16Array, remote: RemoteParty, to: Source): void {
    this.#pending.set(frame, this.#pendingCount);
    this.#pendingCount += frame.length;
    let sent = 0;
    for (; this.#pendingCount - sent >= this.#packetSamples; sent += this.#packetSamples) this.#media(sent, remote, to);
    this.#pending.copyWithin(0, sent, this.#pendingCount);
    this.#pendingCount -= sent;
  }

  #media(from: number, remote: RemoteParty, to: Source): void {
    const packet = this.#take();
    writeRtpHeader(packet.bytes, remote.payloadType, this.#marker, this.stream, this.stream.timestamp);
    const bytes = this.#encoder?.encode(this.#pending, from, this.#packetSamples, packet.bytes, headerBytes) ?? 0;
    this.#marker = false;
    this.counts.media += 1;
    this.counts.mediaBytes += bytes;
    this.#send(packet, headerBytes + bytes, to);
    this.stream.advance(this.#packetTicks);
  }

  #take(): Packet {
    this.#nextPacket = (this.#nextPacket + 1) % this.#packets.length;
    return this.#packets[this.#nextPacket] as Packet;
  }

  #send(packet: Packet, length: number, to: Source): void {
    this.stream.packetSent();
    this.counts.packets += 1;
    this.counts.bytes += length;
    this.#wire.sendRtp(packet, length, to);
  }
}

/** A digit for a party without telephone-event: its two tones instead of the audio, nothing during the repeated ends. */
function toneOf(event: EventPacket, frame: Int16Array): Int16Array {
  frame.fill(0);
  const age = (event.duration / frameSamples - 1) * frame.length;
  if (!event.end || event.first) addDigitTone(frame, keyOf(event.event), age, rateOf(frame));
  return frame;
}
