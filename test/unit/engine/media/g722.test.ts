import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { G722Decoder, G722Encoder } from '../../../../engine/media/codecs/g722.ts';

const rate = 16_000;
const samples = 2 * rate;
const raw = ['-f', 's16le', '-ar', String(rate), '-ac', '1'];

function ffmpeg(args: string[], input: Buffer): Buffer {
  return execFileSync('ffmpeg', ['-v', 'error', ...args], { input, maxBuffer: 1e8 });
}

/** A sweep from quiet to overdriven through the whole band, with noise from a fixed seed. */
function speechLike(): Int16Array {
  let seed = 7;
  const noise = () => (seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff) / 0x7fffffff - 0.5;
  return Int16Array.from({ length: samples }, (_, i) => {
    const level = i < samples / 2 ? (i / samples) * 30_000 : 30_000;
    return level * Math.sin((2 * Math.PI * (100 + i / 10) * i) / rate) + (i % 4000 < 2000 ? 2000 * noise() : 0);
  });
}

function bytesOf(pcm: Int16Array): Buffer {
  return Buffer.from(pcm.buffer, pcm.byteOffset, pcm.byteLength);
}

describe('G.722', () => {
  const pcm = speechLike();
  const coded = Buffer.alloc(samples / 2);
  new G722Encoder().encode(pcm, 0, samples, coded, 0);

  it('encodes bit by bit as ffmpeg does', () => {
    const theirs = ffmpeg([...raw, '-i', 'pipe:0', '-c:a', 'g722', '-f', 'g722', 'pipe:1'], bytesOf(pcm));
    assert.ok(coded.equals(theirs));
  });

  it('decodes bit by bit as ffmpeg does, and any bytes', () => {
    for (const bytes of [coded, Buffer.from(Array.from({ length: 4000 }, (_, i) => (i * 167 + (i >> 3)) & 0xff))]) {
      const ours = new Int16Array(2 * bytes.length);
      new G722Decoder().decode(bytes, 0, bytes.length, ours);
      assert.ok(bytesOf(ours).equals(ffmpeg(['-f', 'g722', '-i', 'pipe:0', ...raw, 'pipe:1'], bytes)));
    }
  });
});
