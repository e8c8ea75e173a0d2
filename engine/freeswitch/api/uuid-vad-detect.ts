import type { ApiCommand } from '../api-command.ts';
import { onChannel, wordsOf } from '../api-command.ts';
import { detectVoice, endVoiceDetection } from '../voice-detection.ts';

const done = '+OK Success\n';
const failed = '-ERR Operation Failed\n';

/** `extra`: words between the strategy and the times, and between the times and the name, which change nothing here. */
function vad(name: string, usage: string, extra: [before: number, behind: number]): ApiCommand {
  return onChannel(name, { usage, least: 2 }, (channel, rest) => {
    const [action, ...words] = wordsOf(rest);
    if (action === 'stop') return endVoiceDetection(channel, words[0] ?? '') ? done : failed;
    const [strategy = '', ...more] = words;
    const [silence, voice, ...last] = more.slice(extra[0]);
    const [silenceMs, voiceMs] = [Number(silence), Number(voice)];
    const bug = last[extra[1]] ?? '';
    const sensible = [silenceMs, voiceMs].every(ms => ms > 0 && ms <= 60_000);
    if (action !== 'start' || !sensible || bug === '' || bug.length > 128) return `-USAGE: ${usage}\n`;
    return detectVoice(channel, { name: bug, once: strategy === 'one-shot', voiceMs, silenceMs }) ? done : failed;
  });
}

/** `uuid_vad_detect <uuid> start continuous|one-shot <mode> <silence ms> <voice ms> <name> | stop <name>`. */
export const uuidVadDetect = vad(
  'uuid_vad_detect',
  '<uuid> start one-shot|continuous <mode> <silence-ms> <voice-ms> <bugname> | stop <bugname>',
  [1, 0],
);

/** The same with the arguments of the neural one: by energy here, too. */
export const uuidVadSilero = vad(
  'uuid_vad_silero',
  '<uuid> start one-shot|continuous <threshold> <silence-ms> <voice-ms> <pad-ms> <bugname> | stop <bugname>',
  [1, 1],
);
