import { z } from 'zod';
import { addressSchema } from '#contract/address';

/** The longest a simulation may pretend to last: a day, in milliseconds. */
const LONGEST_MS = 86_400_000;
const FIVE_MINUTES_MS = 300_000;

const moment = z.number().int().min(0).max(LONGEST_MS);
const length = (fallback: number) => z.number().int().min(0).max(LONGEST_MS).default(fallback);

const address = (target: string) =>
  addressSchema.default({ type: 'tel', target, target_name: '', name: '', detail: '' });

const callSchema = z.object({
  direction: z.enum(['incoming', 'outgoing']).default('incoming').describe('An outgoing call starts answered.'),
  source: address('+15550100001').describe('Who calls.'),
  destination: address('+899100000001').describe('Who is called.'),
});

/** How long a destination takes when the script does not say, by what it does, in milliseconds. */
const AFTER_MS = { answered: 5000, busy: 1000, noanswer: 60_000, failed: 500, refused: 0 } as const;

const answerSchema = z
  .object({
    result: z
      .enum(['answered', 'busy', 'noanswer', 'failed', 'refused'])
      .default('answered')
      .describe('What it does; refused: the platform cannot dial it at all.'),
    after_ms: moment.optional().describe('How long after dialling; absent: what is usual.'),
    talk_ms: length(30_000).describe('How long the parties talk.'),
  })
  .transform(given => ({ ...given, after_ms: given.after_ms ?? AFTER_MS[given.result] }));

const httpSchema = z.object({
  status: z.number().int().min(100).max(599).default(200).describe('Status of the answer.'),
  body: z.string().max(65_536).default('').describe('Body of the answer.'),
  after_ms: z.number().int().min(0).max(FIVE_MINUTES_MS).default(100).describe('How long the server takes.'),
  fails: z.boolean().default(false).describe('True: no answer, the connection fails.'),
});

const keysSchema = z.object({
  at_ms: moment.describe('When the first key is pressed.'),
  digits: z
    .string()
    .regex(/^[0-9A-D*#]{1,32}$/, 'must be 1 to 32 of 0-9 A-D * #')
    .describe('The keys, one after the other.'),
});

/**
 * What happens around a simulated flow: what the party does, what others answer and how long things take. Times are in
 * milliseconds of virtual time, `at_ms` after the start. Everything has a default.
 */
export const scriptSchema = z
  .object({
    now: z.iso
      .datetime({ offset: true })
      .optional()
      .describe('The moment the simulation starts, for condition_datetime; absent: now.'),
    call: callSchema.prefault({}).describe('The call, when the flow has one.'),
    digits: z
      .array(keysSchema)
      .max(100)
      .default([])
      .describe('Keys the party presses; before the answer nobody hears them.'),
    digit_gap_ms: z.number().int().min(1).max(60_000).default(200).describe('From one key to the next.'),
    hangup_at_ms: moment.optional().describe('When the party hangs up; absent: never.'),
    answer: z
      .record(z.string(), answerSchema)
      .refine(given => Object.keys(given).length <= 100, 'may name 100 destinations at most')
      .default({})
      .describe('What destinations do, by target; `*` is any other. Absent: answered after 5 s, talks 30 s.'),
    http: z
      .array(httpSchema)
      .max(100)
      .default([])
      .describe('Answers to webhook_send and fetch, in order; then 200 with no body.'),
    amd: z.enum(['human', 'machine', 'notsure']).default('human').describe('What the amd action finds, after 2 s.'),
    continue_after_ms: moment.optional().describe('When a block is continued; absent: never.'),
    speech_ms_per_character: z.number().min(1).max(1000).default(65).describe('How long speech takes.'),
    conference_ms: length(60_000).describe('How long the call stays in a conference.'),
    play_ms: length(5000).describe('Length of an audio file.'),
    beep_ms: length(250).describe('Length of a beep.'),
    max_ms: z.number().int().min(1).max(LONGEST_MS).default(3_600_000).describe('The simulation ends then.'),
  })
  .meta({ id: 'SimulationScript', description: 'What happens around a simulated flow.' });

export type Script = z.infer<typeof scriptSchema>;
export type ScriptedAnswer = z.infer<typeof answerSchema>;
export const defaultAnswer: ScriptedAnswer = answerSchema.parse({});
export const defaultHttp = httpSchema.parse({});
