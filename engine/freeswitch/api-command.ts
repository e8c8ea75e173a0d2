import type { Channel } from './channel.ts';
import type { Core } from './core.ts';

/** One api command. `run` gives the answer text; `-ERR …` and `-USAGE: …` as in FreeSWITCH. */
export interface ApiCommand {
  name: string;
  run(core: Core, args: string): string | Promise<string>;
}

/** Words of an argument text. */
export function wordsOf(args: string): string[] {
  return args
    .trim()
    .split(/\s+/)
    .filter(word => word !== '');
}

/** The answer for a channel that does not exist. */
export const noChannel = '-ERR No such channel!\n';

/** How a command on one channel answers when it has no channel. */
export interface ChannelCommandTexts {
  usage: string;
  missing?: string;
  /** Words that must follow the channel; fewer give the usage. */
  least?: number;
}

/** Makes a command whose first word is a channel; `rest` is the text after it. */
export function onChannel(
  name: string,
  { usage, missing = noChannel, least = 0 }: ChannelCommandTexts,
  run: (channel: Channel, rest: string, core: Core) => string | Promise<string>,
): ApiCommand {
  return {
    name,
    run: (core, args) => {
      const [uuid, ...words] = wordsOf(args);
      if (uuid === undefined || words.length < least) return `-USAGE: ${usage}\n`;
      const channel = core.channels.get(uuid);
      if (!channel || channel.hangupCause !== null) return missing;
      return run(channel, args.trim().slice(uuid.length).trimStart(), core);
    },
  };
}
