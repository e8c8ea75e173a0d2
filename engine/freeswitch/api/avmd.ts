import type { ApiCommand } from '../api-command.ts';
import { wordsOf } from '../api-command.ts';
import { startAvmd, stopAvmd } from '../avmd.ts';

const usage = '-USAGE: <uuid> < start | stop >\n\n';

/** `avmd <uuid> start|stop`: waits for the beep of an answering machine. Answers as the real server does, `+ERR` and all. */
export const avmd: ApiCommand = {
  name: 'avmd',
  run: (core, args) => {
    const [uuid, word, more] = wordsOf(args);
    if (uuid === undefined || word === undefined || more !== undefined) return `-ERR, bad command!\n${usage}`;
    const channel = core.channels.get(uuid);
    if (!channel || channel.hangupCause !== null)
      return `-ERR, no FreeSWITCH session for uuid [${uuid.slice(0, 64)}]!\n${usage}`;
    const named = `[${uuid}] [${channel.name}]`;
    if (word === 'start') {
      if (startAvmd(channel)) return `+OK\n ${named} started!\n\n`;
      return `-ERR, avmd for FreeSWITCH session [${uuid}]\n already started\n\n`;
    }
    if (word !== 'stop') return `-ERR, did you mean\n api avmd ${uuid} start ?\n${usage}`;
    return stopAvmd(channel) ? `+OK\n ${named} stopped\n\n` : `+ERR, avmd has not yet been started on\n ${named}\n\n`;
  },
};
