import { onChannel } from '../api-command.ts';
import { displace, endDisplacement } from '../displacement.ts';

const missing = '-ERR Cannot locate session!\n';
const done = '+OK Success\n';
const usage = '<uuid> [start|stop] <path> [<limit>] [mux]';

/** Words, of which one in single quotes may hold spaces, as FreeSWITCH reads them. */
const quotedWords = (text: string): string[] =>
  (text.match(/'[^']*'|\S+/g) ?? []).map(word => word.replace(/^'(.*)'$/, '$1'));

/** `uuid_displace <uuid> start <file> [<limit seconds>] [flags: l loop, m mix] | stop <file>`: what the party hears. */
export const uuidDisplace = onChannel('uuid_displace', { usage, missing, least: 2 }, async (channel, rest) => {
  const [action, file = '', limit, flags = ''] = quotedWords(rest);
  if (action === 'stop') return endDisplacement(channel, file) ? done : '-ERR Cannot stop displace session!\n';
  if (action !== 'start') return `-USAGE: ${usage}\n`;
  return (await displace(channel, file, Math.max(0, Number(limit) || 0), flags))
    ? done
    : '-ERR Cannot displace session!\n';
});
