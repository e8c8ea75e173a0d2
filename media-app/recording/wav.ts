import type { FileHandle } from 'node:fs/promises';

/** RIFF/WAVE with 16-bit PCM, as media servers record it and as we keep it. */

export const WAV_HEADER_BYTES = 44;
/** Chunks that come before the samples are looked for this far into a file. */
const HEADER_SEARCH_BYTES = 4096;

export interface WavFormat {
  channels: number;
  rate: number;
  /** Where the samples begin, and how many bytes there are. */
  at: number;
  bytes: number;
}

/** The header of a mono file with so many bytes of samples. */
export const monoHeader = (rate: number, bytes: number): Buffer => {
  const header = Buffer.alloc(WAV_HEADER_BYTES);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(36 + bytes, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20); // PCM
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(bytes, 40);
  return header;
};

/**
 * What an open file holds. A length that the header does not know, or that reaches beyond the file, is the rest of the
 * file: so a recording whose writer died is read as far as it got.
 * @throws Error when it is no 16-bit PCM file
 */
export const readFormat = async (file: FileHandle): Promise<WavFormat> => {
  const { size } = await file.stat();
  const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADER_SEARCH_BYTES), 0, HEADER_SEARCH_BYTES, 0);
  const head = buffer.subarray(0, bytesRead);
  if (head.length < 12 || head.toString('latin1', 0, 4) !== 'RIFF' || head.toString('latin1', 8, 12) !== 'WAVE')
    throw new Error('the recording is no WAV file');
  const format = chunk(head, 'fmt ');
  const data = chunk(head, 'data');
  if (!format || !data || format.at + 16 > head.length || head.readUInt16LE(format.at + 14) !== 16)
    throw new Error('the recording is not 16-bit PCM');
  const rest = size - data.at;
  const bytes = data.bytes > 0 && data.bytes <= rest ? data.bytes : rest;
  return { channels: head.readUInt16LE(format.at + 2), rate: head.readUInt32LE(format.at + 4), at: data.at, bytes };
};

const chunk = (head: Buffer, name: string): { at: number; bytes: number } | undefined => {
  for (let at = 12; at + 8 <= head.length;) {
    const bytes = head.readUInt32LE(at + 4);
    if (head.toString('latin1', at, at + 4) === name) return { at: at + 8, bytes };
    at += 8 + bytes + (bytes % 2);
  }
  return undefined;
};
