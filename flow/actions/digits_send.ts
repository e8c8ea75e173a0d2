import { z } from 'zod';
import { defineAction, next } from '../action.ts';
import { pause } from '../pause.ts';
import { callOf } from './on-call.ts';

/** The shortest tone, and the one sent when the author gave no duration, in milliseconds (voice-and-flows 6.3). */
const SHORTEST_MS = 100;
const LONGEST_MS = 1000;
const LONGEST_GAP_MS = 5000;
const MAX_DIGITS = 100;

const bounded = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most);

export const digitsSend = defineAction({
  type: 'digits_send',
  summary: 'Sends keys as telephone events and waits until they are sent.',
  needs: 'call',
  onError: 'next',
  option: z.object({
    digits: z.string().default('').describe('0-9, A-D, # and *; at most 100.'),
    duration: z.number().int().default(SHORTEST_MS).describe('Length of a tone, 100 to 1000 ms.'),
    interval: z.number().int().default(0).describe('Gap between tones, 0 to 5000 ms.'),
  }),
  async run(context, given) {
    const digits = given.digits
      .toUpperCase()
      .replace(/[^0-9A-D*#]/g, '')
      .slice(0, MAX_DIGITS);
    if (digits === '') return next;
    const duration = bounded(given.duration, SHORTEST_MS, LONGEST_MS);
    const interval = bounded(given.interval, 0, LONGEST_GAP_MS);
    const total = duration * digits.length + interval * (digits.length - 1);
    const failed = new AbortController();
    const waiting = pause(context.ports.clock, total, AbortSignal.any([context.signal, failed.signal]));
    try {
      await callOf(context).sendDigits(digits, duration, interval);
      await waiting;
    } finally {
      failed.abort();
    }
    return next;
  },
});
