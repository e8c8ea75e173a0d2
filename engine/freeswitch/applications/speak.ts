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

/** `say <language> <type> <method> [<gender>] <text>`: read by the speech engine, not put together from recordings. */
export const say: Application = {
  name: 'say',
  run: async context => {
    const match = /^(\S+) (\S+) (\S+) (?:(?:FEMININE|MASCULINE|NEUTER) )?(.*)$/.exec(context.data);
    if (!match) return none;
    const [, language = 'en', type = '', method = '', text = ''] = match;
    return aloud(
      context,
      'espeak',
      language,
      method === 'iterated' || /SPELLED|PHONE|ACCOUNT/.test(type) ? text.split('').join(' ') : text,
      true,
    );
  },
};

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
