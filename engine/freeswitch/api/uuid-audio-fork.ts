import type { ApiCommand } from '../api-command.ts';
import type { ForkCommand } from '../audio-fork/arguments.ts';
import { parseNamed, parseStart, splitCommand } from '../audio-fork/arguments.ts';
import type { AudioFork } from '../audio-fork/audio-fork.ts';
import type { Channel } from '../channel.ts';

const done = '+OK Success\n';
const failed = '-ERR Operation Failed\n';
const usage =
  '-USAGE: <uuid> [start | stop | send_text | pause | resume | graceful-shutdown | stop_play ] [wss-url | path] [mono | mixed | stereo] [8000 | 16000 | 24000 | 32000 | 64000] [bugname] [metadata] [bidirectionalAudio_enabled] [bidirectionalAudio_stream_enabled] [bidirectionalAudio_stream_samplerate]\n';

type Action = (channel: Channel, command: ForkCommand) => string;

/** Every action that needs a fork of a name; false means that it could not be done. */
function onFork(run: (fork: AudioFork, text: string | null) => boolean | void): Action {
  return (channel, { rest, separator }) => {
    const { name, text } = parseNamed(rest, separator);
    const fork = channel.forks.find(name);
    return fork && run(fork, text) !== false ? done : failed;
  };
}

const actions: ReadonlyMap<string, Action> = new Map<string, Action>([
  ['start', start],
  ['stop', stop],
  ['send_text', sendText],
  ['pause', pause],
  ['resume', onFork(fork => fork.resume())],
  ['graceful-shutdown', onFork(fork => fork.shutDown())],
  ['stop_play', onFork(fork => fork.streams && void fork.stopPlay())],
]);

/** `uuid_audio_fork <uuid> <action> …`: audio of a call over a WebSocket (protocol page §10). Answers before it connects. */
export const uuidAudioFork: ApiCommand = {
  name: 'uuid_audio_fork',
  run: (core, args) => {
    const command = splitCommand(args);
    if (command.action === '') return usage;
    const channel = core.channels.get(command.uuid);
    if (!channel || channel.hangupCause !== null) return failed;
    return actions.get(command.action)?.(channel, command) ?? failed;
  },
};

function start(channel: Channel, { rest, separator }: ForkCommand): string {
  if (rest.split(separator, 3).filter(word => word.trim() !== '').length < 3) return usage;
  const options = parseStart(rest, separator);
  return options && channel.forks.start(options) ? done : failed;
}

function stop(channel: Channel, { rest, separator }: ForkCommand): string {
  const { name, text } = parseNamed(rest, separator);
  return channel.forks.stop(name, text) ? done : failed;
}

/** A single word is text for the fork without a name. */
function sendText(channel: Channel, { rest, separator }: ForkCommand): string {
  const { name, text } = parseNamed(rest, separator);
  const fork = channel.forks.find(text === null ? null : name);
  const words = text ?? name;
  if (!fork || words === null) return failed;
  fork.sendText(words);
  return done;
}

/** `pause [name] [silence|blank]`. */
function pause(channel: Channel, { rest, separator }: ForkCommand): string {
  const { name, text } = parseNamed(rest, separator);
  const unnamed = text === null && (name === 'silence' || name === 'blank') && !channel.forks.find(name);
  const fork = channel.forks.find(unnamed ? null : name);
  fork?.pause((unnamed ? name : text) === 'silence' ? 'silence' : 'blank');
  return fork ? done : failed;
}
