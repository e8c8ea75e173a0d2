import type { ConferenceCommand } from './command.ts';
import type { Conference } from './conference.ts';

const usage = 'recording [start|stop|check|pause|resume] [<filename>|all]';
const notRecorded = '-ERR Conference is not being recorded.\n';

async function start({ recordings }: Conference, path: string): Promise<string> {
  if (recordings.paths.includes(path)) return `-ERR file [${path}] is already being used for recording.\n`;
  try {
    await recordings.start(path);
  } catch (error) {
    return `-ERR Cannot record: ${error instanceof Error ? error.message.replace(/\s+/g, ' ') : 'failed'}\n`;
  }
  return `+OK Record file ${path}\n`;
}

/** Two lines as in the real server, with the right number in the second. */
async function stop({ recordings }: Conference, path: string): Promise<string> {
  const paths = path === 'all' ? recordings.paths : recordings.paths.filter(one => one === path);
  if (paths.length === 0) return `-ERR non-existant recording '${path}'\n`;
  await Promise.all(paths.map(one => recordings.stop(one)));
  return `${paths.map(one => `Stopped recording file ${one}\n`).join('')}+OK Stopped recording ${paths.length} files\n`;
}

function pause({ recordings }: Conference, path: string, on: boolean): string {
  const word = on ? 'Pause' : 'Resume';
  return recordings.pause(path, on)
    ? `+OK ${word} recording file ${path}\n`
    : `-ERR non-existant recording '${path}'\n`;
}

function check({ recordings }: Conference): string {
  return recordings.paths.length === 0 ? notRecorded : recordings.paths.map(one => `+OK Record file ${one}\n`).join('');
}

/** `pause <path>` and `resume <path>`. */
const pausing = (name: 'pause' | 'resume'): ConferenceCommand => ({
  name,
  run: (conference, [path]) => (path === undefined ? `${name} <filename>` : pause(conference, path, name === 'pause')),
});

/** `recording start|stop|pause|resume|check <path>`, and the older words for the same. */
export const recordingCommands: ConferenceCommand[] = [
  {
    name: 'recording',
    run: (conference, [action = '', path]) => {
      if (action === 'check') return check(conference);
      if (path === undefined) return usage;
      if (action === 'start') return start(conference, path);
      if (action === 'stop') return stop(conference, path);
      return action === 'pause' || action === 'resume' ? pause(conference, path, action === 'pause') : usage;
    },
  },
  { name: 'record', run: (conference, [path]) => (path === undefined ? 'record <filename>' : start(conference, path)) },
  { name: 'norecord', run: (conference, [path]) => stop(conference, path ?? 'all') },
  { name: 'chkrecord', run: check },
  pausing('pause'),
  pausing('resume'),
];
