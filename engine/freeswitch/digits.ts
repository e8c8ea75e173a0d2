import type { Channel } from './channel.ts';

const defaultMs = 250;
const maxDigits = 256;

/** Reads `<digits>[@<ms>]`; `w` and `W` are pauses of half a second and a second, other characters are dropped. */
export function parseDigits(text: string): { digits: string; durationMs: number } {
  const [keys = '', duration] = text.trim().split('@');
  const ms = Number(duration ?? defaultMs);
  const digits = keys.slice(0, maxDigits).replace(/[^0-9A-Da-d*#wW]/g, '');
  return {
    digits: digits.replace(/[a-d]/g, letter => letter.toUpperCase()),
    durationMs: Number.isFinite(ms) ? Math.min(Math.max(50, ms), 8000) : defaultMs,
  };
}

/** Sends keys to the party of a channel, after those that are still being sent. */
export function sendDigits(channel: Channel, text: string): void {
  const { digits, durationMs } = parseDigits(text);
  void channel.leg.sendDigits(digits, durationMs);
}
