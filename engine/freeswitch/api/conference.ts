import type { ApiCommand } from '../api-command.ts';
import { wordsOf } from '../api-command.ts';
import { splitArguments } from '../application.ts';
import { listed as jsonListOf } from '../conference/json-list.ts';
import { memberCommands } from '../conference/member-commands.ts';
import { playCommands } from '../conference/play-commands.ts';
import { recordingCommands } from '../conference/recording-commands.ts';
import { memberLine, roomCommands } from '../conference/room-commands.ts';
import { seatCommands } from '../conference/seat-commands.ts';
import { soundCommands } from '../conference/sound-commands.ts';
import { xmlListOf } from '../conference/xml-list.ts';
import type { Core } from '../core.ts';

const commands = new Map(
  [...roomCommands, ...playCommands, ...soundCommands, ...memberCommands, ...seatCommands, ...recordingCommands].map(
    one => [one.name, one],
  ),
);

/** `conference <name> <command> …` and `conference list`. */
export const conference: ApiCommand = {
  name: 'conference',
  run: (core, args) => {
    const [name, word = '', ...rest] = args.includes("'") ? splitArguments(args) : wordsOf(args);
    if (name === undefined) return '-USAGE: conference <name> <command> [<arguments>] | conference list\n';
    if (name === 'json_list') return jsonListOf(core.conferences.list(), word);
    if (name === 'xml_list') return xmlListOf(core.conferences.list());
    if (name === 'list' || name === 'count') return overview(core, name);
    const found = core.conferences.get(name);
    if (!found) return `-ERR Conference ${name} not found\n`;
    const command = commands.get(word.toLowerCase());
    return command ? command.run(found, rest) : `-ERR Conference command '${word.slice(0, 64)}' not found.\n`;
  },
};

function overview({ conferences }: Core, word: string): string {
  const open = conferences.list();
  if (word === 'count') return String(open.length);
  if (open.length === 0) return '+OK No active conferences.\n';
  return open
    .map(one => {
      const flags = ['running', 'answered', ...(one.locked ? ['locked'] : [])].join('|');
      const count = `${one.size} member${one.size === 1 ? '' : 's'}`;
      const lines = one.newestFirst().map(member => memberLine(one, member));
      return `+OK Conference ${one.name} (${count} rate: ${one.rate} flags: ${flags})\n${lines.join('')}`;
    })
    .join('');
}
