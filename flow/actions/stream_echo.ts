import { z } from 'zod';
import { defineAction, type ActionContext } from '../action.ts';
import { echoFor } from './echo.ts';
import { callOf } from './on-call.ts';
import { milliseconds } from './options.ts';

/** Length of a key sent back, in milliseconds. */
const TONE_MS = 100;

/** Sends each key back when the one before it is sent; a key that cannot be sent is only told to the log. */
const returnKeys = (context: ActionContext): void => {
  const call = callOf(context);
  let sent = Promise.resolve();
  context.onDigit(digit => {
    sent = sent
      .then(() => (context.signal.aborted ? undefined : call.sendDigits(digit, TONE_MS, 0)))
      .catch((error: unknown) =>
        context.log.warn({ action_id: context.action.id, reason: String(error) }, 'a key was not sent back'),
      );
  });
};

export const streamEcho = defineAction({
  type: 'stream_echo',
  summary: "Sends the caller's own audio and keys back for a time.",
  needs: 'call',
  onError: 'next',
  option: z.object({ duration: milliseconds }),
  async run(context, { duration }) {
    returnKeys(context);
    return echoFor(context, duration);
  },
});
