import type { FrameSource } from '../media/audio-leg.ts';
import { LoopingSource } from '../media/sources/looping-source.ts';
import { openSource } from '../media/sources/open-source.ts';
import { amplify } from '../media/tones.ts';
import type { Channel } from './channel.ts';
import { fetchSound } from './sound-cache.ts';
import { synthesize } from './speech.ts';

/** What a track plays. */
export interface TrackSound {
  /** A file, tone or http address; or words to be read aloud. */
  play: string | { say: string };
  loop: boolean;
  /** Decibels. */
  gain: number;
}

const most = 8;
const maxGain = 40;

/** The tracks of each channel, by name: the function ends what plays; null on an empty track. */
const all = new WeakMap<Channel, Map<string, (() => void) | null>>();

/** What samples are multiplied by for a gain in decibels, which is kept within ±40 dB. */
export function factorOfDecibels(decibels: number): number {
  return 10 ** (Math.max(-maxGain, Math.min(maxGain, decibels)) / 20);
}

/** A new track for sounds beside whatever the party hears; false when there are too many. */
export function addTrack(channel: Channel, name: string): boolean {
  const tracks = all.get(channel) ?? new Map<string, (() => void) | null>();
  all.set(channel, tracks);
  if (!tracks.has(name) && tracks.size >= most) return false;
  if (!tracks.has(name)) tracks.set(name, null);
  return true;
}

/** Ends what plays on a track; false when there is no such track. */
export function silenceTrack(channel: Channel, name: string): boolean {
  const tracks = all.get(channel);
  if (!tracks?.has(name)) return false;
  tracks.get(name)?.();
  tracks.set(name, null);
  return true;
}

/** Ends a track; false when there is none. */
export function removeTrack(channel: Channel, name: string): boolean {
  return silenceTrack(channel, name) && (all.get(channel)?.delete(name) ?? false);
}

/** Plays on a track, in place of what plays there; false when there is no such track or no such sound. */
export async function playOnTrack(channel: Channel, name: string, sound: TrackSound): Promise<boolean> {
  if (!all.get(channel)?.has(name)) return false;
  const open = () => openSound(channel, sound.play);
  const first = await open().catch(() => null); // every reason is the same to the client
  if (!first || channel.hangupCause !== null || !silenceTrack(channel, name)) return false;
  const source = sound.loop ? new LoopingSource(first, open) : first;
  const factor = factorOfDecibels(sound.gain);
  const voice = { read: (frame: Int16Array) => source.read(frame) && (amplify(frame, frame, factor), true) };
  all.get(channel)?.set(name, channel.leg.addOverlay(voice));
  return true;
}

async function openSound({ core, leg: { rate } }: Channel, play: TrackSound['play']): Promise<FrameSource> {
  const { soundsDir, cacheDir } = core.options;
  if (typeof play === 'string')
    return openSource(/^https?:\/\//i.test(play) ? await fetchSound(play, cacheDir) : play, { soundsDir, rate });
  const spoken = await synthesize({ engine: 'flite', voice: 'slt', text: play.say, cacheDir });
  if (spoken === null) throw new Error('no speech engine is installed');
  return openSource(spoken, { soundsDir, rate });
}
