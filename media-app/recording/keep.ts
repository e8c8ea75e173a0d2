import { randomBytes } from 'node:crypto';
import { type FileHandle, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Recording, type RecordingContents, recordingContentsSchema, recordingFiles } from '#contract/recording';
import { Peaks } from './peaks.ts';
import { monoHeader, readFormat, WAV_HEADER_BYTES, type WavFormat } from './wav.ts';

/** Read at a time; a whole number of stereo samples. */
const BLOCK_BYTES = 64 * 1024;

type Voice = 'in' | 'out' | 'mixed';
const VOICES: Voice[] = ['in', 'out', 'mixed'];

/** One of the files that a capture becomes, growing. */
interface Growing {
  file: FileHandle;
  peaks: Peaks;
  block: Buffer;
}

/**
 * Makes the files of a recording from what was captured: what the party says, what it hears, and both mixed; then their
 * facts; then the capture goes. Repeating it is harmless, so a second node may finish what a first one began.
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
  const partials = Object.fromEntries(
    VOICES.map(voice => [voice, join(folder, `${names[voice]}.${randomBytes(6).toString('hex')}`)]),
  ) as Record<Voice, string>;
  try {
    const files = await split(join(folder, names.capture), partials);
    for (const voice of VOICES) await rename(partials[voice], join(folder, names[voice]));
    const contents: RecordingContents = {
      complete,
      files: [
        { filename: names.in, direction: 'in', ...files.in },
        { filename: names.out, direction: 'out', ...files.out },
      ],
    };
    await writeWhole(join(folder, names.contents), JSON.stringify(contents));
    await rm(join(folder, names.capture), { force: true });
    return contents;
  } finally {
    await Promise.all(VOICES.map(voice => rm(partials[voice], { force: true })));
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

const split = async (capture: string, partials: Record<Voice, string>): Promise<Record<Voice, Facts>> => {
  const source = await open(capture, 'r');
  const opened: FileHandle[] = [source];
  try {
    const format = await readFormat(source);
    if (format.channels !== 2) throw new Error(`the capture has ${format.channels} channels instead of two`);
    const samples = Math.floor(format.bytes / 4);
    const growing = {} as Record<Voice, Growing>;
    for (const voice of VOICES) {
      const file = await open(partials[voice], 'w', 0o640);
      opened.push(file);
      await file.write(monoHeader(format.rate, samples * 2), 0, WAV_HEADER_BYTES, 0);
      growing[voice] = { file, peaks: new Peaks(samples), block: Buffer.alloc(BLOCK_BYTES / 2) };
    }
    await copy(source, format, samples, growing);
    const facts = (voice: Voice): Facts => ({
      filesize: WAV_HEADER_BYTES + samples * 2,
      duration: Math.round((samples / format.rate) * 1000) / 1000,
      peaks: growing[voice].peaks.all(),
    });
    return { in: facts('in'), out: facts('out'), mixed: facts('mixed') };
  } finally {
    for (const file of opened) await file.close();
  }
};

const copy = async (
  source: FileHandle,
  format: WavFormat,
  samples: number,
  growing: Record<Voice, Growing>,
): Promise<void> => {
  const block = Buffer.alloc(BLOCK_BYTES);
  for (let done = 0; done < samples;) {
    const wanted = Math.min(BLOCK_BYTES / 4, samples - done);
    const { bytesRead } = await source.read(block, 0, wanted * 4, format.at + done * 4);
    const read = Math.floor(bytesRead / 4);
    if (read === 0) throw new Error('the capture became shorter while it was read');
    for (let i = 0; i < read; i++) {
      const said = block.readInt16LE(i * 4);
      const heard = block.readInt16LE(i * 4 + 2);
      put(growing.in, i, said);
      put(growing.out, i, heard);
      put(growing.mixed, i, Math.max(-32_768, Math.min(32_767, said + heard)));
    }
    for (const voice of VOICES)
      await growing[voice].file.write(growing[voice].block, 0, read * 2, WAV_HEADER_BYTES + done * 2);
    done += read;
  }
};

const put = ({ block, peaks }: Growing, at: number, sample: number): void => {
  block.writeInt16LE(sample, at * 2);
  peaks.take(sample);
};
