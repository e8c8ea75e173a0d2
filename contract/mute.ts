/** Which way a call is muted: `in`: the party no longer hears the other side; `out`: the other side no longer hears it. */
export const MUTE_DIRECTIONS = ['', 'in', 'out', 'both'] as const;
export type MuteDirection = (typeof MUTE_DIRECTIONS)[number];

/** `mute_direction` after a mute was asked for: it replaces what was; empty means both (voice-and-flows 10). */
export const muted = (asked: MuteDirection): MuteDirection => asked || 'both';

/** `mute_direction` after a direction was opened again; empty means both (voice-and-flows 10). */
export const unmuted = (now: MuteDirection, asked: MuteDirection): MuteDirection => {
  if (asked === '' || asked === 'both' || asked === now) return '';
  if (now !== 'both') return now;
  return asked === 'in' ? 'out' : 'in';
};
