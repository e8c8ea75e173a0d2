import type { EslHeaders } from '../esl/encode.ts';
import type { Beep } from '../media/beep-detector.ts';
import { BeepDetector } from '../media/beep-detector.ts';
import type { Channel } from './channel.ts';

interface Watch {
  startedAt: number;
  detected: boolean;
  end: () => void;
}

const watched = new WeakMap<Channel, Watch>();

/** Microseconds since 1970, as the events show times. */
const now = (): number => Math.round((performance.timeOrigin + performance.now()) * 1000);

/** Listens to what the party says for the beep of an answering machine, until it has heard one; false when it does already. */
export function startAvmd(channel: Channel): boolean {
  if (watched.has(channel)) return false;
  const watch: Watch = { startedAt: now(), detected: false, end: () => undefined };
  const detector = new BeepDetector(beep => {
    if (watch.detected) return;
    watch.detected = true;
    watch.end();
    found(channel, watch, beep);
  });
  watch.end = channel.leg.addTap({ frame: said => detector.push(said) });
  watched.set(channel, watch);
  raise(channel, 'start', { 'Start-time': String(watch.startedAt) });
  return true;
}

/** Ends it; false when nobody listens. */
export function stopAvmd(channel: Channel): boolean {
  const watch = watched.get(channel);
  if (!watch) return false;
  watched.delete(channel);
  watch.end();
  raise(channel, 'stop', {
    'Beep-Status': watch.detected ? 'DETECTED' : 'NOTDETECTED',
    'Total-time': String(now() - watch.startedAt),
  });
  return true;
}

function found(channel: Channel, { startedAt }: Watch, beep: Beep): void {
  const took = now() - startedAt;
  channel.set('avmd_total_time', `[${Math.floor(took / 1000)}]`);
  channel.set('avmd_detect', 'TRUE');
  raise(channel, 'beep', {
    'Beep-Status': 'DETECTED',
    Frequency: beep.frequency.toFixed(6),
    'Frequency-variance': beep.frequencyVariance.toFixed(6),
    Amplitude: beep.amplitude.toFixed(6),
    'Amplitude-variance': beep.amplitudeVariance.toFixed(6),
    'Detection-time': String(took),
    'Detector-resolution': '1',
    'Detector-offset': '0',
    'Detector-index': '0',
  });
}

function raise(channel: Channel, name: string, headers: EslHeaders): void {
  channel.core.raiseCustomFor(channel, `avmd::${name}`, undefined, { 'Call-command': 'avmd', ...headers });
}
