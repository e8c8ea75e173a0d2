import { sampleRate } from '../clock.ts';
import type { AudioCodec } from './codec.ts';

/** The two laws of ITU-T G.711. */
export type Law = 'PCMU' | 'PCMA';

/** Bytes that mean digital silence. */
export const silenceByte: Record<Law, number> = { PCMU: 0xff, PCMA: 0xd5 };

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
const decoding: Record<Law, Int16Array> = {
  PCMU: Int16Array.from({ length: 256 }, (_, byte) => expandMu(byte)),
  PCMA: Int16Array.from({ length: 256 }, (_, byte) => expandA(byte)),
};
const encoding: Record<Law, Uint8Array> = {
  PCMU: Uint8Array.from({ length: 65536 }, (_, index) => compressMu(index - 32768)),
  PCMA: Uint8Array.from({ length: 65536 }, (_, index) => compressA(index - 32768)),
};

/** Writes `count` samples of `bytes`, read from `from`, into `samples` from `to` on. */
export function decode(law: Law, bytes: Uint8Array, from: number, count: number, samples: Int16Array, to = 0): void {
  const table = decoding[law];
  for (let i = 0; i < count; i++) samples[to + i] = table[bytes[from + i] ?? 0] ?? 0;
}

/** Writes `count` samples, read from `from`, as bytes into `bytes` from `to` on. */
export function encode(law: Law, samples: Int16Array, from: number, count: number, bytes: Uint8Array, to = 0): void {
  const table = encoding[law];
  for (let i = 0; i < count; i++) bytes[to + i] = table[(samples[from + i] ?? 0) + 32768] ?? 0;
}

/** One byte as a sample, for readers of files. */
export function expand(law: Law, byte: number): number {
  return decoding[law][byte & 0xff] ?? 0;
}

/** Its packets hold one byte a sample, so any length will do. */
const packetTimes = [10, 20, 30, 40, 50, 60, 80, 100, 120];

function g711<Name extends Law>(name: Name, payloadType: number): AudioCodec<Name> {
  return {
    name,
    payloadType,
    isStatic: true,
    clock: 8000,
    rate: sampleRate,
    toldRate: sampleRate,
    channels: 1,
    fmtp: null,
    packetTimes,
    openDecoder: () => ({
      decode: (bytes, from, to, samples) => {
        decode(name, bytes, from, to - from, samples);
        return to - from;
      },
      restart: () => undefined, // every byte speaks for itself
    }),
    openEncoder: () => ({
      encode: (samples, from, count, bytes, to) => {
        encode(name, samples, from, count, bytes, to);
        return count;
      },
    }),
  };
}

export const pcmu = g711('PCMU', 0);
export const pcma = g711('PCMA', 8);
