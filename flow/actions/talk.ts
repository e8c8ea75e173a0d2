import { z } from 'zod';
import { defineAction, next, type ActionContext, type Speech } from '../action.ts';
import { overwriteDigit } from './digits.ts';
import { answered, callOf } from './on-call.ts';

const option = z.object({
  text: z.string().default('').describe('Plain text or SSML.'),
  language: z.string().max(35).default('').describe('BCP47; empty is the default of the voice.'),
  provider: z.string().max(64).default('').describe('provider_b (default) or provider_c.'),
  voice_id: z.string().max(64).default('').describe('A voice of the provider; empty is its default.'),
  digits_handle: z.string().max(16).default('').describe('`next`: the first digit stops the speech.'),
  async: z.boolean().default(false).describe('True: go on at once while the speech plays.'),
});

const speechOf = ({ text, language, provider, voice_id }: z.infer<typeof option>): Speech => ({
  text,
  language,
  provider: provider || 'provider_b',
  voice_id,
});

/** Speaks on while the flow goes on; nobody waits, so a failure is only told to the log. */
const speakAside = (context: ActionContext, speech: Speech): void => {
  const ignore = (error: unknown): void =>
    context.log.warn({ action_id: context.action.id, reason: String(error) }, 'the speech failed');
  void callOf(context).talk(speech, context.signal).catch(ignore);
};

/** Speaks to the end, or to the first digit where the author wants that. */
const speak = async (context: ActionContext, speech: Speech, stopOnDigit: boolean): Promise<void> => {
  const call = callOf(context);
  const pressed = new AbortController();
  const ignoreFurther = context.onDigit(digit => {
    if (pressed.signal.aborted) return;
    overwriteDigit(context.variables, digit);
    if (stopOnDigit) pressed.abort();
  });
  await answered(call);
  if (!pressed.signal.aborted && speech.text.trim() !== '')
    await call.talk(speech, AbortSignal.any([context.signal, pressed.signal]));
  ignoreFurther();
};

export const talk = defineAction({
  type: 'talk',
  summary: 'Speaks a text to the caller and waits for its end; answers the call first.',
  needs: 'call',
  onError: 'next',
  option,
  async run(context, given) {
    if (given.async) {
      await answered(callOf(context));
      if (given.text.trim() !== '') speakAside(context, speechOf(given));
    } else await speak(context, speechOf(given), given.digits_handle === 'next');
    return next;
  },
});
