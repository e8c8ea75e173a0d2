import { tickMs } from '../media/clock.ts';
import { ToneDetector } from '../media/tones.ts';
import type { Channel } from './channel.ts';

/** What is waited for on a channel. */
export interface ToneRequest {
  key: string;
  /** Frequencies in Hz that are heard together. */
  frequencies: number[];
  side: 'said' | 'heard';
  /** Given up after so many milliseconds; null never. */
  withinMs: number | null;
  /** The tone is told when it has been heard so often. */
  hits: number;
  /** Run when it is told; null for nothing. */
  application: { name: string; data: string } | null;
}

const most = 16;
const leastMs = 100;

const waiting = new WeakMap<Channel, Map<string, () => void>>();

/**
 * Listens for tones beside whatever runs, and tells them once by DETECTED_TONE under their key. A key that is waited for
 * already begins anew. False when there are too many.
 */
export function detectTone(channel: Channel, request: ToneRequest): boolean {
  const keys = waiting.get(channel) ?? new Map<string, () => void>();
  waiting.set(channel, keys);
  keys.get(request.key)?.();
  if (keys.size >= most) return false;
  let hits = 0;
  let framesLeft = request.withinMs === null ? Infinity : request.withinMs / tickMs;
  const detector = new ToneDetector(request.frequencies, leastMs, () => {
    hits += 1;
    if (hits < request.hits) return;
    end();
    told(channel, request);
  });
  const leave = channel.leg.addTap({
    frame: (said, heard) => {
      detector.push(request.side === 'said' ? said : heard);
      if (--framesLeft <= 0) end();
    },
  });
  const end = (): void => {
    leave();
    keys.delete(request.key);
  };
  keys.set(request.key, end);
  return true;
}

/** Stops listening for any tone. */
export function endToneDetection(channel: Channel): void {
  for (const end of waiting.get(channel)?.values() ?? []) end();
}

function told(channel: Channel, { key, application }: ToneRequest): void {
  channel.raise('DETECTED_TONE', { 'Detected-Tone': key }, false);
  if (application) channel.execute(application.name, application.data);
}
