/** Which voices a fork carries: the caller's, both added up, or the caller left and what they hear right. */
export type ForkMix = 'mono' | 'mixed' | 'stereo';

/** What `uuid_audio_fork … start` asks for. */
export interface ForkStart {
  url: string;
  mix: ForkMix;
  /** Samples per second and channel. */
  rate: number;
  name: string;
  /** Handed over as the first text frame, as it is; empty for none. */
  metadata: string;
  /** The far end may send `playAudio`, or audio when there is a rate for it. */
  bidirectional: boolean;
  /** Samples per second of the audio that the far end sends; null when it sends none. */
  streamRate: number | null;
}

/** The bug name of a fork that was given none. */
export const defaultName = 'audio_fork';

const maxUrl = 4096;
const maxName = 128;

/** The words of a command: its channel, its action and the text after them, with the character between words. */
export interface ForkCommand {
  uuid: string;
  action: string;
  rest: string;
  separator: string;
}

/** Takes the first two words off; `^^X` in front makes X the separator (protocol page §9, argument splitting). */
export function splitCommand(args: string): ForkCommand {
  const text = args.trimStart();
  const custom = /^\^\^(.)/s.exec(text)?.[1];
  const separator = custom ?? ' ';
  const [uuid, afterUuid] = cut(custom === undefined ? text : text.slice(3), separator);
  const [action, rest] = cut(afterUuid, separator);
  return { uuid, action, rest, separator };
}

/** Reads the arguments of `start`. Null when they are too few or make no sense. */
export function parseStart(rest: string, separator: string): ForkStart | null {
  const [url, afterUrl] = cut(rest, separator);
  const [mix, afterMix] = cut(afterUrl, separator);
  const [rateWord, afterRate] = cut(afterMix, separator);
  const [name, afterName] = cut(afterRate, separator);
  const { text, tail } = quoted(afterName, separator);
  const [bidirectional = '', streaming = '', streamRate = ''] = tail.split(separator).map(one => one.trim());
  const rate = parseRate(rateWord);
  if (url === '' || url.length > maxUrl || name.length > maxName || rate === null || !isMix(mix)) return null;
  const both = bidirectional === 'true' && streaming === 'true';
  return {
    url,
    mix,
    rate,
    name: name === '' ? defaultName : name,
    metadata: text,
    bidirectional: bidirectional === 'true',
    streamRate: both ? parseRate(streamRate) : null,
  };
}

/**
 * Reads `[name] [text]`. Text is what begins like JSON or a quote, or follows a name; it comes without its quotes and
 * once, because drachtio-fsmrf writes it twice.
 */
export function parseNamed(rest: string, separator: string): { name: string | null; text: string | null } {
  const all = rest.trim();
  const [word, after] = /^['{[]/.test(all) ? ['', all] : cut(all, separator);
  const text = once(after.trim(), separator);
  return { name: word === '' ? null : word, text: text === '' ? null : unquoted(text) };
}

/** `8000`, `8k`, `16k` or any whole rate of 8 to 64 kHz. */
function parseRate(word: string): number | null {
  const match = /^(\d{1,5})(k?)$/.exec(word.trim());
  const rate = Number(match?.[1] ?? Number.NaN) * (match?.[2] === 'k' ? 1000 : 1);
  return rate >= 8000 && rate <= 64_000 ? rate : null;
}

function isMix(word: string): word is ForkMix {
  return word === 'mono' || word === 'mixed' || word === 'stereo';
}

function cut(text: string, separator: string): [word: string, rest: string] {
  const end = text.indexOf(separator);
  return end < 0 ? [text.trim(), ''] : [text.slice(0, end).trim(), text.slice(end + 1)];
}

/** Text in single quotes up to the last one, so that apostrophes and separators inside stay; the flags after it have none. */
function quoted(text: string, separator: string): { text: string; tail: string } {
  const end = text.lastIndexOf("'");
  if (text.startsWith("'") && end > 0) return { text: text.slice(1, end), tail: text.slice(end + 2) };
  const [word, tail] = cut(text, separator);
  return { text: word, tail };
}

function once(text: string, separator: string): string {
  const half = (text.length - 1) / 2;
  const twice = Number.isInteger(half) && text[half] === separator && text.slice(0, half) === text.slice(half + 1);
  return twice ? text.slice(0, half) : text;
}

function unquoted(text: string): string {
  return text.length > 1 && text.startsWith("'") && text.endsWith("'") ? text.slice(1, -1) : text;
}
