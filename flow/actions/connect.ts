import { z } from 'zod';
import { defineAction, next } from '../action.ts';
import { callOf } from './on-call.ts';
import { anonymous, destinations, source } from './options.ts';

export const connect = defineAction({
  type: 'connect',
  summary: 'Calls others, bridges the first who answers to this call and waits until they part.',
  needs: 'call',
  onError: 'stop',
  option: z.object({
    source,
    destinations,
    early_media: z.boolean().default(false).describe('True: the caller hears the ringing side before the answer.'),
    relay_reason: z.boolean().default(false).describe('True: hang up afterwards as the other side did.'),
    anonymous,
  }),
  async run(context, given) {
    if (given.destinations.length === 0) throw new Error('there is nobody to connect to');
    const released = await callOf(context).connect({ ...given, source: given.source }, context.signal);
    return released ? { kind: 'finish' } : next;
  },
});
