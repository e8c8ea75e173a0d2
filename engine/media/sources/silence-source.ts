import type { SampleReader } from './source.ts';
import { FileNotFoundError } from './source.ts';

const maxMs = 86_400_000;

/** Silence for `silence_stream://<ms>[,noise]`, without end for -1. The comfort noise option is accepted and stays silent. */
export function silenceReader(spec: string, rate: number): SampleReader {
  const ms = /^(-1|\d{1,9})(,-?\d+)?$/.exec(spec)?.[1];
  if (ms === undefined) throw new FileNotFoundError(`silence_stream://${spec}`, 'is no duration in milliseconds');
  if (ms === '-1') return endless;
  let left = (Math.min(Number(ms), maxMs) * rate) / 1000;
  const pull = (out: Int16Array, from: number): number => {
    const count = Math.min(left, out.length - from);
    out.fill(0, from, from + count);
    left -= count;
    return count;
  };
  return { pull, length: left };
}

const endless: SampleReader = {
  pull: (out, from) => {
    out.fill(0, from);
    return out.length - from;
  },
};
