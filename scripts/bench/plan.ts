/** What the called flow and the bare script play: loud from its first sample. */
export const BENCH_TONE = 'tone_stream://%(10000,0,1000)';

/** How much is measured; small enough for two cores and a few minutes. */
export const PLAN = {
  warmup: 10,
  /** Calls for each latency figure and system. */
  calls: 100,
  /** Seconds of load for each rate. */
  load_s: 10,
  /** Calls in the air at once under load. */
  concurrency: 24,
} as const;
