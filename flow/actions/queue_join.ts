import { z } from 'zod';
import { reference } from './options.ts';
import { defineUnavailable } from './unavailable.ts';

export const queueJoin = defineUnavailable({
  type: 'queue_join',
  summary: 'Waits in a queue for an agent, talks, and goes on when that is over.',
  needs: 'call',
  onError: 'stop',
  option: z.object({ queue_id: reference('The queue.') }),
});
