import { z } from 'zod';
import { defineAction, next, type ActionContext, type AmdVerdict, type Outcome } from '../action.ts';
import { callOf } from './on-call.ts';

const option = z.object({
  machine_handle: z
    .enum(['', 'hangup', 'continue'])
    .default('')
    .describe('What to do with a machine: hang up, or continue (default).'),
  async: z.boolean().default(false).describe('True: go on at once while it listens.'),
});

const keep = ({ variables }: ActionContext, { result, confidence }: AmdVerdict): void => {
  variables.set('svc.call.amd_result', result);
  variables.set('svc.call.amd_confidence', String(confidence));
};

/** Listens, keeps the verdict in variables, and hangs up on a machine where the author wants that. */
const detect = async (context: ActionContext, handle: string): Promise<Outcome> => {
  const call = callOf(context);
  const verdict = await call.detectMachine(context.signal);
  if (context.signal.aborted) return next;
  keep(context, verdict);
  if (verdict.result !== 'machine' || handle !== 'hangup') return next;
  await call.hangup('amd', '');
  return { kind: 'finish' };
};

/** Nobody waits for it, so a failure is only told to the log. */
const detectAside = (context: ActionContext, handle: string): void => {
  const ignore = (error: unknown): void =>
    context.log.warn({ action_id: context.action.id, reason: String(error) }, 'answering machine detection failed');
  void detect(context, handle).catch(ignore);
};

export const amd = defineAction({
  type: 'amd',
  summary: 'Finds out whether a person or an answering machine answered.',
  needs: 'call',
  onError: 'next',
  option,
  async run(context, { machine_handle, async }) {
    if (!async) return detect(context, machine_handle);
    detectAside(context, machine_handle);
    return next;
  },
});
