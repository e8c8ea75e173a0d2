import type { AmdVerdict } from '#flow/action';
import { pureTone } from './beep.ts';

const FRAME_MS = 20;

/**
 * Every threshold of the detector. Times in milliseconds, levels in dB of full scale.
 *
 * A person says a word or two and waits for an answer; a machine talks on, or beeps (docs/answering-machines.md).
 */
export const AMD = {
  /** Talk of this length, pauses included, is a machine's. People's longest take 3.9 s; a line that stutters stretches them. */
  machine_talk: 4200,
  /** As many words within one talk are a machine's, if it is not shorter than `machine_words_talk`. */
  machine_words: 11,
  machine_words_talk: 2000,
  /** Silence of this length after a talk: the speaker waits for an answer. A machine may take as long a breath before its beep. */
  waits: 600,
  long_talk: 2500,
  waits_after_long_talk: 800,
  /** Shorter sounds are clicks, no words. */
  word: 60,
  /** A shorter gap is inside a word. */
  word_gap: 60,
  /** A steady tone of this length is a beep. */
  beep: 200,
  /** The longest a decision may take. */
  total: 6000,
  /** The quietest speech, and how much it is louder than the noise behind it. */
  quietest: -42,
  above_noise: 9,
  /** However noisy it is, this is speech. */
  loud: -22,
  /** How fast the estimate of the noise may rise, in dB a second. */
  noise_rise: 5,
} as const;

/** What the detector remembers from frame to frame. */
export interface AmdState {
  elapsed: number;
  noise: number;
  /** Since the first word: how long, with the pauses. 0 while nobody has spoken. */
  talk: number;
  /** How long it has been loud, and how long silent, without a break. */
  sounding: number;
  silent: number;
  words: number;
  /** The tone that has been heard without a break, in Hz (0: none), and for how long. */
  tone: number;
  toned: number;
}

export const initialAmd: AmdState = {
  elapsed: 0,
  noise: -60,
  talk: 0,
  sounding: 0,
  silent: AMD.word_gap,
  words: 0,
  tone: 0,
  toned: 0,
};

/** RMS in dB of full scale; -100 for digital silence. */
const levelOf = (samples: Int16Array): number => {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return sum === 0 ? -100 : 10 * Math.log10(sum / samples.length / 32_768 ** 2);
};

const noiseAfter = (noise: number, level: number): number =>
  level < noise ? Math.max(level, -75) : noise + Math.min(level - noise, (AMD.noise_rise * FRAME_MS) / 1000);

const listenForTone = ({ tone, toned }: AmdState, samples: Int16Array, loud: boolean) => {
  const heard = loud ? pureTone(samples) : 0;
  const same = heard !== 0 && Math.abs(heard - tone) <= 50;
  return { tone: same ? tone : heard, toned: heard === 0 ? 0 : same ? toned + FRAME_MS : FRAME_MS };
};

/** The state after 20 ms more (160 samples at 8 kHz). */
export const hearAmd = (state: AmdState, samples: Int16Array): AmdState => {
  const level = levelOf(samples);
  const loud = level > Math.min(Math.max(AMD.quietest, state.noise + AMD.above_noise), AMD.loud);
  const sounding = loud ? state.sounding + FRAME_MS : 0;
  const newWord = loud && sounding === AMD.word && (state.words === 0 || state.silent >= AMD.word_gap);
  const talking = state.talk > 0 || newWord;
  const started = state.talk === 0 && newWord ? AMD.word - FRAME_MS : 0;
  return {
    elapsed: state.elapsed + FRAME_MS,
    noise: noiseAfter(state.noise, level),
    talk: talking ? state.talk + started + FRAME_MS : 0,
    sounding,
    // The gap before a word counts until the word is one.
    silent: loud ? (sounding >= AMD.word ? 0 : state.silent) : state.silent + FRAME_MS,
    words: state.words + (newWord ? 1 : 0),
    ...listenForTone(state, samples, loud),
  };
};

const round = (confidence: number): number => Math.round(confidence * 100) / 100;

/** Shorter greetings are surer people: 0.95 for a word, 0.6 for a long sentence. */
const surenessOfPerson = (spoken: number): number =>
  round(Math.min(0.95, Math.max(0.6, 0.95 - (0.35 * (spoken - 1000)) / (AMD.machine_talk - 1000))));

/** How long it has to be silent after a talk of this length. */
const pauseOf = (spoken: number): number => (spoken < AMD.long_talk ? AMD.waits : AMD.waits_after_long_talk);

/** Who answered, as soon as that can be told; undefined while it cannot. */
export const judgeAmd = (state: AmdState): AmdVerdict | undefined => {
  const spoken = state.talk - state.silent;
  if (state.toned >= AMD.beep) return { result: 'machine', confidence: 0.98 };
  if (state.words > 0 && spoken >= AMD.machine_talk) return { result: 'machine', confidence: 0.9 };
  if (state.words >= AMD.machine_words && spoken >= AMD.machine_words_talk)
    return { result: 'machine', confidence: 0.75 };
  if (state.words > 0 && state.silent >= pauseOf(spoken))
    return { result: 'human', confidence: surenessOfPerson(spoken) };
  if (state.elapsed >= AMD.total) return { result: 'notsure', confidence: 0 };
  return undefined;
};
