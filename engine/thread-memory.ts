/** What a thread keeps. */
export interface ThreadMemory {
  heap_mb: number;
  /** Outside the heap: sound, packets, strings on their way. */
  buffers_mb: number;
}

/** What this thread keeps now; where node runs with `--expose-gc`, without what is garbage already. */
export function threadMemory(): ThreadMemory {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return { heap_mb: inMb(heapUsed), buffers_mb: inMb(external) };
}

/** Rounded to a tenth. */
const inMb = (bytes: number): number => Math.round((10 * bytes) / 2 ** 20) / 10;
