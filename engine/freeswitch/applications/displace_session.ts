import type { Application } from '../application.ts';
import { immediate, none, splitArguments } from '../application.ts';
import { displace, endDisplacement } from '../displacement.ts';

/** `displace_session <file> [<flags: l loop, m mix>] [+<limit seconds>]`: completes as soon as the party hears it. */
export const displaceSession: Application = {
  name: 'displace_session',
  run: async ({ channel, data }) => {
    const [file = '', ...options] = splitArguments(data);
    const limit = Number(options.find(one => one.startsWith('+')) ?? 0) || 0;
    const flags = options.find(one => !one.startsWith('+')) ?? '';
    return (await displace(channel, file, limit, flags)) ? none : `-ERR ${file} cannot displace the audio`;
  },
};

/** `stop_displace_session <file>`. */
export const stopDisplaceSession: Application = immediate('stop_displace_session', ({ channel, data }) => {
  endDisplacement(channel, splitArguments(data)[0] ?? '');
});
