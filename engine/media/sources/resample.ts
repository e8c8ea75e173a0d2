const zeroCrossings = 12;
const maxPhases = 512;
const maxKernels = 16;

/** A low-pass filter cut into phases: weight `phases[p][t]` belongs to input sample `floor(position) + t - half + 1`. */
export interface Kernel {
  phases: Float32Array[];
  half: number;
}

const kernels = new Map<string, Kernel>();

/**
 * The filter that brings `rate` to `target`: a windowed sinc that ends below half of the slower rate,
 * so that nothing folds back. Kept per pair of rates.
 */
export function kernelFor(rate: number, target: number): Kernel {
  const key = `${rate} ${target}`;
  const known = kernels.get(key);
  if (known) return known;
  const made = makeKernel(rate, target);
  if (kernels.size >= maxKernels) kernels.clear();
  kernels.set(key, made);
  return made;
}

function makeKernel(rate: number, target: number): Kernel {
  const cutoff = (0.92 * Math.min(1, target / rate)) / 2;
  const half = Math.ceil(zeroCrossings / (2 * cutoff));
  const count = Math.min(maxPhases, target / greatestDivisor(rate, target));
  return { phases: Array.from({ length: count }, (_, phase) => makePhase(phase / count, half, cutoff)), half };
}

function makePhase(fraction: number, half: number, cutoff: number): Float32Array {
  const weights = Float32Array.from({ length: 2 * half }, (_, tap) => weight(tap - half + 1 - fraction, half, cutoff));
  const sum = weights.reduce((total, one) => total + one, 0);
  return weights.map(one => one / sum);
}

/** A sinc under a Blackman window. */
function weight(x: number, half: number, cutoff: number): number {
  if (Math.abs(x) >= half) return 0;
  const angle = 2 * Math.PI * cutoff * x;
  const sinc = angle === 0 ? 1 : Math.sin(angle) / angle;
  const window = 0.42 + 0.5 * Math.cos((Math.PI * x) / half) + 0.08 * Math.cos((2 * Math.PI * x) / half);
  return sinc * window;
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

/** Input samples that are read at once: each is asked for once or twice, however many output samples it is part of. */
const portion = 2048;

/** Reads material of any rate at another, a portion at a time. */
export class Resampler {
  readonly #kernel: Kernel;
  readonly #rate: number;
  readonly #target: number;
  readonly #sampleAt: (index: number) => number;
  /** Input samples from `#from` on. */
  readonly #input: Float32Array;
  #from = NaN;

  /** `sampleAt` gives the input sample of an index; 0 outside of the material. */
  constructor(rate: number, target: number, sampleAt: (index: number) => number) {
    this.#kernel = kernelFor(rate, target);
    this.#rate = rate;
    this.#target = target;
    this.#sampleAt = sampleAt;
    this.#input = new Float32Array(portion + 2 * this.#kernel.half);
  }

  /** The output sample of this index. */
  at(index: number): number {
    const { phases, half } = this.#kernel;
    const position = (index * this.#rate) / this.#target;
    let whole = Math.floor(position);
    let phase = Math.round((position - whole) * phases.length);
    if (phase === phases.length) {
      phase = 0;
      whole += 1;
    }
    const weights = phases[phase];
    const first = this.#reach(whole - half + 1);
    let sum = 0;
    if (weights)
      for (let tap = 0; tap < weights.length; tap++) sum += (weights[tap] ?? 0) * (this.#input[first + tap] ?? 0);
    return Math.round(sum);
  }

  /** Has the input from this index on, as much as an output sample needs; where that begins. */
  #reach(index: number): number {
    const at = index - this.#from;
    if (at >= 0 && at < portion) return at;
    for (let i = 0; i < this.#input.length; i++) this.#input[i] = this.#sampleAt(index + i);
    this.#from = index;
    return 0;
  }
}
