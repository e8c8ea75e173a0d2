/** G.711 (ITU-T Rec. G.711, segmented form): 16-bit samples at 8 kHz to bytes and back. */

export type Law = 'PCMU' | 'PCMA';

function ulawToLinear(byte: number): number {
  const bits = ~byte & 0xff;
  const magnitude = (((bits & 0x0f) << 3) + 0x84) << ((bits & 0x70) >> 4);
  return bits & 0x80 ? 0x84 - magnitude : magnitude - 0x84;
}

function alawToLinear(byte: number): number {
  const bits = byte ^ 0x55;
  const exponent = (bits & 0x70) >> 4;
  const mantissa = ((bits & 0x0f) << 4) + 8;
  const magnitude = exponent === 0 ? mantissa : (mantissa + 0x100) << (exponent - 1);
  return bits & 0x80 ? magnitude : -magnitude;
}

function linearToUlaw(sample: number): number {
  const sign = sample < 0 ? 0x80 : 0;
  const magnitude = Math.min(Math.abs(sample), 32_635) + 0x84;
  const exponent = 24 - Math.clz32(magnitude);
  const mantissa = (magnitude >> (exponent + 3)) & 0x0f;
  return ~(sign | (exponent << 4) | mantissa) & 0xff;
}

function linearToAlaw(sample: number): number {
  const sign = sample < 0 ? 0 : 0x80;
  const magnitude = Math.min(sample < 0 ? ~sample : sample, 32_767);
  const exponent = Math.max(0, 24 - Math.clz32(magnitude));
  const mantissa = (magnitude >> (exponent === 0 ? 4 : exponent + 3)) & 0x0f;
  return (sign | (exponent << 4) | mantissa) ^ 0x55;
}

const DECODE: Record<Law, Int16Array> = {
  PCMU: Int16Array.from({ length: 256 }, (_, byte) => ulawToLinear(byte)),
  PCMA: Int16Array.from({ length: 256 }, (_, byte) => alawToLinear(byte)),
};

const ENCODE: Record<Law, Uint8Array> = {
  PCMU: Uint8Array.from({ length: 65_536 }, (_, i) => linearToUlaw((i << 16) >> 16)),
  PCMA: Uint8Array.from({ length: 65_536 }, (_, i) => linearToAlaw((i << 16) >> 16)),
};

/** One byte a sample (ITU-T G.711) as 16-bit samples. */
export function decodeG711(law: Law, bytes: Uint8Array): Int16Array {
  const table = DECODE[law];
  return Int16Array.from(bytes, byte => table[byte] ?? 0);
}

/** 16-bit samples as one byte each (ITU-T G.711). */
export function encodeG711(law: Law, samples: Int16Array): Buffer {
  const table = ENCODE[law];
  return Buffer.from(Uint8Array.from(samples, sample => table[sample & 0xffff] ?? 0));
}
