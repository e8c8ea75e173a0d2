import { z } from 'zod';
import { warningSchema } from '../warnings.ts';

/** Why a simulated flow ended. */
const END_REASONS = [
  'finished',
  'stopped',
  'hangup',
  'party_hangup',
  'failed',
  'blocked',
  'action_limit',
  'time_limit',
  'size_limit',
] as const;
export type EndReason = (typeof END_REASONS)[number];

const at_ms = z.number().describe('Virtual milliseconds after the start.');

const stepSchema = z
  .object({
    at_ms,
    until_ms: z.number().describe('When the cursor left it.'),
    activeflow: z.number().int().describe('0 is the flow itself, 1 its on-complete flow, and so on.'),
    action: z.object({
      id: z.string(),
      type: z.string(),
      option: z.record(z.string(), z.unknown()).describe('As executed: variables are in place.'),
    }),
    outcome: z
      .enum(['next', 'jump', 'fork', 'block', 'finish', 'skipped', 'failed', 'ended'])
      .describe('skipped: needs a call; ended: the flow was over before the action was.'),
    target_id: z.string().describe('Where a jump goes, else empty.'),
    message: z.string().describe('Why it failed, else empty.'),
    variables: z.record(z.string(), z.string()).describe('What changed meanwhile.'),
  })
  .meta({ id: 'SimulationStep', description: 'One action of a simulated flow.' });
export type Step = z.infer<typeof stepSchema>;

const eventSchema = z
  .object({
    at_ms,
    type: z.string().describe('Event type as webhooks carry it.'),
    about: z.string().describe('`activeflow`, `call`, or the target that was dialled.'),
  })
  .meta({ id: 'SimulationEvent', description: 'An event that a real run would tell.' });
export type SimulatedEvent = z.infer<typeof eventSchema>;

const endedSchema = z
  .object({ at_ms, reason: z.enum(END_REASONS), message: z.string().describe('For people.') })
  .meta({ id: 'SimulationEnd', description: 'Why a simulated flow ended.' });
export type Ended = z.infer<typeof endedSchema>;

export const simulationSchema = z
  .object({
    trace: z.array(stepSchema),
    events: z.array(eventSchema).describe('In order.'),
    variables: z.record(z.string(), z.string()).describe('At the end.'),
    ended: endedSchema,
    on_complete: z
      .array(z.object({ flow_id: z.string(), started_ms: z.number(), ended: endedSchema }))
      .describe('The flows that followed.'),
    warnings: z.array(warningSchema).describe('What looks wrong in the flow, run or not.'),
  })
  .meta({ id: 'Simulation', description: 'What a flow does against a script.' });
export type Simulation = z.infer<typeof simulationSchema>;
