import type { FrameSource } from './audio-leg.ts';
import type { MediaClock } from './clock.ts';
import { frameSamples } from './clock.ts';
import { amplify, saturate } from './tones.ts';

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
  readonly #mixer: Mixer;
  readonly #say: () => Int16Array;
  #said: Int16Array = silence;
  #scaled: Int16Array | null = null;
  #counted = false;
  #voice: Voice | null = null;

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

  /** Adds what the party says to the sum; the mixer's step. */
  speak(sum: Int32Array, hushed: boolean): void {
    const said = this.#louder(this.#say());
    this.#said = said;
    this.#counted = this.speaks && !this.faint && !this.away && !hushed;
    let absolute = 0;
    for (let i = 0; i < frameSamples; i++) {
      const sample = said[i] ?? 0;
      absolute += sample < 0 ? -sample : sample;
      if (this.#counted) sum[i] = (sum[i] ?? 0) + sample;
    }
    this.level = Math.round(absolute / frameSamples);
  }

  /** What this party has added to the sample of the sum. */
  share(index: number): number {
    return this.#counted ? (this.#said[index] ?? 0) : 0;
  }

  #louder(said: Int16Array): Int16Array {
    if (this.gain.said === 1) return said;
    this.#scaled ??= new Int16Array(frameSamples); // what was said is also recorded and forked, as it came
    return amplify(said, this.#scaled, this.gain.said);
  }

  #hear(frame: Int16Array): void {
    const sum = this.#mixer.sum;
    for (let i = 0; i < frameSamples; i++) {
      let sample = (sum[i] ?? 0) - this.share(i);
      if (this.without.size > 0) for (const other of this.without) sample -= other.share(i);
      frame[i] = saturate(sample);
    }
  }
}

const silence = new Int16Array(frameSamples);
const scratch = new Int16Array(frameSamples);

/**
 * Mixes any number of parties at 8 kHz: once per tick everything is summed up, and each party hears the sum without its
 * own part. The sum has 32 bits, so that nothing is lost before the own part is taken out; what is left is kept within 16.
 */
export class Mixer {
  /** Nobody hears anybody while on; what is played is heard. */
  hushed = false;
  readonly sum = new Int32Array(frameSamples);
  readonly #clock: Pick<MediaClock, 'now'>;
  readonly #mixed = new Int16Array(frameSamples);
  #seats: readonly Seat[] = [];
  #voices: readonly Voice[] = [];
  #tick = -1;

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
    const sum = this.sum;
    sum.fill(0);
    for (const seat of this.#seats) seat.speak(sum, this.hushed);
    for (const voice of this.#voices) this.#sing(voice);
  }

  /** Everybody and everything together, valid until the next tick. */
  all(): Int16Array {
    this.mix();
    for (let i = 0; i < frameSamples; i++) this.#mixed[i] = saturate(this.sum[i] ?? 0);
    return this.#mixed;
  }

  #sing(voice: Voice): void {
    if (!readVoice(voice)) {
      this.#voices = this.#voices.filter(one => one !== voice);
      return;
    }
    for (let i = 0; i < frameSamples; i++) this.sum[i] = (this.sum[i] ?? 0) + (scratch[i] ?? 0);
  }
}

function addVoice(voice: Voice, frame: Int16Array): boolean {
  if (!readVoice(voice)) return false;
  for (let i = 0; i < frameSamples; i++) frame[i] = saturate((frame[i] ?? 0) + (scratch[i] ?? 0));
  return true;
}

/** Reads into the scratch frame; the end is told outside the tick. */
function readVoice({ source, onEnd }: Voice): boolean {
  let more = false;
  try {
    more = source.read(scratch);
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error)); // a broken sound ends, the talk goes on
  }
  if (!more) queueMicrotask(onEnd);
  return more;
}
