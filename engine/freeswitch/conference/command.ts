import type { Conference } from './conference.ts';
import type { Member } from './member.ts';

/** One word after `conference <name>`. `run` gives the answer text; the words are those after it. */
export interface ConferenceCommand {
  name: string;
  run(conference: Conference, words: string[]): string | Promise<string>;
}

/** The answer for a member that is not there, spelled as FreeSWITCH spells it. */
export function noMember(id: string): string {
  return `-ERR Non-Existant ID ${id}\n`;
}

/** What names members; another word is answered with the usage. */
const naming = /^(0*[1-9]\d{0,9}|all|last|non_moderator)$/;

/** The members that a word names: a number, `all` or `last`; null when there is no such member. */
export function membersOf(conference: Conference, word: string): Member[] | null {
  const all = conference.newestFirst();
  if (word === 'all') return all;
  if (word === 'last') return all.slice(0, 1);
  const member = conference.members.get(Number(word));
  return naming.test(word) && member ? [member] : null;
}

const skipped = ({ id }: Member): string => `Skipping moderator (member id ${id}).\n`;

/** A command on members; without one it answers its usage, as the real server does without `-ERR`. */
export function onMembers(
  name: string,
  usage: string,
  run: (member: Member, conference: Conference, words: string[]) => string,
): ConferenceCommand {
  return {
    name,
    run: (conference, words) => {
      const [who = '', ...rest] = words;
      if (!naming.test(who)) return `${name} ${usage}`;
      if (who === 'non_moderator')
        return conference
          .newestFirst()
          .map(one => (one.moderator ? skipped(one) : run(one, conference, rest)))
          .join('');
      const members = membersOf(conference, who);
      return members ? members.map(member => run(member, conference, rest)).join('') : noMember(who);
    },
  };
}
