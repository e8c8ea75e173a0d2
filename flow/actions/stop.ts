import { defineAction } from '../action.ts';
import { nothing } from './options.ts';

export const stop = defineAction({
  type: 'stop',
  summary: 'Ends the flow, and with it the call.',
  needs: 'any',
  onError: 'stop',
  option: nothing,
  async run() {
    return { kind: 'finish' };
  },
});
