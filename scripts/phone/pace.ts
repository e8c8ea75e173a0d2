import { performance } from 'node:perf_hooks';

const PERIOD_MS = 20;
/** After a longer stop of the process the lost time is skipped, not caught up in one burst. */
const MOST_BEHIND_MS = 200;

const beats = new Set<() => void>();
let timer: NodeJS.Timeout | undefined;
let due = 0;

/**
 * Calls back every 20 ms, on average exactly, however late single timers fire. One clock serves all
 * calls of the process. Returns what ends it.
 */
export function everyTwentyMs(beat: () => void): () => void {
  beats.add(beat);
  if (timer === undefined) {
    due = performance.now() + PERIOD_MS;
    timer = setTimeout(tick, PERIOD_MS);
  }
  return () => beats.delete(beat);
}

function tick(): void {
  const now = performance.now();
  if (now - due > MOST_BEHIND_MS) due = now;
  for (; due <= now; due += PERIOD_MS) {
    for (const beat of beats) beat();
  }
  timer = beats.size === 0 ? undefined : setTimeout(tick, Math.max(1, due - performance.now()));
}
