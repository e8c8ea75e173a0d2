import { EventEmitter } from 'node:events';
import type { MediaClock } from './clock.ts';
import { frameSamples, framesPerSecond, sampleRate } from './clock.ts';
import { codecNamed } from './codecs/table.ts';
import { FrameResampler } from './frame-resampler.ts';
import { InbandDigits } from './inband-digits.ts';
import { LegMemory } from './leg-memory.ts';
import type { LegStats } from './leg-stats.ts';
import { legStats } from './leg-stats.ts';
import type { RemoteParty } from './remote-party.ts';
import { Rtcp } from './rtcp.ts';
import type { RtpPorts, RtpSocket } from './rtp-ports.ts';
import { RtpReceiver } from './rtp-receiver.ts';
import { RtpSender } from './rtp-sender.ts';
import type { Digit } from './telephone-event.ts';
import { amplify, saturate } from './tones.ts';
import { Wire } from './wire.ts';

export type { RemoteParty } from './remote-party.ts';
export type { LegStats } from './leg-stats.ts';

/** Something to be heard, 20 ms at a time. */
export interface FrameSource {
  /** Fills the frame at the rate that its length tells; false when there is no more, with the frame left alone. */
  read(frame: Int16Array): boolean;
  /** Samples given out so far, from the start of the material (so with the seek offset), at `rate`. */
  position?: number;
  rate?: number;
}

/** Sees both directions of a leg at every tick, both at the rate that it has then. The frames are valid during the call only. */
export interface AudioTap {
  frame(said: Int16Array, heard: Int16Array): void;
}

/** How a leg is opened. */
export interface AudioLegOptions {
  ports: RtpPorts;
  clock: MediaClock;
}

interface AudioLegEvents {
  digit: [Digit];
  'first-packet': [];
  insecure: [reason: string];
}

/**
 * What changes the sound that a party hears: a source on top of it, a source in its place, or a mute. Each changes what those
 * before it made, in the order in which they came.
 */
interface Layer {
  source: FrameSource | null;
  instead: boolean;
}

/** Between two keys that are pressed towards a party. */
const digitGapMs = 100;

interface Waiter {
  target: number;
  resolve: () => void;
}

/**
 * One RTP stream pair with one party. At every tick it takes what the party said, makes up what the party hears (a
 * bridge, its own echo and a source, mixed) and sends it. All of it is at the rate of the party's codec: wideband where that is
 * wideband, and what comes from a leg of another rate is brought to it. Emits `digit` at the end of each key press, `first-packet` once
 * and `insecure` when the keys of its media cannot be agreed on.
 */
export class AudioLeg extends EventEmitter<AudioLegEvents> {
  readonly localPort: number;
  /**
   * Factors of loudness; 1 leaves it as it is. `read`: what the party says, for everybody. `write`: all that it hears.
   * `base`: what it hears, apart from overlays.
   */
  readonly gain = { read: 1, write: 1, base: 1 };
  readonly #rtp: RtpSocket;
  readonly #clock: MediaClock;
  readonly #memory = LegMemory.take();
  readonly #receiver: RtpReceiver;
  readonly #sender: RtpSender;
  readonly #rtcp: Rtcp;
  readonly #wire: Wire;
  readonly #unsubscribe: () => void;
  #said = new Int16Array(frameSamples);
  #heard = new Int16Array(frameSamples);
  #played = new Int16Array(frameSamples);
  #rate = sampleRate;
  #codecRate = sampleRate;
  readonly #fromPeer = new FrameResampler();
  readonly #muted = { read: false, write: false };
  #taps: readonly AudioTap[] = [];
  #layers: readonly Layer[] = [];
  /** Where a mute of either direction has its place among the layers, as the one media bug has that does both. */
  readonly #muting: Layer = { source: null, instead: true };
  #waiters: Waiter[] = [];
  #inband: InbandDigits | null = null;
  #saidTick = -1;
  #remote: RemoteParty | null = null;
  #source: FrameSource | null = null;
  #peer: AudioLeg | null = null;
  #echo = false;
  #closed = false;

  /** Binds a port and starts sending and receiving. Rejects with RtpPortsExhaustedError when there is none. */
  static async open(options: AudioLegOptions): Promise<AudioLeg> {
    return new AudioLeg(await options.ports.acquire(), options);
  }

  private constructor(rtp: RtpSocket, { clock }: AudioLegOptions) {
    super();
    this.localPort = rtp.port;
    this.#rtp = rtp;
    this.#clock = clock;
    this.#wire = new Wire(rtp, {
      rtp: (packet, from, authentic) => this.#receiver.datagram(packet, from, authentic),
      rtcp: (packet, from, authentic) => this.#rtcp.take(packet, from, authentic),
      path: to => (this.#receiver.source = to),
      insecure: reason => this.emit('insecure', reason),
    });
    this.#sender = new RtpSender(this.#wire, this.#memory);
    this.#receiver = new RtpReceiver(
      clock,
      this.#memory,
      digit => this.#pressed(digit),
      () => this.emit('first-packet'),
    );
    this.#rtcp = new Rtcp(this.#wire, this.#sender, this.#receiver);
    rtp.socket.on('error', () => this.#sender.counts.failed++); // an unreachable party is no error of ours
    this.#unsubscribe = clock.subscribe(() => this.#tick());
  }

  /** Identifier of the stream that we send. */
  get ssrc(): number {
    return this.#sender.stream.ssrc;
  }

  /** Samples per second of what is said, heard and played here; follows the party's codec, from the next tick on. */
  get rate(): number {
    return this.#rate;
  }

  /** Samples per second of the party's codec as FreeSWITCH tells it: for Opus more than are inside. */
  get codecRate(): number {
    return this.#codecRate;
  }

  /** The party as its description tells; may be called again (re-INVITE). Null sends nothing. */
  setRemote(remote: RemoteParty | null): void {
    this.#remote = remote ? { ...remote } : null;
    if (remote) this.#speak(remote);
    this.#wire.protect(remote?.protection ?? null);
    this.#wire.multiplexed = remote?.multiplexed ?? false;
    this.#receiver.setRemote(this.#remote);
    this.#sender.setRemote(this.#remote);
    this.hearTones(remote !== null && remote.telephoneEvent === null);
  }

  /** Takes key presses from the tones in the audio; on by itself for a party that knows no telephone-event. */
  hearTones(on: boolean): void {
    if (on) this.#inband ??= new InbandDigits(digit => this.#pressed(digit));
    else this.#inband = null;
  }

  /** What the party hears from the next tick on; null is silence, which is sent too. */
  setSource(source: FrameSource | null): void {
    this.#source = source;
  }

  /** Shows a tap both directions at every tick, until the returned function is called. */
  addTap(tap: AudioTap): () => void {
    const entry: AudioTap = { frame: (said, heard) => tap.frame(said, heard) };
    this.#taps = [...this.#taps, entry];
    return () => {
      this.#taps = this.#taps.filter(one => one !== entry);
    };
  }

  /** Adds a source to what the party hears, below all layers, until it ends or the returned function is called. */
  addVoice(source: FrameSource): () => void {
    const layer = { source, instead: false };
    this.#layers = [layer, ...this.#layers];
    return () => this.#dropLayer(layer);
  }

  /** Mixes a source on top of what the party hears, until it ends or the returned function is called. */
  addOverlay(source: FrameSource): () => void {
    return this.#addLayer({ source, instead: false });
  }

  /**
   * Lets the party hear a source in place of all that came before it, until it ends or the returned function is called. What
   * it hides goes on unheard.
   */
  addReplacement(source: FrameSource): () => void {
    return this.#addLayer({ source, instead: true });
  }

  /** Lets two parties hear each other; takes both out of any other bridge. */
  bridge(other: AudioLeg): void {
    if (other === this) throw new TypeError('a leg cannot be bridged with itself');
    this.unbridge();
    other.unbridge();
    this.#peer = other;
    other.#peer = this;
    this.#fromPeer.restart();
    other.#fromPeer.restart();
  }

  /** Takes the bridge apart, if there is one. */
  unbridge(): void {
    if (this.#peer) this.#peer.#peer = null;
    this.#peer = null;
  }

  /** Lets the party hear itself. */
  echo(on: boolean): void {
    this.#echo = on;
  }

  /** `read`: nobody hears the party. `write`: the party hears nothing but what is added later. Digits pass all the same. */
  mute(direction: 'read' | 'write', on: boolean): void {
    this.#muted[direction] = on;
    if (!this.#muted.read && !this.#muted.write) this.#dropLayer(this.#muting);
    else if (!this.#layers.includes(this.#muting)) this.#addLayer(this.#muting);
  }

  /**
   * Presses keys towards the party: `0-9 * # A-D`, `w` and `W` wait 0.5 and 1 s. Default 100 ms each and 100 ms between
   * them. Resolves when all have been sent, or the leg is closed; at once when there is no room for any.
   */
  sendDigits(digits: string, durationMs = 100, gapMs = digitGapMs): Promise<void> {
    if (this.#closed) return Promise.resolve();
    const sender = this.#sender.digits;
    const before = sender.pushed;
    sender.push(digits, durationMs, gapMs);
    const target = sender.pushed;
    return target === before || sender.finished >= target
      ? Promise.resolve()
      : new Promise(resolve => this.#waiters.push({ target, resolve }));
  }

  /** What the party said in the current tick: the same frame for everybody who asks. */
  said(): Int16Array {
    if (this.#saidTick === this.#clock.now || this.#closed) return this.#said;
    this.#saidTick = this.#clock.now;
    this.#receiver.jitter.read(this.#said);
    const pressing = this.#inband?.push(this.#said) ?? false;
    if (this.gain.read !== 1) amplify(this.#said, this.#said, this.gain.read);
    if (this.#muted.read || pressing) this.#said.fill(0);
    return this.#said;
  }

  /** Counters of both directions, named as the real server's channel variables. */
  stats(): LegStats {
    return legStats(this.#receiver, this.#sender, this.#rtcp);
  }

  /** Frees the port and everything else; may be called twice. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#unsubscribe();
    this.unbridge();
    this.#sender.digits.clear();
    this.#resolveWaiters();
    this.#taps = [];
    this.#layers = [];
    this.#source = null;
    this.#wire.close();
    this.#rtp.release();
    this.#memory.release();
    this.#said.fill(0); // a mixer may ask once more
    this.removeAllListeners();
  }

  #speak({ codec }: RemoteParty): void {
    const { rate, toldRate } = codecNamed(codec);
    this.#codecRate = toldRate;
    if (rate === this.#rate) return;
    this.#rate = rate;
    this.#said = new Int16Array(rate / framesPerSecond);
    this.#heard = new Int16Array(rate / framesPerSecond);
    this.#played = new Int16Array(rate / framesPerSecond);
  }

  #tick(): void {
    if (this.#closed) return; // by another leg, in this very tick
    const said = this.said();
    this.#compose(said);
    for (const tap of this.#taps) tap.frame(said, this.#heard);
    this.#sender.tick(this.#heard, this.#receiver.source);
    this.#resolveWaiters();
    this.#receiver.tick();
    this.#rtcp.tick();
  }

  /** Writes what the party hears. */
  #compose(said: Int16Array): void {
    const heard = this.#heard;
    if (this.#peer) heard.set(this.#fromPeer.bring(this.#peer.said(), this.#rate));
    else if (this.#echo) heard.set(said);
    else heard.fill(0);
    if (this.#readSource()) this.#mixPlayed();
    if (this.gain.base !== 1) amplify(heard, heard, this.gain.base);
    for (const layer of this.#layers) this.#apply(layer);
    if (this.gain.write !== 1) amplify(heard, heard, this.gain.write);
  }

  #apply(layer: Layer): void {
    const { source, instead } = layer;
    if (!source) {
      if (this.#muted.write) this.#heard.fill(0);
    } else if (!source.read(this.#played)) this.#dropLayer(layer);
    else if (instead) this.#heard.set(this.#played);
    else this.#mixPlayed();
  }

  #mixPlayed(): void {
    const heard = this.#heard;
    for (let i = 0; i < heard.length; i++) heard[i] = saturate((heard[i] ?? 0) + (this.#played[i] ?? 0));
  }

  #addLayer(layer: Layer): () => void {
    this.#layers = [...this.#layers, layer];
    return () => this.#dropLayer(layer);
  }

  #dropLayer(layer: Layer): void {
    this.#layers = this.#layers.filter(one => one !== layer);
  }

  #readSource(): boolean {
    const source = this.#source;
    if (!source) return false;
    let more = false;
    try {
      more = source.read(this.#played);
    } finally {
      if (!more && this.#source === source) this.#source = null; // finished or broken: not asked again
    }
    return more;
  }

  #pressed(digit: Digit): void {
    const peer = this.#peer;
    if (peer) peer.#sender.digits.push(digit.digit, (digit.duration_samples * 1000) / sampleRate, digitGapMs);
    this.emit('digit', digit);
  }

  #resolveWaiters(): void {
    if (this.#waiters.length === 0) return;
    const done = this.#sender.digits.finished;
    for (const waiter of this.#waiters) if (waiter.target <= done) waiter.resolve();
    this.#waiters = this.#waiters.filter(one => one.target > done);
  }
}
