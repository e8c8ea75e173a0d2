import { z } from 'zod';
import { defineAction, next, type ActionContext, type HttpRequest } from '../action.ts';
import { pause } from '../pause.ts';

const ATTEMPTS = 3;
const BETWEEN_MS = 1000;
const TIMEOUT_MS = 30_000;

const option = z.object({
  sync: z.boolean().default(false).describe('True: wait for the request.'),
  uri: z
    .string()
    .max(2048)
    .regex(/^https?:\/\//i)
    .describe('An http or https address.'),
  method: z.enum(['POST', 'GET', 'PUT', 'DELETE']).default('POST').describe('HTTP method.'),
  data_type: z.string().max(255).default('').describe('Content-Type.'),
  data: z.string().default('').describe('Body.'),
});

/** True when delivered: any status below 500 counts. */
const attempt = async (context: ActionContext, request: HttpRequest): Promise<boolean> => {
  try {
    const { status } = await context.ports.sendHttp(request);
    if (status >= 500) context.log.warn({ ...about(context), status }, 'webhook_send was refused');
    return status < 500;
  } catch (error) {
    context.log.warn({ ...about(context), reason: String(error) }, 'webhook_send failed');
    return false;
  }
};

const about = ({ activeflow, action }: ActionContext) => ({ activeflow_id: activeflow.id, action_id: action.id });

/** Up to three attempts, a second apart, on transport errors and 5xx (voice-and-flows 6.6). Never rejects. */
const deliver = async (context: ActionContext, request: HttpRequest): Promise<void> => {
  for (let left = ATTEMPTS; left > 0 && !request.signal.aborted; left -= 1) {
    if (await attempt(context, request)) return;
    if (left > 1) await pause(context.ports.clock, BETWEEN_MS, request.signal);
  }
};

export const webhookSend = defineAction({
  type: 'webhook_send',
  summary: 'Sends an HTTP request.',
  needs: 'any',
  onError: 'next',
  option,
  async run(context, { sync, ...given }) {
    // In the background it outlives the flow, which often ends right after it.
    const signal = sync ? context.signal : new AbortController().signal;
    const { customer_id } = context.activeflow;
    const delivery = deliver(context, { ...given, customer_id, timeout_ms: TIMEOUT_MS, signal });
    if (sync) await delivery;
    return next;
  },
});
