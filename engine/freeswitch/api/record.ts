import { onChannel } from '../api-command.ts';
import { splitArguments } from '../application.ts';
import { startRecording, stopRecordings } from '../session-recording.ts';

const done = '+OK Success\n';
const failed = '-ERR Operation Failed\n';

/**
 * `uuid_record <uuid> start|stop|mask|unmask <path>|all [<limit seconds>] [{<name>=<value>,…}]`; `mask` records silence
 * until `unmask`. `stop`, `mask` and `unmask` take `all`.
 */
export const uuidRecord = onChannel(
  'uuid_record',
  {
    usage: '<uuid> [start|stop|mask|unmask] <path> [<limit>] [<recording_vars>]',
    missing: '-ERR Cannot locate session!\n',
    least: 2,
  },
  async (channel, rest) => {
    const variables = /\s(\{[^}]*\})\s*$/.exec(rest)?.[1] ?? '';
    const [action, path = '', limit] = splitArguments(rest.slice(0, rest.length - variables.length));
    if (action === 'start') return startRecording(channel, path, Number(limit) || 0, variables).then(() => done);
    if (action === 'stop') return (await stopRecordings(channel, path)) ? done : '-ERR Cannot stop record session!\n';
    const chosen = [...channel.recordings.values()].filter(one => path === 'all' || one.path === path);
    if (chosen.length === 0 || (action !== 'mask' && action !== 'unmask')) return failed;
    for (const one of chosen) one.mask(action === 'mask');
    return done;
  },
);
