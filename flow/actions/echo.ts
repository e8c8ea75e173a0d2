import { z } from 'zod';
import { defineAction, next, type ActionContext, type Outcome } from '../action.ts';
import { pause } from '../pause.ts';
import { callOf } from './on-call.ts';
import { milliseconds } from './options.ts';

/** How long it echoes when the author gave no duration (voice-and-flows 6.3), in milliseconds. */
const DEFAULT_MS = 180_000;

/** Sends the party's audio back for `duration` milliseconds; 0 takes the default. Rejects when the leg is gone. */
export const echoFor = async (context: ActionContext, duration: number): Promise<Outcome> => {
  const enough = new AbortController();
  const signal = AbortSignal.any([context.signal, enough.signal]);
  const echoing = callOf(context).echo(signal);
  try {
    await Promise.race([echoing, pause(context.ports.clock, duration || DEFAULT_MS, signal)]);
  } finally {
    enough.abort();
  }
  await echoing;
  return next;
};

export const echo = defineAction({
  type: 'echo',
  summary: "Sends the caller's own audio back for a time.",
  needs: 'call',
  onError: 'next',
  option: z.object({ duration: milliseconds }),
  run: (context, { duration }) => echoFor(context, duration),
});
