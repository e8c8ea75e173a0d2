import { z } from 'zod';
import { EMPTY_ID, isId } from './ids.ts';
import { RECORDING_STATUSES } from './machines/recording.ts';
import { toRfc3339 } from './time.ts';

const moment = z.string().nullable();

/** The audio of a call or a conference, kept (voice-and-flows 14.1). */
export const recordingSchema = z
  .object({
    id: z.uuid(),
    customer_id: z.uuid(),
    owner_type: z.string().describe('Always empty.'),
    owner_id: z.string(),
    activeflow_id: z.string().describe("The call's activeflow; the empty UUID for a conference."),
    reference_type: z.enum(['call', 'confbridge']).describe('confbridge: a conference.'),
    reference_id: z.string().describe('The call or conference that is recorded.'),
    status: z.enum(RECORDING_STATUSES),
    format: z.literal('wav'),
    on_end_flow_id: z.string().describe('Run when the recording has ended.'),
    tm_start: moment,
    tm_end: moment,
    tm_create: moment,
    tm_update: moment,
    tm_delete: moment,
  })
  .meta({ id: 'Recording', description: 'The audio of a call or a conference, kept.' });
export type Recording = z.infer<typeof recordingSchema>;

/** A recording that has not begun. */
export const newRecording = (
  given: Pick<
    Recording,
    'id' | 'customer_id' | 'activeflow_id' | 'reference_type' | 'reference_id' | 'on_end_flow_id' | 'tm_create'
  >,
): Recording => ({
  owner_type: '',
  owner_id: EMPTY_ID,
  status: 'initiating',
  format: 'wav',
  tm_start: null,
  tm_end: null,
  tm_update: null,
  tm_delete: null,
  ...given,
});

/** No recording lasts longer, in seconds (voice-and-flows 13.2). */
export const LONGEST_RECORDING_S = 86_400;

const END_OF_KEY = /^(none|any|[0-9A-D*#])?$/;

/** How a recording is started; everything left out is no limit (voice-and-flows 6.3, 10). */
export const recordingOptionsSchema = z.object({
  format: z
    .enum(['', 'wav'])
    .default('')
    .transform(() => 'wav' as const)
    .describe('Only wav, which empty means too.'),
  end_of_silence: z
    .number()
    .int()
    .min(0)
    .max(LONGEST_RECORDING_S)
    .default(0)
    .describe('Ends after so many seconds in which the party is silent; 0 is no limit.'),
  end_of_key: z
    .string()
    .regex(END_OF_KEY, 'must be none, any or one key of 0-9, A-D, * and #')
    .default('')
    .describe('The key that ends it: a digit, * or #; any for every key; none or empty for no key.'),
  duration: z
    .number()
    .int()
    .min(0)
    .max(LONGEST_RECORDING_S)
    .default(0)
    .describe('Ends after so many seconds; 0 is no limit.'),
  on_end_flow_id: z
    .string()
    .refine(text => text === '' || isId(text), 'must be a UUID')
    .overwrite(text => (text === '' ? EMPTY_ID : text.toLowerCase()))
    .default(EMPTY_ID)
    .describe('A flow to run when the recording has ended.'),
});
export type RecordingOptions = z.output<typeof recordingOptionsSchema>;

/** True when this key ends a recording that was started with `end_of_key`. */
export const endsRecording = (endOfKey: string, key: string): boolean => endOfKey === 'any' || endOfKey === key;

/** The folder below DATA_DIR that recordings lie in. */
export const RECORDINGS_FOLDER = 'recordings';

type Named = Pick<Recording, 'reference_type' | 'reference_id' | 'tm_create'>;

/** `<reference_type>_<reference_id>_<start time RFC 3339>` (voice-and-flows 14.1). */
const recordingName = ({ reference_type, reference_id, tm_create }: Named): string =>
  `${reference_type}_${reference_id}_${toRfc3339(tm_create ?? '')}`;

/** The files of a recording, by what they are. All lie in `RECORDINGS_FOLDER`. */
export const recordingFiles = (recording: Named) => {
  const name = recordingName(recording);
  return {
    /** What the party says. */
    in: `${name}_in.wav`,
    /** What the party hears. */
    out: `${name}_out.wav`,
    /** All voices in one (platform-api, Recording: "mono, all audio mixed"); a conference's only file (14.1). */
    mixed: recording.reference_type === 'call' ? `${name}.wav` : `${name}_in.wav`,
    /** While it runs: of a call the party left, what it hears right; of a conference everybody. */
    capture: `${name}_capture.wav`,
    /** `RecordingContents`, written last: while it is missing the files are not whole. */
    contents: `${name}.json`,
  };
};

/** At most this many peaks a file. */
export const MOST_PEAKS = 1000;

/** What lies beside the files of an ended recording: their facts, computed once. */
export const recordingContentsSchema = z.object({
  /** False when the media-app died under the recording: the end may be missing. */
  complete: z.boolean(),
  files: z.array(
    z.object({
      filename: z.string(),
      direction: z.enum(['in', 'out', '']),
      filesize: z.number().int(),
      duration: z.number(),
      peaks: z.array(z.number()),
    }),
  ),
});
export type RecordingContents = z.infer<typeof recordingContentsSchema>;

/** The voices that are kept apart, each in a file for people to play: the two of a call, the one of a conference. */
export const playedVoices = ({ reference_type }: Pick<Recording, 'reference_type'>) =>
  reference_type === 'call'
    ? ([
        { voice: 'in', direction: 'in' },
        { voice: 'out', direction: 'out' },
      ] as const)
    : ([{ voice: 'mixed', direction: '' }] as const);

/** The `svc.recording.*` variables of the call's activeflow and of the on-end flow (voice-and-flows 5.4). */
export const recordingVariables = (recording: Recording): Record<string, string> => {
  const files = recordingFiles(recording);
  return {
    'svc.recording.id': recording.id,
    'svc.recording.reference_type': recording.reference_type,
    'svc.recording.reference_id': recording.reference_id,
    'svc.recording.format': recording.format,
    'svc.recording.recording_name': recordingName(recording),
    'svc.recording.filenames': playedVoices(recording)
      .map(({ voice }) => files[voice])
      .join(','),
  };
};
