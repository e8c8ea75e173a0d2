import { z } from 'zod';
import { defineAction, next } from '../action.ts';
import { pause } from '../pause.ts';
import { milliseconds } from './options.ts';

export const sleep = defineAction({
  type: 'sleep',
  summary: 'Waits.',
  needs: 'call',
  onError: 'next',
  option: z.object({ duration: milliseconds }),
  async run({ ports, signal }, { duration }) {
    if (duration > 0) await pause(ports.clock, duration, signal);
    return next;
  },
});
