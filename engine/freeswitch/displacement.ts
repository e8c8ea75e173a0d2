import { LoopingSource } from '../media/sources/looping-source.ts';
import { openSource } from '../media/sources/open-source.ts';
import type { Channel } from './channel.ts';

/** One channel cannot collect displacements without end. */
const most = 16;

/** What displaces the audio of each channel now, by file. */
const displaced = new WeakMap<Channel, Map<string, () => void>>();

function displacementsOf(channel: Channel): Map<string, () => void> {
  const known = displaced.get(channel) ?? new Map<string, () => void>();
  displaced.set(channel, known);
  return known;
}

/**
 * Opens the file and lets the party hear it in place of everything else; flag `m` mixes the two, `l` plays it again and
 * again. False when it cannot be played, plays already or too many do.
 */
export async function displace(channel: Channel, file: string, limitSeconds: number, flags: string): Promise<boolean> {
  const running = displacementsOf(channel);
  if (running.has(file) || running.size >= most) return false;
  running.set(file, () => undefined); // taken while it is being opened
  const { soundsDir } = channel.core.options;
  const open = () => openSource(file, { soundsDir, rate: channel.leg.rate });
  const first = await open().catch(() => null); // every reason is the same to the client
  if (!first || channel.hangupCause !== null || !running.has(file)) {
    running.delete(file);
    return false;
  }
  const source = flags.includes('l') ? new LoopingSource(first, open) : first;
  let frames = limitSeconds > 0 ? limitSeconds * 50 : Infinity;
  const voice = { read: (frame: Int16Array) => (frames-- > 0 && source.read(frame)) || !running.delete(file) };
  const end = flags.includes('m') ? channel.leg.addOverlay(voice) : channel.leg.addReplacement(voice);
  running.set(file, end);
  return true;
}

/** Ends the displacement by a file; false when there is none. */
export function endDisplacement(channel: Channel, file: string): boolean {
  const running = displacementsOf(channel);
  const end = running.get(file);
  running.delete(file);
  end?.();
  return end !== undefined;
}
