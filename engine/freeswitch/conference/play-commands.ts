import { sampleRate } from '../../media/clock.ts';
import type { ConferenceCommand } from './command.ts';
import { membersOf } from './command.ts';
import type { Conference } from './conference.ts';
import type { PlayQueue } from './play-queue.ts';
import { openSound } from './play-queue.ts';

const seekUsage = 'file_seek [+-]<val> [<member_id>]';
const nothing = '-ERR Nothing is playing\n';

/** That of the conference, or of a member who is named; the answer when there is no such member. */
function queueOf(conference: Conference, id: string | undefined, usage: string): PlayQueue | string {
  if (id === undefined) return conference.plays;
  return membersOf(conference, id)?.[0]?.plays ?? `-ERR Member: ${id.slice(0, 64)} not found.\n${usage}`;
}

/** Pauses what plays, or lets it go on. */
function togglePause(conference: Conference, [id]: string[]): string {
  const queue = queueOf(conference, id, 'pause [<member_id>]');
  if (typeof queue === 'string') return queue;
  const { playing } = queue;
  if (!playing) return nothing;
  playing.track.paused = !playing.track.paused;
  return playing.track.paused ? '+OK Pause\n' : '+OK Resume\n';
}

/** Where what plays has come to, in samples of its rate. How long it is we do not know. */
function status(conference: Conference, [id]: string[]): string {
  const queue = queueOf(conference, id, 'play_status [<member_id>]');
  if (typeof queue === 'string') return queue;
  const { playing } = queue;
  return playing ? `+OK ${playing.track.position ?? 0}/0 ${playing.file}\n` : nothing;
}

/** `file_seek [+-]<ms> [<member id>]`: goes on from there, or from so much later or earlier; without a number a second. */
async function seek(conference: Conference, [where = '', id]: string[]): Promise<string> {
  const queue = queueOf(conference, id, seekUsage);
  if (typeof queue === 'string') return queue;
  const [, sign = '', digits = ''] = /^([+-]?)(\d{0,8})$/.exec(where) ?? [];
  if (sign === '' && digits === '') return seekUsage;
  const { playing } = queue;
  if (!playing) return nothing;
  const { track, file } = playing;
  const rate = track.rate ?? sampleRate;
  const step = (Number(digits) || (sign === '' ? 0 : 1000)) * (rate / 1000);
  const from = sign === '' ? 0 : (track.position ?? 0);
  const target = Math.max(0, Math.round(sign === '-' ? from - step : from + step));
  const source = await openSound(conference, file, target);
  track.goOnWith(source);
  return `+OK seek to position ${target}\n`;
}

/** What can be done with a sound that plays: `pause_play`, `play_status`, `file_seek`. */
export const playCommands: ConferenceCommand[] = [
  { name: 'pause_play', run: togglePause },
  { name: 'play_status', run: status },
  { name: 'file_seek', run: seek },
];
