import type { Application, ApplicationContext } from '../application.ts';
import { none } from '../application.ts';
import { plain, playList } from '../player.ts';
import { synthesize } from '../speech.ts';

/** `speak <engine>|<voice>|<text>`: reads a text aloud; completes at once when no engine is installed, like the real server. */
export const speak: Application = {
  name: 'speak',
  run: async context => {
    const [engine = '', voice = '', ...text] = context.data.split('|');
    return aloud(context, engine, voice, text.join('|'), false);
  },
};

/**
 * `say <language> <type> <method> [<gender>] <text>`, in any case: read by the speech engine, not put together from recordings, so
 * the gender is of no matter. Spelled, iterated and numbers of telephones and accounts are read sign by sign, times as such.
 */
export const say: Application = {
  name: 'say',
  run: async context => {
    const match = /^(\S+) (\S+) (\S+) (?:(?:FEMININE|MASCULINE|NEUTER) )?(.*)$/i.exec(context.data);
    if (!match) return none;
    const [, module = 'en', type = '', method = '', text = ''] = match;
    const language = module.split(':').at(-1) ?? module; // `<module>:<language>`
    const signs = /^iterated$/i.test(method) || /SPELLED|PHONE|ACCOUNT/i.test(type);
    const words = signs ? text.split('').join(' ') : spokenTime(type, text, language);
    return aloud(context, 'espeak', language, words, true);
  },
};

/** Parts of a moment that the types of times tell. */
const moments: Record<string, Intl.DateTimeFormatOptions> = {
  CURRENT_DATE: { dateStyle: 'full' },
  CURRENT_TIME: { timeStyle: 'short' },
  CURRENT_DATE_TIME: { dateStyle: 'full', timeStyle: 'short' },
  SHORT_DATE_TIME: { dateStyle: 'medium', timeStyle: 'short' },
};

/** Seconds since the epoch as a date or time in words, where the type asks for one; any other text as it is. */
export function spokenTime(type: string, text: string, language: string): string {
  const parts = moments[type.toUpperCase()];
  if (!parts || !/^\d{1,12}$/.test(text)) return text;
  const locale = /^[a-z]{2,3}(?:-[a-z]{2})?$/i.test(language) ? language : 'en';
  return new Intl.DateTimeFormat(locale, { ...parts, timeZone: 'UTC' }).format(Number(text) * 1000);
}

async function aloud(
  context: ApplicationContext,
  engine: string,
  voice: string,
  text: string,
  announced: boolean,
): Promise<string> {
  const { cacheDir, log } = context.channel.core.options;
  const file = await synthesize({ engine, voice, text, cacheDir });
  if (file === null) log.warn({ uuid: context.channel.uuid, engine }, 'no speech engine is installed, nothing is said');
  else await playList(context, file, { ...plain, announced });
  return none;
}
