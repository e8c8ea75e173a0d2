import { digitFrequencies } from '../telephone-event.ts';
import { amplitudeOf, saturate } from '../tones.ts';
import type { SampleReader } from './source.ts';
import { FileNotFoundError } from './source.ts';

const maxSpec = 4096;
const maxSections = 512;
const maxFrequencies = 8;
const maxSectionMs = 3_600_000;
const rampMs = 2;
/** Samples that are made at once, 20 ms at the highest rate. */
const most = 320;

/** A stretch of tone followed by silence; lengths in samples of the rate that was asked for, frequencies in Hz, peak amplitude per frequency. */
export interface ToneSection {
  on: number;
  off: number;
  frequencies: number[];
  amplitude: number;
}

/** A parsed tone specification; `loops` of the whole, -1 without end. */
export interface ToneSpec {
  sections: ToneSection[];
  loops: number;
}

interface Settings {
  rate: number;
  volume: number;
  digitMs: number;
  waitMs: number;
  repeat: number;
}

/**
 * Reads the part of FreeSWITCH's tone language that telephony uses: `%(on,off,freq[,freq…])` in milliseconds and Hz,
 * keys as DTMF, and the settings `v=` (dBm0), `L=` (times the next tone), `d=` and `w=` (milliseconds of keys and of the
 * pause after them), `loops=` (times the whole, -1 without end), joined by `;`. Throws FileNotFoundError for anything else,
 * and for what no sound of this rate can hold.
 */
export function parseTones(text: string, rate: number): ToneSpec {
  if (text.length > maxSpec) throw invalid(text);
  const spec: ToneSpec = { sections: [], loops: 1 };
  const settings: Settings = { rate, volume: -7, digitMs: 250, waitMs: 60, repeat: 1 };
  for (const part of text.split(';')) for (const token of tokens(part.trim(), text)) apply(token, spec, settings, text);
  if (spec.sections.length === 0) throw invalid(text);
  return spec;
}

/** Plays a tone specification. */
export function toneReader(text: string, rate: number): SampleReader {
  const { sections, loops } = parseTones(text, rate);
  const once = sections.reduce((sum, one) => sum + one.on + one.off, 0);
  const player = new TonePlayer(sections, loops, rate);
  return { pull: (out, from) => player.pull(out, from), length: loops < 0 ? undefined : once * loops };
}

function tokens(part: string, text: string): string[] {
  const found = part.match(/%\([^)]*\)|[a-zA-Z]+=-?[\d.]+|[0-9*#A-D]/g) ?? [];
  if (found.join('').length !== part.replace(/\s/g, '').length) throw invalid(text);
  return found;
}

function apply(token: string, spec: ToneSpec, settings: Settings, text: string): void {
  if (token.startsWith('%')) addSection(spec, settings, sectionOf(token, settings, text), text);
  else if (token.includes('=')) applySetting(token, spec, settings, text);
  else addSection(spec, settings, keySection(token, settings), text);
}

function applySetting(token: string, spec: ToneSpec, settings: Settings, text: string): void {
  const [name = '', value = ''] = token.split('=');
  const number = Number(value);
  if (!Number.isFinite(number)) throw invalid(text);
  if (name === 'loops') spec.loops = number < 0 ? -1 : Math.max(1, Math.min(Math.floor(number), 1_000_000));
  else if (name === 'L') settings.repeat = Math.max(1, Math.min(Math.floor(number), maxSections));
  else if (name === 'v') settings.volume = Math.max(-63, Math.min(number, 0));
  else if (name === 'd') settings.digitMs = Math.max(0, Math.min(number, maxSectionMs));
  else if (name === 'w') settings.waitMs = Math.max(0, Math.min(number, maxSectionMs));
  else if (name !== 'r' && name !== 'c') throw invalid(text); // rate and channels are always ours
}

function addSection(spec: ToneSpec, settings: Settings, section: ToneSection, text: string): void {
  if (spec.sections.length + settings.repeat > maxSections) throw invalid(text);
  const lasts = section.on + section.off > 0; // what takes no time would be passed over again and again
  for (let i = 0; lasts && i < settings.repeat; i++) spec.sections.push(section);
  settings.repeat = 1;
}

function sectionOf(token: string, { volume, rate }: Settings, text: string): ToneSection {
  const numbers = token.slice(2, -1).split(',').map(Number);
  const [on = NaN, off = NaN, ...frequencies] = numbers;
  const bad = numbers.some(one => !Number.isFinite(one) || one < 0) || on > maxSectionMs || off > maxSectionMs;
  const unheard = frequencies.length > maxFrequencies || frequencies.some(one => one >= rate / 2);
  if (bad || unheard || numbers.length < 2) throw invalid(text);
  return {
    on: samples(on, rate),
    off: samples(off, rate),
    frequencies: frequencies.filter(one => one > 0),
    amplitude: amplitudeOf(volume),
  };
}

function keySection(key: string, { volume, digitMs, waitMs, rate }: Settings): ToneSection {
  return {
    on: samples(digitMs, rate),
    off: samples(waitMs, rate),
    frequencies: digitFrequencies(key) ?? [],
    amplitude: amplitudeOf(volume),
  };
}

function samples(ms: number, rate: number): number {
  return Math.round((ms * rate) / 1000);
}

function invalid(text: string): FileNotFoundError {
  return new FileNotFoundError(`tone_stream://${text}`, 'is no tone specification');
}

/** Walks through the sections. */
class TonePlayer {
  readonly #sections: readonly ToneSection[];
  readonly #sum = new Float64Array(most);
  readonly #rate: number;
  readonly #ramp: number;
  #loops: number;
  #index = 0;
  #at = 0;

  constructor(sections: readonly ToneSection[], loops: number, rate: number) {
    this.#rate = rate;
    this.#ramp = (rampMs * rate) / 1000;
    this.#sections = sections;
    this.#loops = loops;
  }

  pull(out: Int16Array, from: number): number {
    let at = from;
    while (at < out.length) {
      const section = this.#current();
      if (!section) break;
      at += this.#render(section, out, at);
    }
    return at - from;
  }

  #current(): ToneSection | null {
    while (this.#loops !== 0) {
      const section = this.#sections[this.#index];
      if (!section) {
        if (this.#loops > 0) this.#loops -= 1;
        this.#index = 0;
      } else if (this.#at < section.on + section.off) return section;
      else {
        this.#index += 1;
        this.#at = 0;
      }
    }
    return null;
  }

  /** Renders until the tone or its pause ends, or the frame is full. */
  #render(section: ToneSection, out: Int16Array, from: number): number {
    const sounding = this.#at < section.on;
    const left = (sounding ? section.on : section.on + section.off) - this.#at;
    const count = Math.min(left, out.length - from, most);
    if (sounding) this.#sound(section, out, from, count);
    else out.fill(0, from, from + count);
    this.#at += count;
    return count;
  }

  #sound(section: ToneSection, out: Int16Array, from: number, count: number): void {
    this.#sum.fill(0, 0, count);
    for (const frequency of section.frequencies) {
      const step = (2 * Math.PI * frequency) / this.#rate;
      for (let i = 0; i < count; i++) this.#sum[i] = (this.#sum[i] ?? 0) + Math.sin(step * (this.#at + i));
    }
    for (let i = 0; i < count; i++) {
      out[from + i] = saturate((this.#sum[i] ?? 0) * section.amplitude * this.#edge(section, this.#at + i));
    }
  }

  /** Tones begin and end within 2 ms, without a click. */
  #edge(section: ToneSection, at: number): number {
    const distance = section.off === 0 ? at + 1 : Math.min(at + 1, section.on - at);
    return distance >= this.#ramp || (section.off === 0 && this.#index > 0) ? 1 : distance / this.#ramp;
  }
}
