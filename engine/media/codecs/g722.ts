import { wideRate } from '../clock.ts';
import type { AudioCodec, Decoder, Encoder } from './codec.ts';
import { Band, higherBand, lowerBand, saturate16 } from './g722-band.ts';

/** The 24 weights of the quadrature mirror filters; the second half mirrors the first (ITU-T G.722 table 4). */
const mirror = [3, -11, 12, 32, -210, 951, 3876, -805, 362, -156, 53, -11];
const span = 24;

/** Inverse quantizer of the lower band's six bits. */
const fineQuantizer = [
  -136, -136, -136, -136, -24808, -21904, -19008, -16704, -14984, -13512, -12280, -11192, -10232, -9360, -8576, -7856,
  -7192, -6576, -6000, -5456, -4944, -4464, -4008, -3576, -3168, -2776, -2400, -2032, -1688, -1360, -1040, -728, 24808,
  21904, 19008, 16704, 14984, 13512, 12280, 11192, 10232, 9360, 8576, 7856, 7192, 6576, 6000, 5456, 4944, 4464, 4008,
  3576, 3168, 2776, 2400, 2032, 1688, 1360, 1040, 728, 432, 136, -432, -136,
];
/** Decision levels of the lower band's quantizer. */
const levels = [
  35, 72, 110, 150, 190, 233, 276, 323, 370, 422, 473, 530, 587, 650, 714, 786, 858, 940, 1023, 1121, 1219, 1339, 1458,
  1612, 1765, 1980, 2195, 2557, 2919,
];
const higherLevel = 564;

/** G.722 at 64 kbit/s: bytes to samples at 16 kHz, two a byte. */
export class G722Decoder implements Decoder {
  #lower = new Band(lowerBand);
  #higher = new Band(higherBand);
  readonly #history = new Int32Array(span);

  restart(): void {
    this.#lower = new Band(lowerBand);
    this.#higher = new Band(higherBand);
    this.#history.fill(0);
  }

  /** Writes two samples for every byte of `[from, to)` to the start of `samples`. */
  decode(bytes: Uint8Array, from: number, to: number, samples: Int16Array): number {
    for (let at = from, written = 0; at < to; at++, written += 2) this.#byte(bytes[at] ?? 0, samples, written);
    return 2 * (to - from);
  }

  #byte(code: number, out: Int16Array, at: number): void {
    const low = code & 0x3f;
    const high = code >> 6;
    const lower = limit(this.#lower.prediction + ((this.#lower.scale * (fineQuantizer[low] ?? 0)) >> 15));
    this.#lower.adapt(low >> 2);
    const predicted = this.#higher.prediction;
    const higher = limit(predicted + this.#higher.adapt(high));
    this.#join(lower, higher, out, at);
  }

  /** The receive filter: two bands become two samples. */
  #join(lower: number, higher: number, out: Int16Array, at: number): void {
    const history = this.#history;
    history.copyWithin(0, 2);
    history[span - 2] = lower + higher;
    history[span - 1] = lower - higher;
    let first = 0;
    let second = 0;
    for (let i = 0; i < 12; i++) {
      second += (history[2 * i] ?? 0) * (mirror[i] ?? 0);
      first += (history[2 * i + 1] ?? 0) * (mirror[11 - i] ?? 0);
    }
    out[at] = saturate16(first >> 11);
    out[at + 1] = saturate16(second >> 11);
  }
}

/** G.722 at 64 kbit/s: samples at 16 kHz to bytes. */
export class G722Encoder implements Encoder {
  readonly #lower = new Band(lowerBand);
  readonly #higher = new Band(higherBand);
  readonly #history = new Int32Array(span);

  /** Takes `count` samples, an even number, from `from` on and writes half as many bytes from `to` on. */
  encode(samples: Int16Array, from: number, count: number, bytes: Uint8Array, to: number): number {
    for (let i = 0; i + 1 < count; i += 2)
      bytes[to + i / 2] = this.#pair(samples[from + i] ?? 0, samples[from + i + 1] ?? 0);
    return count / 2;
  }

  /** The transmit filter, then both bands. */
  #pair(first: number, second: number): number {
    const history = this.#history;
    history.copyWithin(0, 2);
    history[span - 2] = first;
    history[span - 1] = second;
    let odd = 0;
    let even = 0;
    for (let i = 0; i < 12; i++) {
      odd += (history[2 * i] ?? 0) * (mirror[i] ?? 0);
      even += (history[2 * i + 1] ?? 0) * (mirror[11 - i] ?? 0);
    }
    return (this.#highCode((even - odd) >> 14) << 6) | this.#lowCode((even + odd) >> 14);
  }

  #lowCode(sample: number): number {
    const error = saturate16(sample - this.#lower.prediction);
    const size = error < 0 ? -(error + 1) : error;
    let step = 0;
    while (step < levels.length && size >= ((levels[step] ?? 0) * this.#lower.scale) >> 12) step += 1;
    const code = lowCodeOf(step, error < 0);
    this.#lower.adapt(code >> 2);
    return code;
  }

  #highCode(sample: number): number {
    const error = saturate16(sample - this.#higher.prediction);
    const size = error < 0 ? -(error + 1) : error;
    const large = size >= (higherLevel * this.#higher.scale) >> 12;
    const code = error < 0 ? (large ? 0 : 1) : large ? 2 : 3;
    this.#higher.adapt(code);
    return code;
  }
}

/** The six bits of the n-th interval of the quantizer, counted from zero outwards (table 16). */
function lowCodeOf(interval: number, negative: boolean): number {
  if (!negative) return 61 - interval;
  return interval < 2 ? 63 - interval : 33 - interval;
}

function limit(value: number): number {
  return value > 16383 ? 16383 : value < -16384 ? -16384 : value;
}

/** G.722. Its RTP clock runs at 8 kHz although it samples at 16 kHz (RFC 3551 section 4.5.2). */
export const g722: AudioCodec<'G722'> = {
  name: 'G722',
  payloadType: 9,
  isStatic: true,
  clock: 8000,
  rate: wideRate,
  toldRate: wideRate,
  channels: 1,
  fmtp: null,
  packetTimes: [10, 20, 30, 40, 50, 60, 80, 100, 120],
  openDecoder: () => new G722Decoder(),
  openEncoder: () => new G722Encoder(),
};
