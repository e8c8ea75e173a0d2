import { synthesize } from '../speech.ts';
import type { ConferenceCommand } from './command.ts';
import type { Conference } from './conference.ts';
import type { Member } from './member.ts';
import { openSound } from './play-queue.ts';

const maxName = 1024;
/** What follows some errors, as it does on the real server. */
const usage = {
  enter: 'enter_sound on|off|none|file <filename>',
  exit: 'exit_sound on|off|none|file <filename>',
  say: 'say <text>',
  sayMember: 'saymember <member_id> <text>',
};

/** `enter_sound|exit_sound on|off|none|file <file>`. */
function mark(which: 'enter' | 'exit'): ConferenceCommand {
  return {
    name: `${which}_sound`,
    run: ({ name, sounds }, [what, file]) => {
      const sound = sounds[which];
      if (what === 'on' || what === 'off' || what === 'none') {
        sound.on = what === 'on';
        return `+OK ${name} ${which} sounds ${sound.on ? 'on' : 'off'} (${sound.file ?? ''})\n`;
      }
      if (what !== 'file') return `-ERR ${what === undefined ? 'Not enough' : 'Bad'} args\n${usage[which]}`;
      if (file === undefined) return '-ERR No filename specified\n';
      sound.file = file.slice(0, maxName);
      return `+OK ${name} ${which} sound file set to ${sound.file}\n`;
    },
  };
}

/** Reads a text aloud to everybody, or to one; false when there is no speech engine or too much waits. */
async function say(conference: Conference, text: string, member: Member | null): Promise<boolean> {
  const { cacheDir } = conference.core.options;
  const file = await synthesize({ engine: 'flite', voice: 'slt', text, cacheDir });
  if (file === null) return false;
  const source = await openSound(conference, file);
  const queue = member ? member.plays : conference.plays;
  return !conference.over && (queue?.add(file, source, false) ?? false);
}

/** What a conference plays by itself and what it says: `enter_sound`, `exit_sound`, `moh`, `say` and `saymember`. */
export const soundCommands: ConferenceCommand[] = [
  mark('enter'),
  mark('exit'),
  {
    name: 'moh',
    run: ({ sounds }, [what]) => {
      if (what === undefined) return '-ERR invalid moh param\n';
      sounds.setMusic(what.slice(0, maxName));
      return '+OK moh\n';
    },
  },
  {
    name: 'say',
    run: async (conference, words) => {
      const Text = words.join(' ');
      if (Text === '') return `-ERR (say) Error! No text.\n${usage.say}`;
      if (!(await say(conference, Text, null))) return `-ERR (say) Error!\n${usage.say}`;
      conference.raiseAfterReply({ Action: 'speak-text', Text });
      return '+OK (say) OK\n';
    },
  },
  {
    name: 'saymember',
    run: async (conference, [id, ...words]) => {
      const Text = words.join(' ');
      if (id === undefined || Text === '') return `-ERR (saymember) No Text!\n${usage.sayMember}`;
      const member = /^\d{1,10}$/.test(id) ? conference.members.get(Number(id)) : undefined;
      if (!member) return `-ERR (saymember) Unknown Member ${id.slice(0, 64)}!\n${usage.sayMember}`;
      if (!(await say(conference, Text, member))) return `-ERR (saymember) Error!\n${usage.sayMember}`;
      conference.raiseAbout(member, 'speak-text-member', { Text });
      return '+OK (saymember) OK\n';
    },
  },
];
