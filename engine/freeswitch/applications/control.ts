import type { Application } from '../application.ts';
import { immediate, none } from '../application.ts';
import { causeFrom } from '../causes.ts';
import { sendDigits } from '../digits.ts';

/** `hangup [cause]`. Does not wait for the end, which waits for this very application. */
export const hangup: Application = immediate('hangup', ({ channel, data }) => void channel.hangup(causeFrom(data)));

/** `answer`: the channel has been answered long ago. */
export const answer: Application = immediate('answer', () => undefined);

/** `park`: an idle channel is parked already, so it completes at once as in the real server. */
export const park: Application = immediate('park', ({ channel }) => channel.raise('CHANNEL_PARK'));

/** `break`: ends what the application below is doing. */
export const breakApplication: Application = immediate('break', ({ channel, level }) =>
  channel.executions.breakTop(false, level),
);

/** `set_mute read|write true|false`: silence instead of what the caller says, or instead of what the caller hears. */
export const setMute: Application = immediate('set_mute', ({ channel, data }) => {
  const [direction, value] = data.trim().split(/\s+/);
  const on = value === 'true' || Number(value) > 0;
  if (direction === 'read' || direction === 'write') channel.leg.mute(direction, on);
});

/** `send_dtmf <digits>[@<ms>]`: completes at once, the keys follow. */
export const sendDtmf: Application = immediate('send_dtmf', ({ channel, data }) => {
  sendDigits(channel, data);
});

/** `start_dtmf` and `stop_dtmf`: keys are taken from the tones in the audio, too. */
export const startDtmf: Application = immediate('start_dtmf', ({ channel }) => channel.leg.hearTones(true));
export const stopDtmf: Application = immediate('stop_dtmf', ({ channel }) => channel.leg.hearTones(false));

/** `sleep <ms>`. */
export const sleep: Application = {
  name: 'sleep',
  run: async ({ level, data }) => {
    const ms = Number(data.trim());
    if (ms > 0) await level.sleep(Math.min(ms, 86_400_000));
    return none;
  },
};

/** `echo`: the caller hears themselves until a break. */
export const echo: Application = {
  name: 'echo',
  run: async ({ channel, level }) => {
    channel.leg.echo(true);
    await level.wait(() => () => channel.leg.echo(false));
    return none;
  },
};
