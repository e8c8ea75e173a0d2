import type { Channel } from './channel.ts';

/** One stretch of keys or a pause in `12w3W4@100`. */
export type DigitStep = { digits: string } | { pauseMs: number };

const defaultMs = 250;
const maxDigits = 256;

/** Reads `<digits>[@<ms>]`: `w` waits half a second, `W` a second; other characters are dropped. */
export function parseDigits(text: string): { steps: DigitStep[]; durationMs: number } {
  const [keys = '', duration] = text.trim().split('@');
  const ms = Number(duration ?? defaultMs);
  const steps = (keys.slice(0, maxDigits).match(/[0-9A-Da-d*#]+|[wW]/g) ?? []).map((part): DigitStep => {
    if (part === 'w') return { pauseMs: 500 };
    return part === 'W' ? { pauseMs: 1000 } : { digits: part.toUpperCase() };
  });
  return { steps, durationMs: Number.isFinite(ms) ? Math.min(Math.max(50, ms), 8000) : defaultMs };
}

/** Sends keys to the party of a channel, after those that are still being sent. False when there is none to send. */
export function sendDigits(channel: Channel, text: string): boolean {
  const { steps, durationMs } = parseDigits(text);
  const previous = sending.get(channel) ?? Promise.resolve();
  const next = previous.then(() => sendSteps(channel, steps, durationMs));
  sending.set(channel, next);
  return steps.length > 0;
}

const sending = new WeakMap<Channel, Promise<void>>();

async function sendSteps(channel: Channel, steps: DigitStep[], durationMs: number): Promise<void> {
  for (const step of steps) {
    if (channel.hangupCause !== null) return;
    if ('pauseMs' in step) await new Promise((resolve) => setTimeout(resolve, step.pauseMs));
    else await channel.leg.sendDigits(step.digits, durationMs).catch(() => undefined); // the leg closed meanwhile
  }
}
