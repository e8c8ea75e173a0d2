import { connect } from 'node:net';
import { join } from 'node:path';
import { startMediaServer } from '../../../engine/freeswitch/server.ts';
import { channelsOf, ownServers, type OwnServers } from '../../support/own-servers.ts';
import { silent, until } from './engine-under-test.ts';
import { EslWire } from './esl-wire.ts';

/** The media server that a recording is played to. */
export interface ServerOfReplay {
  sipPort: number;
  eventSocketPort: number;
  password: string;
  /** How long the application waits between what it does, as a share of what was recorded: 1 is as slowly, 0 at once. */
  pace: number;
  /** Ends the calls of these channels, and the server if it was started for them. */
  stop(channels: string[]): Promise<void>;
}

let started = 0;

/** An engine for one recording, with its files in `directory`; or the first FreeSWITCH of one's own, which others share. */
export function serverOfReplay(directory: string): Promise<ServerOfReplay> {
  const own = ownServers();
  return own ? realServer(own) : newEngine(directory);
}

async function newEngine(directory: string): Promise<ServerOfReplay> {
  const low = 24000 + (started++ % 50) * 40; // below the ports that sockets get by themselves
  const password = 'ClueCon';
  const server = await startMediaServer({
    rtpHost: '127.0.0.1',
    rtpPorts: [low, low + 38],
    sip: { host: '127.0.0.1', port: 0 },
    eventSocket: { host: '127.0.0.1', port: 0, password },
    soundsDir: directory,
    cacheDir: join(directory, 'cache'),
    log: silent,
  });
  const { sipPort, eventSocketPort } = server;
  return { sipPort, eventSocketPort, password, pace: 0, stop: () => server.stop() };
}

async function realServer(own: OwnServers): Promise<ServerOfReplay> {
  const { port, username, password } = new URL(own.MEDIA_SERVERS.split(',')[0] ?? '');
  const place = { eventSocketPort: Number(port || 8021), password: password || username };
  const profiles = await ask(place, ['sofia status']);
  const sipPort = Number(/drachtio_mrf\s.*sip:mod_sofia@[^\s:]+:(\d+)/.exec(profiles)?.[1]);
  if (!sipPort) throw new Error(`sofia status names no profile drachtio_mrf: ${profiles}`);
  const stop = async (channels: string[]): Promise<void> => {
    await ask(
      place,
      channels.map(one => `uuid_kill ${one}`),
    );
    await until(async () => (await channelsOf(own)).length === 0, 'the end of every channel', 10_000);
  };
  return { sipPort, ...place, pace: 1, stop };
}

/** What an event socket answers to these API commands, one after the other. */
async function ask(place: { eventSocketPort: number; password: string }, commands: string[]): Promise<string> {
  const socket = connect(place.eventSocketPort, '127.0.0.1');
  const wire = new EslWire(socket, () => undefined);
  socket.write([`auth ${place.password}`, ...commands.map(one => `api ${one}`), ''].join('\n\n'));
  const answers = () => wire.messages.filter(one => one.headers['Content-Type'] === 'api/response');
  await until(() => answers().length === commands.length, `answers to ${commands.join(', ')}`, 5000);
  socket.destroy();
  return answers()
    .map(one => one.body)
    .join('\n');
}
