/** How samples lie in a file. */
export type Encoding = 'pcm16' | 'pcm8' | 'alaw' | 'mulaw';

/** Where samples are: `[start, end)` of the bytes. */
export interface PcmLayout {
  encoding: Encoding;
  rate: number;
  channels: number;
  start: number;
  end: number;
}

/** Bytes of one sample of one channel. */
export function sampleBytes(encoding: Encoding): number {
  return encoding === 'pcm16' ? 2 : 1;
}

const extensible = 0xfffe;
const maxChunks = 256;

/**
 * Reads the header of a RIFF WAVE file. Null when the bytes are no WAVE file or hold an encoding or rate that we do not
 * read. A length that is zero or too great, as a crashed recorder leaves it, means to the end of the file.
 */
export function parseWav(bytes: Buffer): PcmLayout | null {
  if (bytes.length < 12 || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WAVE')
    return null;
  let format: Omit<PcmLayout, 'start' | 'end'> | null = null;
  let at = 12;
  for (let i = 0; i < maxChunks && at + 8 <= bytes.length; i++) {
    const name = bytes.toString('latin1', at, at + 4);
    const size = bytes.readUInt32LE(at + 4);
    if (name === 'fmt ') format = readFormat(bytes, at + 8, size);
    else if (name === 'data') return format && withData(bytes, format, at + 8, size);
    at += 8 + size + (size % 2);
  }
  return null;
}

function readFormat(bytes: Buffer, at: number, size: number): Omit<PcmLayout, 'start' | 'end'> | null {
  if (size < 16 || at + size > bytes.length) return null;
  const tag = bytes.readUInt16LE(at);
  const code = tag === extensible && size >= 26 ? bytes.readUInt16LE(at + 24) : tag;
  const channels = bytes.readUInt16LE(at + 2);
  const rate = bytes.readUInt32LE(at + 4);
  const encoding = encodingOf(code, bytes.readUInt16LE(at + 14));
  return encoding === null || channels < 1 || channels > 8 || rate < 4000 || rate > 64_000
    ? null
    : { encoding, rate, channels };
}

function encodingOf(code: number, bits: number): Encoding | null {
  if (code === 1) return bits === 16 ? 'pcm16' : bits === 8 ? 'pcm8' : null;
  if (code === 6) return 'alaw';
  return code === 7 ? 'mulaw' : null;
}

function withData(bytes: Buffer, format: Omit<PcmLayout, 'start' | 'end'>, start: number, size: number): PcmLayout {
  const available = bytes.length - start;
  const length = size === 0 || size > available ? available : size;
  const frame = sampleBytes(format.encoding) * format.channels;
  return { ...format, start, end: start + length - (length % frame) };
}

const headerless: Record<string, [Encoding, number]> = {
  '.r8': ['pcm16', 8000],
  '.r16': ['pcm16', 16_000],
  '.r24': ['pcm16', 24_000],
  '.r32': ['pcm16', 32_000],
  '.r48': ['pcm16', 48_000],
  '.r64': ['pcm16', 64_000],
  '.raw': ['pcm16', 8000],
  '.sln': ['pcm16', 8000],
  '.pcmu': ['mulaw', 8000],
  '.ul': ['mulaw', 8000],
  '.pcma': ['alaw', 8000],
  '.al': ['alaw', 8000],
};

/** The layout of a file without header, by its extension; null for other extensions. */
export function headerlessLayout(extension: string, size: number): PcmLayout | null {
  const found = Object.hasOwn(headerless, extension) ? headerless[extension] : undefined;
  if (!found) return null;
  const [encoding, rate] = found;
  return { encoding, rate, channels: 1, start: 0, end: size - (size % sampleBytes(encoding)) };
}

/** A header of 44 bytes for 16-bit PCM with this much data, to be written in front of it. */
export function wavHeader(rate: number, channels: number, dataBytes: number): Buffer {
  const header = Buffer.alloc(44);
  const data = Math.min(dataBytes, 0xffffffff - 36);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(36 + data, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate * channels * 2, 28);
  header.writeUInt16LE(channels * 2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(data, 40);
  return header;
}
