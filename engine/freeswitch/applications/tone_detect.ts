import type { Application } from '../application.ts';
import { immediate, none, splitArguments } from '../application.ts';
import type { ToneRequest } from '../tone-detection.ts';
import { detectTone, endToneDetection } from '../tone-detection.ts';

/**
 * `tone_detect <key> <Hz>[,<Hz>…] [r|w] [+<seconds>] [<application> <data>] [<hits>]`: tells when the tones are heard, beside
 * whatever runs: of the party (`r`, also without), or of what the party hears (`w`).
 */
export const toneDetect: Application = {
  name: 'tone_detect',
  run: async ({ channel, data }) => {
    const request = parse(splitArguments(data), channel.leg.rate / 2);
    if (!request) return '-ERR invalid arguments';
    return detectTone(channel, request) ? none : '-ERR too many tones are waited for';
  },
};

/** `stop_tone_detect`. */
export const stopToneDetect: Application = immediate('stop_tone_detect', ({ channel }) => endToneDetection(channel));

/** @param highest Hz that the call can carry */
function parse(
  [key = '', tones = '', flags = 'r', timeout = '', ...action]: string[],
  highest: number,
): ToneRequest | null {
  const frequencies = tones.split(',').map(Number);
  const audible = frequencies.length <= 8 && frequencies.every(hz => hz > 0 && hz < highest);
  if (key === '' || key.length > 128 || !audible) return null;
  const [name, words, hits = name] = action;
  const seconds = Number(timeout.replace('+', ''));
  return {
    key,
    frequencies,
    side: flags.includes('w') && !flags.includes('r') ? 'heard' : 'said',
    withinMs: timeout.startsWith('+') && seconds > 0 ? Math.min(seconds, 86_400) * 1000 : null,
    hits: Math.min(1000, Math.max(1, Number.parseInt(hits ?? '1', 10) || 1)),
    application: name !== undefined && words !== undefined ? { name, data: words } : null,
  };
}
