import { performance } from 'node:perf_hooks';
import type { Hearing } from '../../scripts/phone/hearing.ts';
import { everyTwentyMs } from '../../scripts/phone/pace.ts';
import { levelDbfs } from '../../scripts/phone/spectrum.ts';
import { classify } from '../../scripts/phone/speech.ts';
import type { Sounding } from '../../scripts/phone/speech.ts';
import { findTones } from '../../scripts/phone/tones.ts';

/** A tester's ear at a telephone: says what is heard, and waits for it. Times in milliseconds. */

export interface Listening {
  /** How long to wait before giving up; default 5000. */
  within_ms?: number;
}

/** How much is listened to for one judgement of tones, and of speech. */
const TONE_WINDOW_MS = 200;
const SPEECH_WINDOW_MS = 1000;
const SILENT_DBFS = -50;
const TOLERANCE_HZ = 6;

/** Judges what a phone hears: tones, speech, silence. */
export class Ear {
  #hearing: Hearing;
  #name: string;
  #tones: ToneLog;

  constructor(hearing: Hearing, name: string) {
    this.#hearing = hearing;
    this.#name = name;
    this.#tones = new ToneLog(hearing);
  }

  /** The steady tones heard lately, in Hz, loudest first. */
  heardTones(window_ms = TONE_WINDOW_MS): number[] {
    return findTones(this.#hearing.last(window_ms)).map(tone => tone.hz);
  }

  /** Silence, tone, speech or noise, judged over the last second (or the window given). */
  sounding(window_ms = SPEECH_WINDOW_MS): Sounding {
    return classify(this.#hearing.last(window_ms));
  }

  /** Everything heard so far, 8 kHz, silence where nothing came. */
  audio(): Int16Array {
    return this.#hearing.all();
  }

  /** Level of what was heard lately, RMS in dB of full scale. */
  level(window_ms = TONE_WINDOW_MS): number {
    return levelDbfs(this.#hearing.last(window_ms));
  }

  /** Every tone heard at any time so far that lasted 150 ms or more, in order of appearance. */
  tonesSoFar(): number[] {
    return this.#tones.read();
  }

  /** Resolves once this tone is heard, whatever else is. */
  hears(hz: number, options: Listening = {}): Promise<void> {
    return this.#until(`${hz} Hz`, options, () => this.heardTones().some(heard => near(heard, hz)));
  }

  /** Resolves once exactly these tones are heard together; none means silence. */
  hearsOnly(hz: number[], options: Listening = {}): Promise<void> {
    const wanted = `only ${hz.join(' and ')} Hz`;
    return this.#until(wanted, options, () => sameTones(this.heardTones(), hz));
  }

  /** Resolves once this tone has been heard at any time since the call began: for short beeps. */
  hasHeard(hz: number, options: Listening = {}): Promise<void> {
    return this.#until(`a passing ${hz} Hz`, options, () => this.tonesSoFar().some(heard => near(heard, hz)));
  }

  /** Resolves once nothing has been heard for this long (packets of silence, or no packets). */
  hearsSilence(options: Listening & { for_ms?: number } = {}): Promise<void> {
    const for_ms = options.for_ms ?? 300;
    const began = performance.now();
    const quiet = () => performance.now() - began >= for_ms && levelDbfs(this.#hearing.last(for_ms)) < SILENT_DBFS;
    return this.#until(`silence for ${for_ms} ms`, { within_ms: (options.within_ms ?? 5000) + for_ms }, quiet);
  }

  /** Resolves once somebody speaks. */
  hearsSpeech(options: Listening = {}): Promise<void> {
    let look = 0;
    const judge = () => (look += 1) % 5 === 0 && this.sounding() === 'speech';
    return this.#until('speech', { within_ms: 8000, ...options }, judge);
  }

  /** Looks at the sound every 20 ms until it is as wanted; says what was heard instead when time is up. */
  #until(wanted: string, { within_ms = 5000 }: Listening, judge: () => boolean): Promise<void> {
    const began = performance.now();
    return new Promise((resolve, reject) => {
      const leave = everyTwentyMs(() => {
        const heard = judge();
        if (!heard && performance.now() - began < within_ms) return;
        leave();
        if (heard) resolve();
        else reject(new Error(`${this.#name} did not hear ${wanted} in ${within_ms} ms; ${this.#account()}`));
      });
    });
  }

  #account(): string {
    const tones = this.heardTones();
    const what = tones.length > 0 ? `${tones.join(', ')} Hz` : this.sounding();
    return `last heard: ${what}; tones so far: ${this.tonesSoFar().slice(-12).join(', ') || 'none'}`;
  }
}

function near(a: number, b: number): boolean {
  return Math.abs(a - b) <= TOLERANCE_HZ;
}

function sameTones(heard: number[], wanted: number[]): boolean {
  return heard.length === wanted.length && wanted.every(hz => heard.some(h => near(h, hz)));
}

const STEP = 50 * 8;
const SPAN = 2 * STEP;

/** The tones of a call in order of appearance, each once for as long as it lasts; listens on from where it stopped. */
class ToneLog {
  #hearing: Hearing;
  #at = 0;
  #found: number[] = [];
  #sounding: number[] = [];

  constructor(hearing: Hearing) {
    this.#hearing = hearing;
  }

  read(): number[] {
    for (; this.#at + SPAN <= this.#hearing.position; this.#at += STEP) {
      const now = findTones(this.#hearing.slice(this.#at, this.#at + SPAN)).map(tone => tone.hz);
      this.#found.push(...now.filter(hz => !this.#sounding.some(s => Math.abs(s - hz) <= 2 * TOLERANCE_HZ)));
      this.#sounding = now;
    }
    return [...this.#found];
  }
}
