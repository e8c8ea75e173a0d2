import { strict as assert } from 'node:assert';
import { readFile } from 'node:fs/promises';
import { samplesOf } from './fork-server.ts';

/** What a WAV file holds: its rate and its channels. */
export async function readWav(path: string): Promise<{ rate: number; tracks: Int16Array[] }> {
  const bytes = await readFile(path);
  assert.equal(bytes.toString('latin1', 36, 40), 'data');
  assert.equal(bytes.readUInt32LE(40), bytes.length - 44);
  const channels = bytes.readUInt16LE(22);
  const tracks = Array.from({ length: channels }, (_, one) => samplesOf([bytes.subarray(44)], one, channels));
  return { rate: bytes.readUInt32LE(24), tracks };
}
