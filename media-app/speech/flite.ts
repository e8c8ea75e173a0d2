import { readFile, rm } from 'node:fs/promises';
import { freshFile } from '../file-cache.ts';
import { readable, spokenText, type SpeechProvider } from './provider.ts';
import { canConvert, telephoneWav } from './telephone-wav.ts';
import { isInstalled, runTool } from './tool.ts';

const DEFAULT_VOICE = 'slt';

/** The voices inside the program. Another name would be taken for a file or an address to load a voice from. */
const VOICES = new Set(['slt', 'rms', 'awb', 'kal', 'kal16', 'awb_time']);

/** flite: English, in about 50 ms a sentence, with better voices than espeak-ng's. It cannot read SSML well. */
export const flite = (options: { dir: string }): SpeechProvider => ({
  name: 'flite',
  available: async () => (await isInstalled('flite', ['-lv'])) && (await canConvert()),
  speaks: language => /^(?:en(?:[-_].*)?)?$/i.test(language.trim()),
  synthesize: async (speech, signal) => {
    const voice = speech.voice_id || DEFAULT_VOICE;
    if (!VOICES.has(voice)) throw new Error('flite has no such voice');
    const file = freshFile(options.dir);
    try {
      const input = readable(spokenText(speech.text));
      const args = ['-voice', voice, '-o', file];
      await runTool({ command: 'flite', args, input, timeout_ms: 30_000, max_bytes: 65_536, signal });
      return await telephoneWav(await readFile(file), options.dir, signal);
    } finally {
      await rm(file, { force: true });
    }
  },
});
