import { defineAction } from '../action.ts';
import { nothing } from './options.ts';

export const block = defineAction({
  type: 'block',
  summary: 'Waits until it is continued from outside.',
  needs: 'any',
  onError: 'next',
  option: nothing,
  async run() {
    return { kind: 'block' };
  },
});
