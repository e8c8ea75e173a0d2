import { randomBytes } from 'node:crypto';
import { type FileHandle, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  playedVoices,
  type Recording,
  type RecordingContents,
  recordingContentsSchema,
  recordingFiles,
} from '#contract/recording';
import { Decimator } from './decimator.ts';
import { Peaks } from './peaks.ts';
import { monoHeader, readFormat, WAV_HEADER_BYTES, type WavFormat } from './wav.ts';

/** What is kept, whatever a media server records at (platform-api, Recording), in samples a second. */
const RATE = 8000;
/** Samples of each channel read at a time. */
const BLOCK_SAMPLES = 16 * 1024;

type Voice = 'in' | 'out' | 'mixed';
/** What a capture holds: of a call two voices side by side, of a conference everybody in one. */
const CAPTURED: Record<Recording['reference_type'], { channels: number; voices: Voice[] }> = {
  call: { channels: 2, voices: ['in', 'out', 'mixed'] },
  confbridge: { channels: 1, voices: ['mixed'] },
};

/** One of the files that a capture becomes, growing. */
interface Growing {
  voice: Voice;
  file: FileHandle;
  peaks: Peaks;
  block: Buffer;
  /** Samples in the block, and in the file before it. */
  filled: number;
  written: number;
  /** Where the capture has more samples than are kept. */
  decimator: Decimator | undefined;
}

/**
 * Makes the files of a recording from what was captured: of a call what the party says, what it hears, and both mixed; of a
 * conference everybody mixed; then their facts; then the capture goes. Repeating it is harmless, so a second node may finish what a first one began.
 * @throws Error when nothing was captured or the disk fails; the capture stays then
 */
export const keepRecording = async (
  folder: string,
  recording: Recording,
  complete: boolean,
): Promise<RecordingContents> => {
  const names = recordingFiles(recording);
  const known = await readContents(join(folder, names.contents));
  if (known) return known;
  const { voices, channels } = CAPTURED[recording.reference_type];
  const partials = new Map(
    voices.map(voice => [voice, join(folder, `${names[voice]}.${randomBytes(6).toString('hex')}`)]),
  );
  try {
    const facts = await split(join(folder, names.capture), channels, partials);
    for (const [voice, partial] of partials) await rename(partial, join(folder, names[voice]));
    const files = playedVoices(recording).map(({ voice, direction }) => {
      const known = facts.get(voice);
      if (!known) throw new Error(`nothing was made of the voice ${voice}`);
      return { filename: names[voice], direction, ...known };
    });
    const contents: RecordingContents = { complete, files };
    await writeWhole(join(folder, names.contents), JSON.stringify(contents));
    await rm(join(folder, names.capture), { force: true });
    return contents;
  } finally {
    await Promise.all([...partials.values()].map(partial => rm(partial, { force: true })));
  }
};

/** What somebody found out before us; nothing when the recording is not kept yet. */
const readContents = async (path: string): Promise<RecordingContents | undefined> => {
  try {
    return recordingContentsSchema.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return undefined; // not there yet, or not whole: it is made again
  }
};

const writeWhole = async (path: string, text: string): Promise<void> => {
  const partial = `${path}.${randomBytes(6).toString('hex')}`;
  await writeFile(partial, text);
  await rename(partial, path);
};

type Facts = Pick<RecordingContents['files'][number], 'filesize' | 'duration' | 'peaks'>;

const split = async (
  capture: string,
  channels: number,
  partials: ReadonlyMap<Voice, string>,
): Promise<Map<Voice, Facts>> => {
  const source = await open(capture, 'r');
  const opened: FileHandle[] = [source];
  try {
    const format = await readFormat(source);
    if (format.channels !== channels)
      throw new Error(`the capture has ${format.channels} channels instead of ${channels}`);
    const captured = Math.floor(format.bytes / 2 / channels);
    const step = Number.isInteger(format.rate / RATE) ? format.rate / RATE : 1;
    const [samples, rate] = [Math.floor(captured / step), format.rate / step];
    const growing: Growing[] = [];
    for (const [voice, partial] of partials) {
      const file = await open(partial, 'w', 0o640);
      opened.push(file);
      await file.write(monoHeader(rate, samples * 2), 0, WAV_HEADER_BYTES, 0);
      growing.push({
        ...{ voice, file, peaks: new Peaks(samples), block: Buffer.alloc(BLOCK_SAMPLES * 2), filled: 0, written: 0 },
        decimator: step > 1 ? new Decimator(step) : undefined,
      });
    }
    await copy(source, format, captured, growing);
    const size = {
      filesize: WAV_HEADER_BYTES + samples * 2,
      duration: Math.round((samples / rate) * 1000) / 1000,
    };
    return new Map(growing.map(({ voice, peaks }) => [voice, { ...size, peaks: peaks.all() }]));
  } finally {
    for (const file of opened) await file.close();
  }
};

const copy = async (source: FileHandle, format: WavFormat, samples: number, growing: Growing[]): Promise<void> => {
  const bytes = 2 * format.channels;
  const block = Buffer.alloc(BLOCK_SAMPLES * bytes);
  for (let done = 0; done < samples;) {
    const wanted = Math.min(BLOCK_SAMPLES, samples - done);
    const { bytesRead } = await source.read(block, 0, wanted * bytes, format.at + done * bytes);
    const read = Math.floor(bytesRead / bytes);
    if (read === 0) throw new Error('the capture became shorter while it was read');
    for (const one of growing) {
      for (let i = 0; i < read; i++) put(one, sampleOf(one.voice, block, i, format.channels));
      await one.file.write(one.block, 0, one.filled * 2, WAV_HEADER_BYTES + one.written * 2);
      one.written += one.filled;
      one.filled = 0;
    }
    done += read;
  }
};

/** The party is on the first channel, what it hears on the second. */
const sampleOf = (voice: Voice, block: Buffer, at: number, channels: number): number => {
  const first = at * channels * 2;
  if (channels === 1 || voice === 'in') return block.readInt16LE(first);
  const heard = block.readInt16LE(first + 2);
  if (voice === 'out') return heard;
  return Math.max(-32_768, Math.min(32_767, block.readInt16LE(first) + heard));
};

const put = (one: Growing, sample: number): void => {
  const kept = one.decimator ? one.decimator.push(sample) : sample;
  if (kept === undefined) return;
  one.block.writeInt16LE(kept, one.filled * 2);
  one.filled += 1;
  one.peaks.take(kept);
};
