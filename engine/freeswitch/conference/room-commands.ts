import type { ConferenceCommand } from './command.ts';
import { membersOf, noMember } from './command.ts';
import type { Conference } from './conference.ts';
import { jsonListCommand } from './json-list.ts';
import type { Member } from './member.ts';
import { openSound } from './play-queue.ts';
import { xmlListCommand } from './xml-list.ts';

const maxVariables = 1000;

const settable = ['max_members', 'sound_prefix', 'caller_id_name', 'caller_id_number', 'endconference_grace_time'];

/** One line of `list`: who it is, what it may do, and its volumes and energy. */
export function memberLine(conference: Conference, member: Member, delimiter = ';'): string {
  const { channel, seat, talk, volume, held } = member;
  const flags = [
    !held && seat.hears && 'hear',
    !held && seat.speaks && 'speak',
    !held && talk.talking && seat.speaks && 'talking',
    held && 'hold',
    conference.floor === member && 'floor',
    member.moderator && 'moderator',
    member.ghost && 'ghost',
  ].filter(flag => flag !== false);
  const who = [member.id, channel.name, channel.uuid, 'unknown', ''];
  return `${[...who, flags.join('|'), volume.in, volume.out, talk.energy].join(delimiter)}\n`;
}

/** `list [count|delim <text>]`; a text in double quotes may be a blank. */
function list(conference: Conference, [what, ...rest]: string[]): string {
  if (what === 'count') return String(conference.size);
  const delimiter =
    what === 'delim'
      ? rest
          .join(' ')
          .replace(/^"([^"]*).*$/, '$1')
          .slice(0, 64) || ';'
      : ';';
  return conference
    .newestFirst()
    .map(member => memberLine(conference, member, delimiter))
    .join('');
}

function get(conference: Conference, [name = '']: string[]): string {
  const values: Record<string, string> = {
    max_members: String(conference.maxMembers),
    rate: String(conference.rate),
    count: String(conference.size),
    count_ghosts: String(conference.ghosts),
    run_time: String(Math.floor((Date.now() - conference.createdAt) / 1000)),
    profile_name: conference.profile,
    is_locked: conference.locked ? 'locked' : '',
    uuid: conference.uuid,
  };
  if (Object.hasOwn(values, name)) return values[name] ?? '';
  return settable.includes(name) ? (conference.parameters.get(name) ?? '') : 'get <parameter-name>';
}

/** Answers the value that was before. */
function set(conference: Conference, [name = '', value]: string[]): string {
  if (!settable.includes(name) || value === undefined) return `set <${settable.join('|')}> <value>`;
  const before = get(conference, [name]);
  if (name !== 'max_members') conference.parameters.set(name, value.slice(0, 1024));
  else if (/^-?\d{1,6}$/.test(value)) conference.maxMembers = Math.max(0, Number(value));
  else return '-ERR max_members must be a number\n';
  return before;
}

/** `setvar <name> [<value>]`; without a value it is taken away. */
function setVariable({ variables }: Conference, [name = '', value]: string[]): string {
  const key = name.slice(0, 256);
  if (value === undefined) variables.delete(key);
  else if (variables.has(key) || variables.size < maxVariables) variables.set(key, value.slice(0, 4096));
  else return '-ERR too many variables\n';
  return '+OK\n';
}

function setLocked(conference: Conference, on: boolean): string {
  conference.locked = on;
  conference.raiseAfterReply({ Action: on ? 'lock' : 'unlock' });
  return `+OK ${conference.name} ${on ? 'locked' : 'unlocked'}\n`;
}

/** `pin <keys>`: what whoever comes from now on must bring or press. */
function setPin(conference: Conference, [pin, more]: string[]): string {
  if (pin === undefined || more !== undefined || pin.length > 64) return '-ERR Invalid parameters:\npin <pin#>';
  conference.pin = pin;
  return `+OK Pin for conference ${conference.name} set: ${pin}\n`;
}

function clearPin(conference: Conference): string {
  conference.pin = '';
  return `+OK Pin for conference ${conference.name} deleted\n`;
}

/** `play <file> [async|<member id>]`, answered when the sound has been found and queued. */
async function play(conference: Conference, [file, ...rest]: string[]): Promise<string> {
  if (file === undefined) return 'play <file_path> [async|<member_id> [nomux]]';
  const id = rest.find(word => /^\d{1,10}$/.test(word));
  const member = id === undefined ? null : conference.members.get(Number(id));
  if (member === undefined) return noMember(id ?? '');
  const source = await openSound(conference, file).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    conference.core.options.log.debug({ conference: conference.name, file, reason }, 'sound cannot be played');
    return null; // the answer says so
  });
  if (!source || conference.over) return notPlayed(conference, file);
  const queue = member ? member.plays : conference.plays;
  if (!queue?.add(file, source)) return '-ERR (play) too many files are waiting\n';
  if (member) conference.raiseAbout(member, 'play-file-member', { File: file });
  else conference.raiseAfterReply({ Action: 'play-file', File: file, Async: 'false' });
  return `+OK (play) Playing file ${file}${member ? ` to member ${member.id}` : ''}\n`;
}

function notPlayed(conference: Conference, file: string): string {
  const Error = 'File could not be played';
  conference.raiseAfterReply({ Action: 'play-file', File: file, Async: 'false', Error });
  return `-ERR (play) File: ${file} not found.\n`;
}

/** `stop [current|last|async|all] [<member id>]`. */
function stop(conference: Conference, [what = '', id]: string[]): string {
  if (!['current', 'last', 'async', 'all'].includes(what)) return 'stop <[current|all|async|last]> [<member_id>]';
  const member = id === undefined ? undefined : membersOf(conference, id)?.[0];
  if (id !== undefined && !member) return noMember(id.slice(0, 64));
  const stopped = (member ? member.plays : conference.plays)?.stop(what === 'all') ?? 0;
  return `+OK Stopped ${stopped} files.\n`;
}

/** What can be done with a whole conference: `list`, `get`, `set`, `lock`, `play` and the like. */
export const roomCommands: ConferenceCommand[] = [
  { name: 'list', run: list },
  { name: 'count', run: conference => String(conference.size) },
  jsonListCommand,
  xmlListCommand,
  { name: 'get', run: get },
  { name: 'set', run: set },
  { name: 'getvar', run: ({ variables }, [name = '']) => variables.get(name) ?? '' },
  { name: 'setvar', run: setVariable },
  { name: 'lock', run: conference => setLocked(conference, true) },
  { name: 'unlock', run: conference => setLocked(conference, false) },
  { name: 'play', run: play },
  { name: 'stop', run: stop },
  { name: 'agc', run: () => 'agc <member_id|all|last|non_moderator> [<newval>]' },
  { name: 'pin', run: setPin },
  { name: 'nopin', run: conference => clearPin(conference) },
];
