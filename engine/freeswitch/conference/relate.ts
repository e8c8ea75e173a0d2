import type { ConferenceCommand } from './command.ts';
import type { Conference } from './conference.ts';
import type { Member } from './member.ts';

const usage = 'relate <member_id>[,<member_id>] <other_member_id>[,<other_member_id>] [nospeak|nohear|clear]';
const maxIds = 100;

/**
 * `relate <ids> <other ids> nospeak|nohear|clear`: with `nospeak` the others do not hear the first, with `nohear` the first
 * do not hear the others; `nospeak,nohear` is both. Every pair is answered in a line of its own. `relate [<ids>]` shows what is set.
 */
export const relateCommand: ConferenceCommand = {
  name: 'relate',
  run: (conference, [ids = '', others, how]) => {
    if (others === undefined) return shown(conference, ids);
    if (how === undefined || !/clear|nospeak|nohear/.test(how)) return usage;
    const pairs = listed(ids).flatMap(id => listed(others).map(other => [id, other] as const));
    return pairs.map(([id, other]) => related(conference, id, other, how)).join('');
  },
};

const listed = (ids: string): string[] => ids.split(',', maxIds).map(id => id.trim().slice(0, 10));

function related(conference: Conference, id: string, otherId: string, how: string): string {
  const [member, other] = [id, otherId].map(one => conference.members.get(Number(one)));
  if (!member || !other) return `-ERR relationship ${id}->${otherId} not found.\n`;
  const clears = how === 'clear';
  set(other, member, !clears && how.includes('nospeak'));
  set(member, other, !clears && how.includes('nohear'));
  const pair = `${member.id}->${other.id}`;
  return clears ? `+OK relationship ${pair} cleared.\n` : `+OK ${pair} ${how.slice(0, 64)} set\n`;
}

function set(listener: Member, speaker: Member, deaf: boolean): void {
  if (deaf) listener.seat.without.add(speaker.seat);
  else listener.seat.without.delete(speaker.seat);
}

/** One line for each pair of which one does not hear the other. */
function shown({ members }: Conference, ids: string): string {
  const asked = ids === '' ? [] : listed(ids).map(Number);
  const all = [...members.values()];
  const lines = all.flatMap(one => all.filter(other => keeps(one, other)).map(other => line(one, other)));
  if (lines.length === 0) return '+OK No relationships\n';
  return lines
    .filter(({ id }) => asked.includes(id) || asked.includes(0))
    .map(({ text }) => text)
    .join('');
}

const keeps = (one: Member, other: Member): boolean =>
  other.seat.without.has(one.seat) || one.seat.without.has(other.seat);

function line(one: Member, other: Member): { id: number; text: string } {
  const speak = other.seat.without.has(one.seat) ? 'NOSPEAK' : 'SPEAK';
  const hear = one.seat.without.has(other.seat) ? 'NOHEAR' : 'HEAR';
  return { id: one.id, text: `${one.id} -> ${other.id} ${speak} ${hear} NOSENDVIDEO \n` };
}
