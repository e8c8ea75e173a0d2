import { rm } from 'node:fs/promises';
import { freshFile } from '../file-cache.ts';
import { isInstalled, runTool } from './tool.ts';

/** The longest speech that is kept, in seconds; SSML can ask for silence without end. */
const MAX_SECONDS = 900;

/** True when WAV files can be converted. */
export const canConvert = (): Promise<boolean> => isInstalled('ffmpeg', ['-version']);

/**
 * Writes any WAV as a telephone hears it: 8 kHz, 16-bit, mono.
 *
 * @param wav a whole WAV file; the lengths in its header need not be true
 * @returns the absolute path of a new file in `dir`
 */
export const telephoneWav = async (wav: Buffer, dir: string, signal: AbortSignal): Promise<string> => {
  const file = freshFile(dir);
  const input = ['-hide_banner', '-loglevel', 'error', '-nostdin', '-f', 'wav', '-ignore_length', '1', '-i', 'pipe:0'];
  const format = ['-ar', '8000', '-ac', '1', '-c:a', 'pcm_s16le', '-map_metadata', '-1', '-fflags', '+bitexact'];
  const args = [...input, '-t', String(MAX_SECONDS), ...format, '-f', 'wav', '-y', file];
  try {
    await runTool({ command: 'ffmpeg', args, input: wav, timeout_ms: 30_000, max_bytes: 65_536, signal });
    return file;
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
};
