import type { SampleReader } from './source.ts';

/** Several readers one after the other, without a gap. */
export function listReader(readers: readonly SampleReader[]): SampleReader {
  let current = 0;
  const pull = (out: Int16Array, from: number): number => {
    let at = from;
    for (; at < out.length && current < readers.length;) {
      at += readers[current]?.pull(out, at) ?? 0;
      if (at < out.length) current += 1;
    }
    return at - from;
  };
  const lengths = readers.map(one => one.length);
  const length = lengths.reduce<number | undefined>(
    (sum, one) => (sum === undefined || one === undefined ? undefined : sum + one),
    0,
  );
  return { pull, length };
}
