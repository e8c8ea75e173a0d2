import { z } from 'zod';
import { healthSchema } from '../health.ts';
import { defineRoute, Reply, type Route } from './route.ts';

const ping = defineRoute({
  method: 'get',
  path: '/ping',
  surface: 'root',
  operation_id: 'ping',
  summary: 'Tell that the process answers',
  tag: 'Health',
  permission: 'public',
  response: z.object({ message: z.literal('pong') }),
  handle: async () => ({ message: 'pong' as const }),
});

const health = defineRoute({
  method: 'get',
  path: '/health',
  surface: 'root',
  operation_id: 'health',
  summary: 'Tell the state of every part; 503 while one is down',
  tag: 'Health',
  permission: 'public',
  response: healthSchema,
  failures: { 503: healthSchema },
  async handle({ context }) {
    const state = await context.health();
    return new Reply(state.status === 'ok' ? 200 : 503, state);
  },
});

export const probeRoutes: Route[] = [ping, health];
