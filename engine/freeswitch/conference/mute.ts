import type { Conference } from './conference.ts';
import type { Member } from './member.ts';

/** Lets the others hear a member, or not; gives the answer of the command. */
export function setSpeaking(member: Member, conference: Conference, on: boolean): string {
  member.seat.speaks = on;
  member.talk.reset();
  member.gate();
  conference.raiseAbout(member, on ? 'unmute-member' : 'mute-member');
  return `+OK ${on ? 'unmute' : 'mute'} ${member.id}\n`;
}

/** Lets a member hear the others, or not; gives the answer of the command. */
export function setHearing(member: Member, conference: Conference, on: boolean): string {
  member.seat.hears = on;
  conference.raiseAbout(member, on ? 'undeaf-member' : 'deaf-member');
  return `+OK ${on ? 'undeaf' : 'deaf'} ${member.id}\n`;
}
