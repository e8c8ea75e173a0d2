import { LoopingSource } from '../../media/sources/looping-source.ts';
import { openSource } from '../../media/sources/open-source.ts';
import { onChannel } from '../api-command.ts';
import type { Channel } from '../channel.ts';

const missing = '-ERR Cannot locate session!\n';
const failed = '-ERR Operation Failed\n';
/** One channel cannot collect displacements without end. */
const most = 16;

/** What displaces the audio of each channel now, by file. */
const displaced = new WeakMap<Channel, Map<string, () => void>>();

const displacementsOf = (channel: Channel): Map<string, () => void> => {
  const known = displaced.get(channel) ?? new Map<string, () => void>();
  displaced.set(channel, known);
  return known;
};

/** Opens the file and lets the party hear it in place of everything else, mixed with it with flag `m`. */
const start = async (channel: Channel, file: string, limitSeconds: number, flags: string): Promise<string> => {
  const running = displacementsOf(channel);
  if (running.has(file) || running.size >= most) return failed;
  running.set(file, () => undefined); // taken while it is being opened
  const { soundsDir } = channel.core.options;
  const open = () => openSource(file, { soundsDir });
  const first = await open().catch(() => null); // every reason is the same to the client
  if (!first || channel.hangupCause !== null || !running.has(file)) {
    running.delete(file);
    return failed;
  }
  const source = flags.includes('l') ? new LoopingSource(first, open) : first;
  let frames = limitSeconds > 0 ? limitSeconds * 50 : Infinity;
  const voice = { read: (frame: Int16Array) => (frames-- > 0 && source.read(frame)) || !running.delete(file) };
  const end = flags.includes('m') ? channel.leg.addOverlay(voice) : channel.leg.addReplacement(voice);
  running.set(file, end);
  return '+OK Success\n';
};

const stop = (channel: Channel, file: string): string => {
  const running = displacementsOf(channel);
  const end = running.get(file);
  running.delete(file);
  end?.();
  return end ? '+OK Success\n' : failed;
};

/** Words, of which one in single quotes may hold spaces, as FreeSWITCH reads them. */
const quotedWords = (text: string): string[] =>
  (text.match(/'[^']*'|\S+/g) ?? []).map(word => word.replace(/^'(.*)'$/, '$1'));

/** `uuid_displace <uuid> start <file> [<limit seconds>] [flags: l loop, m mix] | stop <file>`: what the party hears. */
export const uuidDisplace = onChannel(
  'uuid_displace',
  { usage: '<uuid> [start|stop] <path> [<limit>] [mux]', missing, least: 2 },
  (channel, rest) => {
    const [action, file = '', limit, flags = ''] = quotedWords(rest);
    if (action === 'start') return start(channel, file, Math.max(0, Number(limit) || 0), flags);
    return action === 'stop' ? stop(channel, file) : failed;
  },
);
