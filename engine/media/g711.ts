/** Codecs that a leg can speak. */
export type Codec = 'PCMU' | 'PCMA';

/** Bytes that mean digital silence. */
export const silenceByte: Record<Codec, number> = { PCMU: 0xff, PCMA: 0xd5 };

const bias = 0x84;
const clip = 32635;

/** One µ-law byte as a 16-bit sample (ITU-T G.711). */
function expandMu(byte: number): number {
  const code = ~byte & 0xff;
  const magnitude = (((code & 0x0f) << 3) + bias) << ((code >> 4) & 7);
  return code & 0x80 ? bias - magnitude : magnitude - bias;
}

/** One A-law byte as a 16-bit sample (ITU-T G.711). */
function expandA(byte: number): number {
  const code = byte ^ 0x55;
  const segment = (code >> 4) & 7;
  const mantissa = ((code & 0x0f) << 4) + 8;
  const magnitude = segment === 0 ? mantissa : (mantissa + 0x100) << (segment - 1);
  return code & 0x80 ? magnitude : -magnitude;
}

function compressMu(sample: number): number {
  const sign = sample < 0 ? 0x80 : 0;
  const magnitude = Math.min(Math.abs(sample), clip) + bias;
  const exponent = 24 - Math.clz32(magnitude);
  const mantissa = (magnitude >> (exponent + 3)) & 0x0f;
  return ~(sign | (exponent << 4) | mantissa) & 0xff;
}

function compressA(sample: number): number {
  const sign = sample >= 0 ? 0x80 : 0;
  const magnitude = sample >= 0 ? Math.min(sample, 32767) : -sample - 1;
  const segment = magnitude < 256 ? 0 : 24 - Math.clz32(magnitude);
  const mantissa = segment === 0 ? magnitude >> 4 : magnitude >> (segment + 3);
  return (sign | (segment << 4) | (mantissa & 0x0f)) ^ 0x55;
}

/** The two directions of each codec as tables: byte to sample, and sample + 32768 to byte. */
const decoding: Record<Codec, Int16Array> = {
  PCMU: Int16Array.from({ length: 256 }, (_, byte) => expandMu(byte)),
  PCMA: Int16Array.from({ length: 256 }, (_, byte) => expandA(byte)),
};
const encoding: Record<Codec, Uint8Array> = {
  PCMU: Uint8Array.from({ length: 65536 }, (_, index) => compressMu(index - 32768)),
  PCMA: Uint8Array.from({ length: 65536 }, (_, index) => compressA(index - 32768)),
};

/** Writes `count` samples of `bytes`, read from `from`, into `samples` from `to` on. */
export function decode(
  codec: Codec,
  bytes: Uint8Array,
  from: number,
  count: number,
  samples: Int16Array,
  to = 0,
): void {
  const table = decoding[codec];
  for (let i = 0; i < count; i++) samples[to + i] = table[bytes[from + i] ?? 0] ?? 0;
}

/** Writes `count` samples, read from `from`, as bytes into `bytes` from `to` on. */
export function encode(
  codec: Codec,
  samples: Int16Array,
  from: number,
  count: number,
  bytes: Uint8Array,
  to = 0,
): void {
  const table = encoding[codec];
  for (let i = 0; i < count; i++) bytes[to + i] = table[(samples[from + i] ?? 0) + 32768] ?? 0;
}

/** One byte as a sample, for readers of files. */
export function expand(codec: Codec, byte: number): number {
  return decoding[codec][byte & 0xff] ?? 0;
}
