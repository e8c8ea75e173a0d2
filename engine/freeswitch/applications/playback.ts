import type { Application, ApplicationContext } from '../application.ts';
import type { PlayEnd, PlayOptions } from '../player.ts';
import { playList, terminators } from '../player.ts';

const responses: Record<PlayEnd, string> = {
  done: 'FILE PLAYED',
  break: 'FILE PLAYED',
  digit: 'FILE PLAYED',
  timeout: 'PLAYBACK ERROR',
  hangup: 'PLAYBACK ERROR',
  'not-found': 'FILE NOT FOUND',
};

/** `playback <file>`: plays to the end, to a terminating key, to the time limit or to a break. */
export const playback: Application = {
  name: 'playback',
  run: async context => {
    let end: PlayEnd = 'not-found';
    for (let loop = 0; loop < Math.max(1, context.level.request.loops); loop += 1) {
      end = await playList(context, context.data, options(context));
      if (end !== 'done') break;
    }
    return responses[end];
  },
};

function options({ channel }: ApplicationContext): PlayOptions {
  const ends = terminators(channel.get('playback_terminators'));
  const limit = Number(channel.get('playback_timeout_sec') ?? Number.NaN);
  return {
    announced: true,
    deadline: limit > 0 ? performance.now() + limit * 1000 : null,
    endsAt: digit => {
      if (ends(digit)) channel.set('playback_terminator_used', digit);
      return ends(digit);
    },
  };
}
