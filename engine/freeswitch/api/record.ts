import { onChannel, wordsOf } from '../api-command.ts';
import { startRecording, stopRecordings } from '../session-recording.ts';

/** `uuid_record <uuid> start|stop|mask|unmask <path> [<limit seconds>]`; both sides of the call. */
export const uuidRecord = onChannel(
  'uuid_record',
  {
    usage: '<uuid> [start|stop|mask|unmask] <path> [<limit>] [<recording_vars>]',
    missing: '-ERR Cannot locate session!\n',
    least: 2,
  },
  async (channel, rest) => {
    const [action, path = '', limit] = wordsOf(rest);
    if (action === 'start') return startRecording(channel, path, Number(limit) || 0).then(() => '+OK Success\n');
    if (action === 'stop') return (await stopRecordings(channel, path)) ? '+OK Success\n' : '-ERR Operation Failed\n';
    const recording = channel.recordings.get(path);
    if (!recording || (action !== 'mask' && action !== 'unmask')) return '-ERR Operation Failed\n';
    recording.mask(action === 'mask');
    return '+OK Success\n';
  },
);
