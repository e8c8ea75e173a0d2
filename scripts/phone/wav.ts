/** WAV files: what the phone plays and what it records. 16-bit PCM, one channel, 8000 samples a second on the phone's side. */

export const SAMPLE_RATE = 8000;

/** A RIFF file of 16-bit mono samples. */
export function formatWav(samples: Int16Array, rate = SAMPLE_RATE): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + samples.byteLength, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(samples.byteLength, 40);
  return Buffer.concat([head, Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength)]);
}

/** Reads 16-bit PCM at any rate and channel count and gives it at 8 kHz mono. Throws Error with the reason otherwise. */
export function parseWav(file: Buffer): Int16Array {
  if (file.toString('latin1', 0, 4) !== 'RIFF' || file.toString('latin1', 8, 12) !== 'WAVE')
    throw new Error('no WAV file');
  const format = chunk(file, 'fmt ');
  const data = chunk(file, 'data');
  if (!format || !data) throw new Error('the WAV file lacks its format or its data');
  if (format.readUInt16LE(0) !== 1 || format.readUInt16LE(14) !== 16) throw new Error('the WAV file is not 16-bit PCM');
  return resample(mixDown(data, format.readUInt16LE(2)), format.readUInt32LE(4));
}

/** The content of a RIFF chunk; cut where the file ends, because streaming writers leave the size open. */
function chunk(file: Buffer, name: string): Buffer | undefined {
  let at = 12;
  while (at + 8 <= file.length) {
    const size = file.readUInt32LE(at + 4);
    if (file.toString('latin1', at, at + 4) === name)
      return file.subarray(at + 8, Math.min(at + 8 + size, file.length));
    at += 8 + size + (size & 1);
  }
  return undefined;
}

function mixDown(data: Buffer, channels: number): Float64Array {
  const frames = Math.floor(data.length / (2 * Math.max(1, channels)));
  const samples = new Float64Array(frames);
  for (let i = 0; i < frames; i += 1) {
    for (let c = 0; c < channels; c += 1)
      samples[i] = (samples[i] ?? 0) + data.readInt16LE((i * channels + c) * 2) / channels;
  }
  return samples;
}

/** Averages what falls into one new sample (going down) or interpolates (going up): enough for a telephone's 3.4 kHz. */
function resample(samples: Float64Array, rate: number): Int16Array {
  if (rate === SAMPLE_RATE) return Int16Array.from(samples);
  const step = rate / SAMPLE_RATE;
  return Int16Array.from({ length: Math.floor(samples.length / step) }, (_, i) => {
    const from = i * step;
    const to = Math.max(from + 1, from + step);
    let sum = 0;
    for (let j = Math.floor(from); j < to; j += 1) sum += samples[Math.min(j, samples.length - 1)] ?? 0;
    return Math.round(sum / (Math.ceil(to) - Math.floor(from)));
  });
}
