import type { AmdVerdict } from '#flow/action';
import type { MediaEndpoint } from '../media/endpoint.ts';
import { AMD, hearAmd, initialAmd, judgeAmd } from './amd.ts';
import { AudioFork } from './fork.ts';
import type { AudioRoad } from './road.ts';

/** Frames that come too slowly must not hold the flow up for ever. */
const PATIENCE_MS = AMD.total + 4000;

const samplesOf = (frame: Buffer): Int16Array =>
  Int16Array.from({ length: frame.length / 2 }, (_, at) => frame.readInt16LE(at * 2));

/**
 * Listens to the party of a leg until it is clear whether a person or a machine answered. `notsure` when the time is
 * over, the flow has stopped or the leg is gone; rejects when the leg cannot be listened to at all.
 */
export const detectMachine = async (
  road: AudioRoad,
  endpoint: MediaEndpoint,
  signal: AbortSignal,
): Promise<AmdVerdict> => {
  const fork = await AudioFork.open(road, endpoint, 'mono');
  try {
    return await listen(fork, AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]));
  } finally {
    void fork.close();
  }
};

const listen = (fork: AudioFork, signal: AbortSignal): Promise<AmdVerdict> =>
  new Promise(resolve => {
    let state = initialAmd;
    const giveUp = () => resolve({ result: 'notsure', confidence: 0 });
    fork.on('frame', frame => {
      state = hearAmd(state, samplesOf(frame));
      const verdict = judgeAmd(state);
      if (verdict) resolve(verdict);
    });
    fork.once('closed', giveUp);
    signal.addEventListener('abort', giveUp, { once: true });
    if (signal.aborted || !fork.open) giveUp();
  });
