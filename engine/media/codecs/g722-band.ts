/**
 * One sub-band of ITU-T G.722: the adaptive quantizer's scale and the predictor with two poles and six zeros, which
 * encoder and decoder keep alike. All arithmetic is that of 16-bit registers (clauses 3.3 to 3.6).
 */

const steps = [
  2048, 2093, 2139, 2186, 2233, 2282, 2332, 2383, 2435, 2489, 2543, 2599, 2656, 2714, 2774, 2834, 2896, 2960, 3025,
  3091, 3158, 3228, 3298, 3371, 3444, 3520, 3597, 3676, 3756, 3838, 3922, 4008,
];

/** Keeps a value within 16 bits. */
export function saturate16(value: number): number {
  return value > 32767 ? 32767 : value < -32768 ? -32768 : value;
}

/** What differs between the lower and the higher band. */
export interface BandShape {
  /** Inverse quantizer of the adaptation: code to multiplier. */
  quantizer: readonly number[];
  /** Change of the logarithmic scale by code. */
  scaleSteps: readonly number[];
  maxScale: number;
  /** Shift of the scale at its base. */
  shift: number;
  initialScale: number;
}

/** Adaptive quantizer and predictor of one band (ITU-T G.722 section 3), which coder and decoder run alike. */
export class Band {
  /** Quantizer step. */
  scale: number;
  /** The prediction of the next sample. */
  prediction = 0;
  readonly #shape: BandShape;
  #logScale = 0;
  #zeroPart = 0;
  #reconstructed = 0;
  #pole1 = 0;
  #pole2 = 0;
  #partial1 = 0;
  #partial2 = 0;
  readonly #zeros = new Int32Array(6);
  readonly #differences = new Int32Array(6);

  constructor(shape: BandShape) {
    this.#shape = shape;
    this.scale = shape.initialScale;
  }

  /** Takes the code of one sample, as both sides know it, and predicts the next. Gives the quantized difference. */
  adapt(code: number): number {
    const difference = (this.scale * (this.#shape.quantizer[code] ?? 0)) >> 15;
    this.#rescale(code);
    this.#predict(difference);
    return difference;
  }

  /** Blocks LOGSCL and SCALEL (or LOGSCH and SCALEH). */
  #rescale(code: number): void {
    const { scaleSteps, maxScale, shift } = this.#shape;
    const next = ((this.#logScale * 127) >> 7) + (scaleSteps[code] ?? 0);
    this.#logScale = next < 0 ? 0 : next > maxScale ? maxScale : next;
    const step = steps[(this.#logScale >> 6) & 31] ?? 0;
    const down = shift - (this.#logScale >> 11);
    this.scale = (down < 0 ? step << -down : step >> down) << 2;
  }

  #predict(difference: number): void {
    const partial = saturate16(this.#zeroPart + difference);
    const before = this.#reconstructed;
    this.#reconstructed = saturate16(this.prediction + difference);
    this.#adaptPoles(partial);
    this.#adaptZeros(difference);
    this.#partial2 = this.#partial1;
    this.#partial1 = partial;
    const pole1 = (this.#pole1 * saturate16(2 * this.#reconstructed)) >> 15;
    const pole2 = (this.#pole2 * saturate16(2 * before)) >> 15;
    this.prediction = saturate16(saturate16(pole1 + pole2) + this.#zeroPart);
  }

  /** Blocks UPPOL2 and UPPOL1. */
  #adaptPoles(partial: number): void {
    const sameAsLast = partial < 0 === this.#partial1 < 0;
    const sameAsBefore = partial < 0 === this.#partial2 < 0;
    const quadruple = saturate16(this.#pole1 << 2);
    const turned = sameAsLast ? Math.min(32767, -quadruple) : quadruple;
    const second = (turned >> 7) + (sameAsBefore ? 128 : -128) + ((this.#pole2 * 32512) >> 15);
    this.#pole2 = second > 12288 ? 12288 : second < -12288 ? -12288 : second;
    const limit = 15360 - this.#pole2;
    const first = saturate16((sameAsLast ? 192 : -192) + ((this.#pole1 * 32640) >> 15));
    this.#pole1 = first > limit ? limit : first < -limit ? -limit : first;
  }

  /** Blocks UPZERO, DELAYA and FILTEZ. */
  #adaptZeros(difference: number): void {
    const zeros = this.#zeros;
    const differences = this.#differences;
    const gain = difference === 0 ? 0 : 128;
    for (let i = 5; i >= 0; i--) {
      const same = (differences[i] ?? 0) < 0 === difference < 0;
      zeros[i] = saturate16((same ? gain : -gain) + (((zeros[i] ?? 0) * 32640) >> 15));
      differences[i] = i === 0 ? difference : (differences[i - 1] ?? 0);
    }
    let sum = 0;
    for (let i = 5; i >= 0; i--) sum += ((zeros[i] ?? 0) * saturate16(2 * (differences[i] ?? 0))) >> 15;
    this.#zeroPart = saturate16(sum);
  }
}

/** The lower band, whose adaptation sees the upper four of its six bits. */
export const lowerBand: BandShape = {
  quantizer: [0, -20456, -12896, -8968, -6288, -4240, -2584, -1200, 20456, 12896, 8968, 6288, 4240, 2584, 1200, 0],
  scaleSteps: [-60, 3042, 1198, 538, 334, 172, 58, -30, 3042, 1198, 538, 334, 172, 58, -30, -60],
  maxScale: 18432,
  shift: 8,
  initialScale: 32,
};

/** The higher band, of two bits. */
export const higherBand: BandShape = {
  quantizer: [-7408, -1616, 7408, 1616],
  scaleSteps: [798, -214, 798, -214],
  maxScale: 22528,
  shift: 10,
  initialScale: 8,
};
