import type { Speech } from '#flow/action';

/** One way to make speech out of text. */
export interface SpeechProvider {
  /** The program behind it; part of the cache's key. */
  readonly name: string;
  /** True when its program is installed. */
  available(): Promise<boolean>;
  /** True when it can speak a BCP47 language; the empty one is its default. */
  speaks(language: string): boolean;
  /**
   * Makes a new file: 8 kHz, 16-bit, mono WAV. The caller owns it.
   *
   * @returns its absolute path
   * @throws Error when the voice or language is unknown, the text too long, the time over or the signal aborted
   */
  synthesize(speech: Speech, signal: AbortSignal): Promise<string>;
}

/** The longest text of one speech, in characters. About ten minutes. */
const MAX_TEXT = 10_000;

/** True when a text is SSML and not plain text that happens to hold a `<`. */
export const isSsml = (text: string): boolean => /^\s*(?:<\?xml[^>]*>\s*)?<speak[\s>]/i.test(text);

/** The text as a program may read it: bounded, without control characters (which some read as commands). */
export const readable = (text: string): string => {
  if (text.length > MAX_TEXT) throw new Error(`a speech may have ${MAX_TEXT} characters at most`);
  return text.replace(/[\0-\x08\x0b-\x1f\x7f]/g, ' ');
};

const ENTITIES: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&apos;': "'", '&amp;': '&' };

/** What SSML says, without its markup, for a program that cannot read it. */
export const spokenText = (text: string): string =>
  isSsml(text)
    ? text
        .replace(/<[^<>]*>/g, ' ')
        .replace(/&(?:lt|gt|quot|apos|amp);/g, entity => ENTITIES[entity] ?? '')
        .replace(/\s+/g, ' ')
        .trim()
    : text;
