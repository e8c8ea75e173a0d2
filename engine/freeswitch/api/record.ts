import { onChannel } from '../api-command.ts';
import { splitArguments } from '../application.ts';
import { startRecording, stopRecordings } from '../session-recording.ts';

const done = '+OK Success\n';
const usage = '<uuid> [start|stop|mask|unmask] <path> [<limit>] [<recording_vars>]';

/**
 * `uuid_record <uuid> start|stop|mask|unmask <path>|all [<limit seconds>] [{<name>=<value>,…}]`; `mask` records silence
 * until `unmask`. `stop`, `mask` and `unmask` take `all`.
 */
export const uuidRecord = onChannel(
  'uuid_record',
  {
    usage,
    missing: '-ERR Cannot locate session!\n',
    least: 2,
  },
  async (channel, rest) => {
    const variables = /\s(\{[^}]*\})\s*$/.exec(rest)?.[1] ?? '';
    const [action, path = '', limit] = splitArguments(rest.slice(0, rest.length - variables.length));
    if (action === 'start') return startRecording(channel, path, Number(limit) || 0, variables).then(() => done);
    if (action === 'stop') return (await stopRecordings(channel, path)) ? done : '-ERR Cannot stop record session!\n';
    if (action !== 'mask' && action !== 'unmask') return `-USAGE: ${usage}\n`;
    const chosen = [...channel.recordings.values()].filter(one => path === 'all' || one.path === path);
    if (chosen.length === 0) return `-ERR Cannot ${action} recording session!\n`;
    for (const one of chosen) one.mask(action === 'mask');
    return done;
  },
);
