import type { ConferenceCommand } from './command.ts';
import { onMembers } from './command.ts';
import type { Conference } from './conference.ts';
import type { Member } from './member.ts';
import { openSound } from './play-queue.ts';

const who = '<member_id|all|last|non_moderator>';

/** `volume_in|volume_out <who> [up|down|<-4 to 4>]`. */
function volume(direction: 'in' | 'out'): ConferenceCommand {
  return onMembers(`volume_${direction}`, `${who} [<newval>]`, (member, conference, [value]) => {
    const now = member.volume[direction];
    if (value !== undefined) {
      const steps: Readonly<Record<string, number>> = { up: now + 1, down: now - 1 };
      member.setVolume(direction, steps[value.toLowerCase()] ?? Number.parseInt(value, 10));
      const level = String(member.volume[direction]);
      conference.raiseAbout(member, `volume-${direction}-member`, { 'Volume-Level': level });
    }
    return `+OK Volume ${direction.toUpperCase()} ${member.id} = ${member.volume[direction]}\n`;
  });
}

function hold(member: Member, conference: Conference, [file]: string[]): string {
  member.hold(true);
  if (file !== undefined) void playAlone(conference, member, file);
  conference.raiseAbout(member, 'hold-member');
  return `+OK hold ${member.id}\n`;
}

async function playAlone(conference: Conference, member: Member, file: string): Promise<void> {
  try {
    const source = await openSound(conference, file);
    if (member.held) member.plays?.add(file, source, false);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const uuid = member.channel.uuid;
    conference.core.options.log.warn({ uuid, file, reason }, 'sound cannot be played'); // it waits in silence
  }
}

function unhold(member: Member, conference: Conference): string {
  member.hold(false);
  member.plays?.stop(true);
  conference.raiseAbout(member, 'unhold-member');
  return `+OK unhold ${member.id}\n`;
}

/** What is set for one member: volumes, energy, hold. */
export const seatCommands: ConferenceCommand[] = [
  volume('in'),
  volume('out'),
  onMembers('energy', `${who} [<newval>]`, (member, conference, [value]) => {
    if (value !== undefined && /^\d{1,5}$/.test(value)) {
      member.setEnergy(Number(value));
      conference.raiseAbout(member, 'energy-level-member', { 'Energy-Level': value });
    }
    return `Energy ${member.id} = ${member.talk.energy}\n`;
  }),
  onMembers('hold', '<[member_id|all]|last|non_moderator> [file]', hold),
  onMembers('unhold', '<[member_id|all]|last|non_moderator>', unhold),
  onMembers('get-uuid', '<member_id|last>', member => member.channel.uuid),
];
