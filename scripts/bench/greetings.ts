import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { espeak } from '../../media-app/speech/espeak.ts';
import { flite } from '../../media-app/speech/flite.ts';
import { wavSamples } from '../../test/support/phone.ts';

/** What a called party sends: 8 kHz samples. */
export interface Greeting {
  name: string;
  who: 'human' | 'machine';
  samples: Int16Array;
  /** When the last word or beep is over, ms. */
  ends: number;
}

/** What follows the words of a machine. */
type Tail = 'nothing' | 'beep' | 'early beep' | 'tri-tone';

/** Who greets, and with what words. */
interface Half {
  voices: readonly string[];
  /** People say a word or a sentence and wait. */
  humans: readonly string[];
  machines: readonly [words: string, tail: Tail][];
}

const OF_FLITE = new Set<string>(['slt', 'rms', 'awb', 'kal', 'kal16']);

/** `known`: what the thresholds of the detector were chosen on first. `held out`: voices and words that only the last ones were chosen on, too. */
export const HALVES: Record<'known' | 'held out', Half> = {
  known: {
    voices: ['slt', 'rms', 'awb', 'kal', 'en-us', 'en-gb+f3', 'en-us+m3', 'en-gb'],
    humans: [
      'Hello?',
      'Hello.',
      'Yes?',
      'Hi.',
      'Yeah, hello?',
      'Hello, hello?',
      'Hello, this is John.',
      'Smith speaking.',
      'Good morning, Anna Miller speaking.',
      'Acme Corporation, how can I help you?',
      'Good afternoon, Miller and Sons, Susan speaking.',
      'Thank you for calling Acme, this is Mark, how may I help?',
    ],
    machines: [
      [
        'Hi, you have reached the Smith family. We cannot come to the phone right now, please leave a message after the tone.',
        'beep',
      ],
      ['You have reached the voice mail of five five five, zero one zero zero. Please record your message.', 'beep'],
      ['Hello, this is John. I am not available at the moment, so please leave your name and number.', 'nothing'],
      ['Your call has been forwarded to an automatic voice message system.', 'beep'],
      ['Hey, leave a message.', 'early beep'],
      ['', 'beep'],
      ['The number you have dialled is not in service. Please check the number and dial again.', 'tri-tone'],
      ['We are closed now. Our office hours are from nine to five, Monday to Friday. Please call again.', 'nothing'],
    ],
  },
  'held out': {
    voices: ['en-us+f2', 'kal16', 'en-gb+m5', 'en-us+m7', 'en-gb-scotland', 'en-us+f5', 'en-gb+m1', 'en-us-nyc'],
    humans: [
      'Hello, who is this?',
      'Yep.',
      'Speaking.',
      'Hey there.',
      'Hello? Hello, who is it?',
      'Peter Brown.',
      'Brown residence, good evening.',
      'Yes, hello, can you hear me?',
      'Reception, Laura here.',
      'City Hospital, which ward please?',
      'Good evening, Blue Lagoon, do you have a reservation?',
      'Technical support, my name is Daniel, what can I do for you?',
    ],
    machines: [
      [
        'Hello! We are out at the moment. Tell us your name and number after the beep and we will call you back.',
        'beep',
      ],
      ['The person you are calling is unavailable. At the tone, please record your message.', 'beep'],
      [
        'Thanks for calling City Hospital. All our lines are busy. Please stay on the line and we will be with you.',
        'nothing',
      ],
      ['Hey, it is Kate. You know what to do.', 'early beep'],
      ['The subscriber you have dialled cannot be reached right now. Please try again later.', 'tri-tone'],
      ['Welcome to the Grand Hotel. For reservations, press one. For the restaurant, press two.', 'nothing'],
      ['', 'beep'],
      ['This is the mailbox of extension four zero seven. Leave a message after the signal.', 'beep'],
    ],
  },
};
export type HalfName = keyof typeof HALVES;

/** Background in dB of full scale; undefined for a line that is silent between words. */
const NOISES = [undefined, -60, -50, -42] as const;

/** Quieter is the end of a breath. */
const AUDIBLE = 400;

const silence = (ms: number): Int16Array => new Int16Array(ms * 8);
const sine = (hz: number, ms: number): Int16Array =>
  Int16Array.from({ length: ms * 8 }, (_, at) => 9000 * Math.sin((2 * Math.PI * hz * at) / 8000));
const joined = (...parts: Int16Array[]): Int16Array => Int16Array.from(parts.flatMap(part => [...part]));

/** ITU-T E.180: the three rising tones before an announcement. */
const triTone = (): Int16Array => joined(sine(950, 330), sine(1400, 330), sine(1800, 330));

/** The same numbers with every run. */
const random = (seed: number): (() => number) => {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
};

/** Adds noise with a little more low than high, as of a room, at an RMS level. */
const withNoise = (samples: Int16Array, dbfs: number | undefined, chance: () => number): Int16Array => {
  if (dbfs === undefined) return samples;
  let low = 0;
  const raw = Float64Array.from(samples, () => (low = 0.6 * low + (2 * chance() - 1)));
  const rms = Math.sqrt(raw.reduce((sum, one) => sum + one * one, 0) / raw.length);
  const gain = (32_768 * 10 ** (dbfs / 20)) / rms;
  return samples.map((sample, at) => Math.max(-32_768, Math.min(32_767, sample + gain * (raw[at] ?? 0))));
};

/** One zero at each end of the band and a gentle slope: what passes a telephone, 300 to 3400 Hz. */
const telephoneBand = (samples: Int16Array): Int16Array => {
  const a = 1 / (1 + (2 * Math.PI * 300) / 8000);
  let [lowIn, lowOut, smooth] = [0, 0, 0];
  return samples.map(sample => {
    lowOut = a * (lowOut + sample - lowIn);
    lowIn = sample;
    smooth += 0.85 * (lowOut - smooth);
    return Math.round(smooth);
  });
};

const speaker = (dir: string) => {
  const spoken = new Map<string, Promise<Int16Array>>();
  const speak = async (text: string, voice: string): Promise<Int16Array> => {
    const provider = OF_FLITE.has(voice) ? flite({ dir }) : espeak({ dir });
    const file = await provider.synthesize(
      { text, language: 'en-US', provider: '', voice_id: voice },
      new AbortController().signal,
    );
    return wavSamples(file);
  };
  return (text: string, voice: string): Promise<Int16Array> => {
    const key = `${voice} ${text}`;
    const known = spoken.get(key) ?? (text ? speak(text, voice) : Promise.resolve(silence(0)));
    spoken.set(key, known);
    return known;
  };
};

const TAILS: Record<Tail, (words: Int16Array) => Int16Array> = {
  nothing: words => words,
  beep: words => joined(words, silence(400), sine(1000, 600)),
  'early beep': words => joined(words, silence(150), sine(1400, 400)),
  'tri-tone': words => joined(triTone(), silence(200), words),
};

/** The greetings of one half: words, voices and levels of noise dealt out in turn, so that each meets most others. */
export const makeGreetings = async (half: HalfName): Promise<Greeting[]> => {
  const { voices, humans, machines } = HALVES[half];
  const dir = await mkdtemp(join(tmpdir(), 'trunkline-greetings-'));
  const say = speaker(dir);
  const chance = random(20_261_121);
  const greeting = async (who: Greeting['who'], words: string, tail: Tail, turn: number): Promise<Greeting> => {
    const voice = voices[turn % voices.length] ?? 'slt';
    const noise = NOISES[Math.floor(turn / 2) % NOISES.length];
    const pause = silence(200 + Math.round(chance() * 900)); // from the answer to the first word
    const sounds = joined(pause, TAILS[tail](await say(words, voice)), silence(6000));
    const ends = sounds.findLastIndex(sample => Math.abs(sample) > AUDIBLE) / 8;
    const samples = telephoneBand(withNoise(sounds, noise, chance));
    const name = `${words.slice(0, 34) || '(no words)'} | ${tail} | ${voice} | noise ${noise ?? 'none'}`;
    return { name, who, samples, ends };
  };
  try {
    const greetings: Greeting[] = [];
    for (let turn = 0; turn < 4 * humans.length; turn++)
      greetings.push(
        await greeting('human', humans[turn % humans.length] ?? '', 'nothing', turn + Math.floor(turn / 12)),
      );
    for (let turn = 0; turn < 6 * machines.length; turn++) {
      const [words, tail] = machines[turn % machines.length] ?? ['', 'beep'];
      greetings.push(await greeting('machine', words, tail, turn + Math.floor(turn / 8)));
    }
    return greetings;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
};
