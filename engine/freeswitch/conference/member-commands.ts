import { sendDigits } from '../digits.ts';
import type { ConferenceCommand } from './command.ts';
import { noMember, onMembers } from './command.ts';
import type { Conference } from './conference.ts';
import { isRoomName } from './conferences.ts';
import type { Member } from './member.ts';
import { setHearing, setSpeaking } from './mute.ts';
import { relateCommand } from './relate.ts';

/** Who, in the two spellings of FreeSWITCH. */
const who = '<[member_id|all]|last|non_moderator>';
const whom = '<[member_id|all|last|non_moderator]>';

/** Sends a member out; its channel lives on. */
function dismiss(member: Member, conference: Conference, action: string): void {
  conference.raiseAbout(member, action);
  member.leave();
}

/** What can be done with members: `mute`, `deaf`, `kick` and the like. */
export const memberCommands: ConferenceCommand[] = [
  onMembers('mute', `${who} [<quiet>]`, (member, conference) => setSpeaking(member, conference, false)),
  onMembers('unmute', `${who} [<quiet>]`, (member, conference) => setSpeaking(member, conference, true)),
  onMembers('tmute', `${who} [<quiet>]`, (member, conference) => setSpeaking(member, conference, !member.seat.speaks)),
  onMembers('deaf', who, (member, conference) => setHearing(member, conference, false)),
  onMembers('undeaf', who, (member, conference) => setHearing(member, conference, true)),
  // There is no video, so there is nothing to mute in it.
  onMembers('vmute', `${who} [<quiet>]`, member => `+OK vmute ${member.id}\n`),
  onMembers('unvmute', `${who} [<quiet>]`, member => `+OK unvmute ${member.id}\n`),
  onMembers('kick', `${whom} [<optional sound file>]`, (member, conference) => {
    dismiss(member, conference, 'kick-member');
    return `+OK kicked ${member.id}\n`;
  }),
  onMembers('hup', whom, (member, conference) => {
    dismiss(member, conference, 'hup-member');
    return `+OK hup ${member.id}\n`;
  }),
  onMembers('dtmf', `${whom} <digits>`, (member, conference, [digits]) => {
    if (digits === undefined) return '-ERR no digits\n';
    sendDigits(member.channel, digits);
    conference.raiseAbout(member, 'dtmf-member', { Digits: digits.slice(0, 256) });
    return `+OK sent ${digits.slice(0, 256)} to ${member.id}\n`;
  }),
  relateCommand,
  {
    name: 'transfer',
    run: (conference, [name, ...ids]) => transfer(conference, name ?? '', ids.slice(0, 100)),
  },
];

function transfer(conference: Conference, name: string, ids: string[]): string {
  if (ids.length === 0) return 'transfer <conference_name> <member id> [...<member id>]';
  if (!isRoomName(name)) return '-ERR no conference is named\n';
  const refusal = name === conference.name ? 'is where they are' : conference.core.conferences.refusal(name);
  if (refusal !== null) return `-ERR Conference ${name} ${refusal}\n`;
  return ids.map(id => move(conference, name, id)).join('');
}

function move(conference: Conference, name: string, id: string): string {
  const member = /^\d{1,10}$/.test(id) ? conference.members.get(Number(id)) : undefined;
  if (!member || member.leaving) return noMember(id.slice(0, 64));
  conference.raiseMove(member, name);
  member.destination = name;
  member.leave();
  member.channel.executions.breakEverything();
  return `+OK Member '${id}' sent to conference ${name}.\n`;
}
