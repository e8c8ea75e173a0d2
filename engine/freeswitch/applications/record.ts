import type { RecordingEnd } from '../../media/recorder.ts';
import { Recorder } from '../../media/recorder.ts';
import type { Application, ApplicationContext } from '../application.ts';
import { none, splitArguments } from '../application.ts';
import { terminators } from '../player.ts';
import { recordingRate, setRecordFigures } from '../session-recording.ts';

const results = [
  'record_file_size',
  'record_seconds',
  'record_ms',
  'record_samples',
  'silence_hits_exhausted',
  'playback_terminator_used',
];
const defaultSilenceSeconds = 3;

/** `record <path> [<limit seconds> [<silence threshold> [<silence seconds>]]]`: what the caller says, until something ends it. */
export const record: Application = {
  name: 'record',
  run: async context => {
    const { channel } = context;
    const [path = '', limit, threshold, seconds] = splitArguments(context.data);
    channel.forget(...results);
    const recorder = await Recorder.open(path, {
      layout: 'said',
      rate: recordingRate(channel, name => channel.get(name)),
      ...(Number(limit) > 0 ? { maxMs: Number(limit) * 1000 } : {}),
      ...(Number(threshold) > 0
        ? { silence: { threshold: Number(threshold), seconds: Number(seconds) || defaultSilenceSeconds } }
        : {}),
    });
    const end = await untilEnded(context, recorder);
    setRecordFigures(channel, await recorder.stop());
    channel.set('silence_hits_exhausted', String(end === 'silence'));
    return none;
  },
};

/** Records until the recorder, a key, a break or the hang-up ends it. */
async function untilEnded({ channel, level }: ApplicationContext, recorder: Recorder): Promise<RecordingEnd | null> {
  const ends = terminators(channel.get('playback_terminators'));
  let reason: RecordingEnd | null = null;
  const removeTap = channel.leg.addTap(recorder);
  await level.wait(done => {
    recorder.once('ended', why => {
      reason = why;
      done('done');
    });
    level.onDigit = digit => {
      if (!ends(digit)) return;
      channel.set('playback_terminator_used', digit);
      done('done');
    };
    return () => (level.onDigit = null);
  });
  removeTap();
  return reason;
}
