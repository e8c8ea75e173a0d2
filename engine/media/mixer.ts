import type { FrameSource } from './audio-leg.ts';
import type { MediaClock } from './clock.ts';
import { frameSamples, framesPerSecond, sampleRate, wideRate } from './clock.ts';
import { FrameResampler, rateOf } from './frame-resampler.ts';
import { amplify, saturate } from './tones.ts';

const wideSamples = wideRate / framesPerSecond;

interface Voice {
  source: FrameSource;
  onEnd: () => void;
}

/** One party of a mixer. What it hears is everybody else, and what is played to it alone. */
export class Seat implements FrameSource {
  /** False while the others must not hear this party. */
  speaks = true;
  /** False while this party hears none of the others; what is played to it alone is heard all the same. */
  hears = true;
  /** True while what this party says is too faint to be let through. */
  faint = false;
  /** True while this party is out of the talk: it is as if muted and deaf. */
  away = false;
  /** How much louder than it comes the others hear this party, and this party hears everything; 1 leaves it as it is. */
  readonly gain = { said: 1, heard: 1 };
  /** Parties that this one does not hear. */
  readonly without = new Set<Seat>();
  /** Mean of the absolute samples that the party said in this tick, heard by the others or not. */
  level = 0;
  /** What the party said in this tick, as loud as the others hear it. */
  said: Int16Array = silence;
  readonly #mixer: Mixer;
  readonly #say: () => Int16Array;
  #scaled: Int16Array | null = null;
  #counted = false;
  #voice: Voice | null = null;
  /** Brings those of the other rate whom this party does not hear to its own. */
  #unheard: FrameResampler | null = null;

  constructor(mixer: Mixer, said: () => Int16Array) {
    this.#mixer = mixer;
    this.#say = said;
  }

  /** What this party hears now; never ends. */
  read(frame: Int16Array): boolean {
    this.#mixer.mix();
    if (this.hears && !this.away) this.#hear(frame);
    else frame.fill(0);
    if (this.#voice && !addVoice(this.#voice, frame)) this.#voice = null;
    if (this.gain.heard !== 1) amplify(frame, frame, this.gain.heard);
    return true;
  }

  /** Plays to this party alone, in place of what was played before, until the returned function is called. */
  play(source: FrameSource, onEnd: () => void): () => void {
    const voice = { source, onEnd };
    this.#voice = voice;
    return () => {
      if (this.#voice === voice) this.#voice = null;
    };
  }

  /** Takes what the party says in this tick; the mixer's first step. */
  listen(): void {
    this.said = this.#louder(this.#say());
  }

  /** Adds what the party says to the sum of its rate; the mixer's second step. */
  speak(sum: Int32Array, hushed: boolean): void {
    const { said } = this;
    this.#counted = this.speaks && !this.faint && !this.away && !hushed;
    let absolute = 0;
    for (let i = 0; i < said.length; i++) {
      const sample = said[i] ?? 0;
      absolute += sample < 0 ? -sample : sample;
      if (this.#counted) sum[i] = (sum[i] ?? 0) + sample;
    }
    this.level = Math.round(absolute / said.length);
  }

  /** What this party has added to the sample of the sum of its rate. */
  share(index: number): number {
    return this.#counted ? (this.said[index] ?? 0) : 0;
  }

  #louder(said: Int16Array): Int16Array {
    if (this.gain.said === 1) return said;
    if (this.#scaled?.length !== said.length) this.#scaled = new Int16Array(said.length); // what was said is also recorded and forked, as it came
    return amplify(said, this.#scaled, this.gain.said);
  }

  #hear(frame: Int16Array): void {
    const sum = this.#mixer.sumFor(frame);
    const unheard = this.without.size > 0 ? this.#notHeard(frame) : null;
    for (let i = 0; i < frame.length; i++) {
      const sample = (sum[i] ?? 0) - this.share(i);
      frame[i] = saturate(unheard ? sample - (unheard[i] ?? 0) : sample);
    }
  }

  /** What those say whom this party does not hear. The others of its rate are taken out as they went in. */
  #notHeard(frame: Int16Array): Int32Array {
    const unheard = new Int32Array(frame.length);
    const other = new Int16Array(frame.length === frameSamples ? wideSamples : frameSamples);
    let mixed = false;
    for (const seat of this.without) {
      const same = seat.said.length === frame.length;
      mixed ||= !same;
      if (same) for (let i = 0; i < frame.length; i++) unheard[i] = (unheard[i] ?? 0) + seat.share(i);
      else for (let i = 0; i < other.length; i++) other[i] = saturate((other[i] ?? 0) + seat.share(i));
    }
    if (!mixed) return unheard;
    this.#unheard ??= new FrameResampler();
    const brought = this.#unheard.bring(other, rateOf(frame));
    for (let i = 0; i < frame.length; i++) unheard[i] = (unheard[i] ?? 0) + (brought[i] ?? 0);
    return unheard;
  }
}

const silence = new Int16Array(frameSamples);
const scratches = [new Int16Array(frameSamples), new Int16Array(wideSamples)] as const;

/**
 * Mixes any number of parties, each at the rate it has: once per tick everything is summed up, and each party hears the sum without its
 * own part. There is a sum for each rate. What is in one is brought to the other once, however many listen there, so that everybody
 * hears as much as they can; and the own part, which goes into one's own sum only, is taken out exactly as it went in. The sums have
 * 32 bits, so that nothing is lost before that; what is left is kept within 16.
 */
export class Mixer {
  /** Nobody hears anybody while on; what is played is heard. */
  hushed = false;
  readonly #narrow = new Int32Array(frameSamples);
  readonly #wide = new Int32Array(wideSamples);
  readonly #clock: Pick<MediaClock, 'now'>;
  readonly #upwards = new FrameResampler();
  readonly #downwards = new FrameResampler();
  readonly #limited = [new Int16Array(frameSamples), new Int16Array(wideSamples)] as const;
  #seats: readonly Seat[] = [];
  #voices: readonly Voice[] = [];
  #tick = -1;
  #rate = sampleRate;

  constructor(clock: Pick<MediaClock, 'now'>) {
    this.#clock = clock;
  }

  /** A new party; `said` gives what it says in this tick, the same frame as often as it is asked. */
  add(said: () => Int16Array): Seat {
    const seat = new Seat(this, said);
    this.#seats = [...this.#seats, seat];
    return seat;
  }

  /** Takes a party out, from the next tick on. */
  remove(seat: Seat): void {
    this.#seats = this.#seats.filter(one => one !== seat);
    for (const one of this.#seats) one.without.delete(seat);
  }

  /** Plays to everybody, until the end or until the returned function is called; then `onEnd` is not called. */
  play(source: FrameSource, onEnd: () => void): () => void {
    const voice = { source, onEnd };
    this.#voices = [...this.#voices, voice];
    return () => {
      this.#voices = this.#voices.filter(one => one !== voice);
    };
  }

  /** Sums up this tick; does nothing when that has been done. */
  mix(): void {
    if (this.#tick === this.#clock.now) return;
    this.#tick = this.#clock.now;
    for (const seat of this.#seats) seat.listen();
    const wideParties = this.#seats.reduce((count, seat) => count + (seat.said.length === wideSamples ? 1 : 0), 0);
    this.#rate = wideParties > 0 ? wideRate : sampleRate;
    this.#narrow.fill(0);
    this.#wide.fill(0);
    for (const seat of this.#seats) seat.speak(this.sumFor(seat.said), this.hushed);
    for (const voice of this.#voices) this.#sing(voice);
    if (wideParties > 0 && wideParties < this.#seats.length) this.#exchange();
  }

  /** Everything that listeners of a frame's rate hear, the own part of each included. */
  sumFor({ length }: Int16Array): Int32Array {
    return length === frameSamples ? this.#narrow : this.#wide;
  }

  /** Everybody and everything together, valid until the next tick: at the highest rate of all parties. */
  all(): Int16Array {
    this.mix();
    return this.#limit(this.#rate);
  }

  #limit(rate: number): Int16Array {
    const limited = this.#limited[rate === sampleRate ? 0 : 1];
    const sum = this.sumFor(limited);
    for (let i = 0; i < limited.length; i++) limited[i] = saturate(sum[i] ?? 0);
    return limited;
  }

  /** Lets both rates hear what the other one says. */
  #exchange(): void {
    const up = this.#upwards.bring(this.#limit(sampleRate), wideRate);
    const down = this.#downwards.bring(this.#limit(wideRate), sampleRate);
    for (let i = 0; i < wideSamples; i++) this.#wide[i] = (this.#wide[i] ?? 0) + (up[i] ?? 0);
    for (let i = 0; i < frameSamples; i++) this.#narrow[i] = (this.#narrow[i] ?? 0) + (down[i] ?? 0);
  }

  #sing(voice: Voice): void {
    const frame = scratches[this.#rate === sampleRate ? 0 : 1];
    if (!readVoice(voice, frame)) {
      this.#voices = this.#voices.filter(one => one !== voice);
      return;
    }
    const sum = this.sumFor(frame);
    for (let i = 0; i < frame.length; i++) sum[i] = (sum[i] ?? 0) + (frame[i] ?? 0);
  }
}

function addVoice(voice: Voice, frame: Int16Array): boolean {
  const played = scratches[frame.length === frameSamples ? 0 : 1];
  if (!readVoice(voice, played)) return false;
  for (let i = 0; i < frame.length; i++) frame[i] = saturate((frame[i] ?? 0) + (played[i] ?? 0));
  return true;
}

/** Reads the next frame; the end is told outside the tick. */
function readVoice({ source, onEnd }: Voice, frame: Int16Array): boolean {
  let more = false;
  try {
    more = source.read(frame);
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error)); // a broken sound ends, the talk goes on
  }
  if (!more) queueMicrotask(onEnd);
  return more;
}
