import type { ApiCommand } from '../api-command.ts';
import { noChannel, wordsOf } from '../api-command.ts';
import type { Channel } from '../channel.ts';
import { addTrack, factorOfDecibels, playOnTrack, removeTrack, silenceTrack } from '../dub-tracks.ts';

const usage = '-USAGE: <uuid> addTrack|removeTrack|silenceTrack|playOnTrack|sayOnTrack|setGain …\n';
const done = '+OK Success\n';
const failed = '-ERR Operation Failed\n';

/**
 * `uuid_dub ^^|<uuid>|addTrack|<track>`, `removeTrack`, `silenceTrack`, `playOnTrack|<track>|<file>|loop or once[|<decibels>]`,
 * `sayOnTrack|<track>|<text>|…`: sounds beside whatever the party hears. `uuid_dub <uuid> setGain <decibels>`: how loud the rest is.
 */
export const uuidDub: ApiCommand = {
  name: 'uuid_dub',
  run: (core, args) => {
    const [uuid = '', action = '', ...rest] = args.startsWith('^^|') ? args.slice(3).split('|') : wordsOf(args);
    if (action === '') return usage;
    const channel = core.channels.get(uuid);
    if (!channel || channel.hangupCause !== null) return noChannel;
    return run(channel, action, rest);
  },
};

function run(channel: Channel, action: string, [track = '', ...rest]: string[]): string | Promise<string> {
  const answer = (well: boolean): string => (well ? done : failed);
  const decibels = Number(track);
  if (action === 'setGain') {
    if (!Number.isFinite(decibels)) return usage;
    channel.leg.gain.base = factorOfDecibels(decibels);
    return done;
  }
  if (track === '' || track.length > 128) return usage;
  if (action === 'addTrack') return answer(addTrack(channel, track));
  if (action === 'removeTrack') return answer(removeTrack(channel, track));
  if (action === 'silenceTrack') return answer(silenceTrack(channel, track));
  const [what = '', how = 'once', gain = '0'] = rest;
  if ((action !== 'playOnTrack' && action !== 'sayOnTrack') || what === '') return usage;
  const play = action === 'sayOnTrack' ? { say: what } : what;
  return playOnTrack(channel, track, { play, loop: how === 'loop', gain: Number.parseFloat(gain) || 0 }).then(answer);
}
