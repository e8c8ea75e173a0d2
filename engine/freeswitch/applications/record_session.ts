import type { Application } from '../application.ts';
import { none, splitArguments } from '../application.ts';
import { startRecording, stopRecordings } from '../session-recording.ts';

/** `record_session <path> [+<limit seconds>] [{<name>=<value>,…}]`: completes as soon as it records. */
export const recordSession: Application = {
  name: 'record_session',
  run: async ({ channel, data }) => {
    const variables = /\s(\{[^}]*\})\s*$/.exec(data)?.[1] ?? '';
    const [path = '', limit] = splitArguments(data.slice(0, data.length - variables.length));
    await startRecording(channel, path, Number(limit?.replace('+', '')) || 0, variables);
    return none;
  },
};

/** `stop_record_session <path>|all`: completes when the file is complete. */
export const stopRecordSession: Application = {
  name: 'stop_record_session',
  run: async ({ channel, data }) => {
    await stopRecordings(channel, splitArguments(data)[0] ?? 'all');
    return none;
  },
};
