import { isSsml, readable, type SpeechProvider } from './provider.ts';
import { canConvert, telephoneWav } from './telephone-wav.ts';
import { isInstalled, runTool } from './tool.ts';

const DEFAULT_VOICE = 'en-us';

/** Languages whose BCP47 tag the program does not know, and the voice that is closest. */
const ALIASES: Record<string, string> = { nn: 'nb', iw: 'he', in: 'id', mo: 'ro', zh: 'cmn' };

/** A voice of the program, perhaps with a variant (`en-us+f3`). Never a path. */
const VOICE = /^[a-z]{2,8}(?:-[a-z0-9]{1,10}){0,4}(?:\+[a-z0-9]{1,12})?$/i;

/** The voice of a BCP47 language. The program itself falls back from a region it lacks to the language. */
const espeakVoice = (language: string): string => {
  const tag = language.trim().replaceAll('_', '-');
  if (tag === '') return DEFAULT_VOICE;
  const primary = tag.split('-')[0]?.toLowerCase() ?? '';
  return ALIASES[primary] ?? tag;
};

/** Without `<audio src="…">`, which the program would play from any file that it can read. */
const withoutFiles = (ssml: string): string => ssml.replace(/<\s*\/?\s*audio\b[^>]*>?/gi, ' ');

/** espeak-ng: many languages and SSML, in about 10 ms a sentence, with the voice of a machine. */
export const espeak = (options: { dir: string }): SpeechProvider => ({
  name: 'espeak-ng',
  available: async () => (await isInstalled('espeak-ng', ['--version'])) && (await canConvert()),
  speaks: () => true,
  synthesize: async (speech, signal) => {
    const voice = speech.voice_id || espeakVoice(speech.language);
    if (!VOICE.test(voice)) throw new Error('espeak-ng has no such voice');
    const ssml = isSsml(speech.text);
    const args = ['-v', voice, '-b', '1', ...(ssml ? ['-m'] : []), '--stdin', '--stdout'];
    const input = ssml ? withoutFiles(readable(speech.text)) : readable(speech.text);
    const wav = await runTool({
      command: 'espeak-ng',
      args,
      input,
      timeout_ms: 20_000,
      max_bytes: 64 * 1024 * 1024,
      signal,
    });
    return telephoneWav(wav, options.dir, signal);
  },
});
