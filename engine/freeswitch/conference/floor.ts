import type { Member } from './member.ts';

/**
 * Who should have the floor: whoever talks keeps it; otherwise the loudest talker gets it; without a holder it goes to
 * the newest member, as in the real server. Ghosts never have it. Null when there is nobody.
 */
export function floorOf(members: Iterable<Member>, holder: Member | null): Member | null {
  if (holder && talks(holder)) return holder;
  let next = holder;
  let loudest = 0;
  for (const member of members) {
    if (member.ghost) continue;
    if (talks(member) && member.seat.level > loudest) {
      next = member;
      loudest = member.seat.level;
    } else if (holder === null && loudest === 0) next = member;
  }
  return next;
}

function talks({ talk, seat }: Member): boolean {
  return talk.talking && seat.speaks;
}
