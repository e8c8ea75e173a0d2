import { strict as assert } from 'node:assert';
import { readFile } from 'node:fs/promises';
import { samplesOf } from './fork-server.ts';

/** What a WAV file holds: its rate and its channels. Chunks beside the two that every file has are passed over. */
export async function readWav(path: string): Promise<{ rate: number; tracks: Int16Array[] }> {
  const bytes = await readFile(path);
  const chunks = new Map<string, Buffer>();
  for (let at = 12; at + 8 <= bytes.length; at += 8 + bytes.readUInt32LE(at + 4))
    chunks.set(bytes.toString('latin1', at, at + 4), bytes.subarray(at + 8, at + 8 + bytes.readUInt32LE(at + 4)));
  const [format, data] = [chunks.get('fmt '), chunks.get('data')];
  assert(format && data);
  const channels = format.readUInt16LE(2);
  const tracks = Array.from({ length: channels }, (_, one) => samplesOf([data], one, channels));
  return { rate: format.readUInt32LE(4), tracks };
}
