/** ITU-T G.711 at 8 kHz: 16-bit little-endian samples to one byte each, and back. */
export type Law = 'ulaw' | 'alaw';

const BIAS = 0x84;
const CLIP = 32_635;

const ulawOf = (sample: number): number => {
  const sign = sample < 0 ? 0x80 : 0;
  const magnitude = Math.min(Math.abs(sample), CLIP) + BIAS;
  const exponent = Math.floor(Math.log2(magnitude)) - 7;
  return ~(sign | (exponent << 4) | ((magnitude >> (exponent + 3)) & 0x0f)) & 0xff;
};

const fromUlaw = (byte: number): number => {
  const code = ~byte & 0xff;
  const magnitude = ((((code & 0x0f) << 3) + BIAS) << ((code >> 4) & 7)) - BIAS;
  return code & 0x80 ? -magnitude : magnitude;
};

const alawOf = (sample: number): number => {
  const sign = sample >= 0 ? 0x80 : 0;
  const magnitude = Math.min(sample >= 0 ? sample : -sample - 1, 32_767) >> 4;
  const exponent = magnitude < 32 ? (magnitude < 16 ? 0 : 1) : Math.floor(Math.log2(magnitude)) - 3;
  const mantissa = (magnitude >> Math.max(exponent - 1, 0)) & 0x0f;
  return (sign | (exponent << 4) | mantissa) ^ 0x55;
};

const fromAlaw = (byte: number): number => {
  const code = byte ^ 0x55;
  const exponent = (code >> 4) & 7;
  const mantissa = ((code & 0x0f) << 4) + 8;
  const magnitude = exponent === 0 ? mantissa : (mantissa + 0x100) << (exponent - 1);
  return code & 0x80 ? magnitude : -magnitude;
};

const ENCODE = { ulaw: ulawOf, alaw: alawOf };
const DECODED: Record<Law, Int16Array> = {
  ulaw: Int16Array.from({ length: 256 }, (_, byte) => fromUlaw(byte)),
  alaw: Int16Array.from({ length: 256 }, (_, byte) => fromAlaw(byte)),
};

/** Samples of 16 bits (little endian) as one byte each (ITU-T G.711). */
export const encodeG711 = (law: Law, samples: Buffer): Buffer => {
  const encode = ENCODE[law];
  return Buffer.from(Array.from({ length: samples.length >> 1 }, (_, at) => encode(samples.readInt16LE(at * 2))));
};

/** One byte a sample (ITU-T G.711) as samples of 16 bits, little endian. */
export const decodeG711 = (law: Law, bytes: Buffer): Buffer => {
  const table = DECODED[law];
  const samples = Buffer.alloc(bytes.length * 2);
  bytes.forEach((byte, at) => samples.writeInt16LE(table[byte] ?? 0, at * 2));
  return samples;
};
