import { tickMs } from '../media/clock.ts';
import { defaultEnergy } from './conference/talk-detector.ts';
import type { Channel } from './channel.ts';

/** How somebody wants to be told that the party talks. */
export interface VoiceRequest {
  /** Told back with every event. */
  name: string;
  /** Ends with the first event. */
  once: boolean;
  /** So long a talk begins it, so long a silence ends it. */
  voiceMs: number;
  silenceMs: number;
}

const most = 8;

const running = new WeakMap<Channel, Map<string, () => void>>();

/** Tells by `vad_detect:detection` when the party begins and stops to talk. False when that name listens already, or too many do. */
export function detectVoice(channel: Channel, { name, once, voiceMs, silenceMs }: VoiceRequest): boolean {
  const listening = running.get(channel) ?? new Map<string, () => void>();
  running.set(channel, listening);
  if (listening.has(name) || listening.size >= most) return false;
  let [talking, forMs] = [false, 0];
  const leave = channel.leg.addTap({
    frame: said => {
      forMs = loud(said) === talking ? 0 : forMs + tickMs;
      if (forMs < (talking ? silenceMs : voiceMs)) return;
      [talking, forMs] = [!talking, 0];
      if (once) endVoiceDetection(channel, name);
      const what = talking ? 'start_talking' : 'stop_talking';
      channel.core.raiseCustomFor(channel, 'vad_detect:detection', undefined, {
        'detected-event': what,
        'media-bugname': name,
      });
    },
  });
  listening.set(name, leave);
  return true;
}

/** Ends it; false when nobody listens by that name. */
export function endVoiceDetection(channel: Channel, name: string): boolean {
  running.get(channel)?.get(name)?.();
  return running.get(channel)?.delete(name) ?? false;
}

function loud(frame: Int16Array): boolean {
  let sum = 0;
  for (const sample of frame) sum += sample < 0 ? -sample : sample;
  return sum > defaultEnergy * frame.length;
}
