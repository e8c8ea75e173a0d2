import { z } from 'zod';
import type { Action } from '#contract/action';
import { defineAction } from '../action.ts';
import { FLOW_LIMITS, validateActions } from '../validate.ts';

const TIMEOUT_MS = 10_000;

const option = z.object({
  event_url: z
    .string()
    .max(2048)
    .default('')
    .describe('An http or https address that answers with a JSON array of actions.'),
  event_method: z
    .enum(['', 'POST', 'GET', 'PUT', 'DELETE'])
    .default('')
    .transform(method => method || 'POST')
    .describe('HTTP method; empty is POST.'),
});

/** The actions of an answer, checked like those of a flow; missing ids are generated (voice-and-flows 24). */
const actionsIn = (body: string): Action[] => {
  const given: unknown = JSON.parse(body);
  if (!Array.isArray(given)) throw new Error('the answer is no array of actions');
  return validateActions(given);
};

export const fetch = defineAction({
  type: 'fetch',
  summary: 'Asks a web server for actions, runs them, then comes back.',
  needs: 'any',
  onError: 'stop',
  option,
  async run({ activeflow, ports, signal }, { event_url, event_method }) {
    if (!/^https?:\/\//i.test(event_url)) throw new Error('event_url is no http or https address');
    const { status, body } = await ports.sendHttp({
      customer_id: activeflow.customer_id,
      method: event_method,
      uri: event_url,
      data_type: 'application/json; charset=utf-8',
      data: JSON.stringify({ activeflow_id: activeflow.id, reference_id: activeflow.reference_id }),
      timeout_ms: TIMEOUT_MS,
      keep_bytes: 2 * FLOW_LIMITS.total_bytes, // whitespace, and what normalising leaves out
      signal,
    });
    if (status !== 200) throw new Error(`the answer was ${status}, not 200`);
    return { kind: 'fork', actions: actionsIn(body) };
  },
});
