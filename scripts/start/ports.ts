import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { StartError, type Settings } from './config.ts';
import { commandLineOf } from './processes.ts';

export type Transport = 'tcp' | 'udp';

interface Socket {
  port: number;
  inode: string;
}

const LISTENING = '0A';

const readTable = (file: string): string => {
  try {
    return readFileSync(`/proc/net/${file}`, 'utf8');
  } catch {
    return ''; // no /proc, or no IPv6
  }
};

const socketsOf = (file: string, transport: Transport): Socket[] => {
  return readTable(file)
    .split('\n')
    .slice(1)
    .map(line => line.trim().split(/\s+/))
    .filter(fields => fields.length > 9 && (transport === 'udp' || fields[3] === LISTENING))
    .map(fields => ({ port: parseInt(fields[1]?.split(':')[1] ?? '0', 16), inode: fields[9] ?? '' }));
};

/** Every bound UDP socket, or every listening TCP socket, that the kernel lists. */
const boundSockets = (transport: Transport): Socket[] => [
  ...socketsOf(transport, transport),
  ...socketsOf(`${transport}6`, transport),
];

const holdsSocket = (pid: string, links: Set<string>): boolean => {
  try {
    return readdirSync(`/proc/${pid}/fd`).some(fd => {
      try {
        return links.has(readlinkSync(`/proc/${pid}/fd/${fd}`));
      } catch {
        return false; // closed meanwhile
      }
    });
  } catch {
    return false; // gone, or another user's
  }
};

/** Who holds a port, as far as this user may see. */
const portHolder = (transport: Transport, port: number): { pid: number; program: string } | undefined => {
  const links = new Set(
    boundSockets(transport)
      .filter(socket => socket.port === port)
      .map(socket => `socket:[${socket.inode}]`),
  );
  if (links.size === 0) return undefined;
  const pid = readdirSync('/proc').find(name => /^\d+$/.test(name) && holdsSocket(name, links));
  return pid === undefined
    ? undefined
    : { pid: Number(pid), program: commandLineOf(Number(pid)).replace(/\s+/g, ' ').slice(0, 120) || 'unknown' };
};

const tryTcp = (host: string, port: number): Promise<string | undefined> =>
  new Promise(resolve => {
    const server = createServer();
    server.once('error', error => resolve((error as NodeJS.ErrnoException).code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });

const tryUdp = (host: string, port: number): Promise<string | undefined> =>
  new Promise(resolve => {
    const socket = createSocket({ type: host.includes(':') ? 'udp6' : 'udp4' });
    socket.once('error', error => socket.close(() => resolve((error as NodeJS.ErrnoException).code ?? error.message)));
    socket.bind({ port, address: host, exclusive: true }, () => socket.close(() => resolve(undefined)));
  });

const sentence = (code: string, transport: Transport, host: string, port: number, setting: string): string => {
  const where = `${transport.toUpperCase()} port ${port} on ${host}`;
  if (code === 'EACCES') return `${where} needs root: choose a port above 1023 with ${setting}.`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `HOST=${host} is no address of this machine: set HOST to one that is, or to 0.0.0.0.`;
  if (code !== 'EADDRINUSE') return `${where} cannot be opened (${code}): choose another with ${setting}.`;
  const holder = portHolder(transport, port);
  const by = holder ? ` by process ${holder.pid} (${holder.program})` : ' by a process this user may not see';
  return `${where} is already in use${by}: stop it, or choose another port with ${setting}.`;
};

/** The sentence about a port that cannot be opened, or `undefined` when it can. */
export const portProblem = async (
  transport: Transport,
  host: string,
  port: number,
  setting: string,
): Promise<string | undefined> => {
  const code = await (transport === 'tcp' ? tryTcp(host, port) : tryUdp(host, port));
  return code === undefined ? undefined : sentence(code, transport, host, port, setting);
};

const rtpProblem = (range: string, settings: Settings): string | undefined => {
  const [low = 0, high = 0] = range.split('-').map(Number);
  if (settings.SIP_PORT >= low && settings.SIP_PORT <= high)
    return `SIP_PORT=${settings.SIP_PORT} lies inside RTP_PORTS=${range}: move one of them.`;
  const taken = new Set(
    boundSockets('udp')
      .map(socket => socket.port)
      .filter(port => port >= low && port <= high),
  );
  if (high - low + 1 - taken.size >= 4) return undefined;
  const holder = portHolder('udp', [...taken][0] ?? 0);
  const by = holder ? ` by process ${holder.pid} (${holder.program}) and others` : '';
  return `The UDP ports RTP_PORTS=${range} are nearly all in use${by}: choose another range with RTP_PORTS.`;
};

/** The ports `auto` stands for: those of TLS in RFC 3261 19.1.2, and of WebSocket as FreeSWITCH has them. */
const SIP_PORTS = { SIP_TLS_PORT: 5061, SIP_WS_PORT: 5066, SIP_WSS_PORT: 7443 } as const;
type SipPortSetting = keyof typeof SIP_PORTS;
const SIP_PORT_SETTINGS = Object.keys(SIP_PORTS) as SipPortSetting[];

/** The settings that say `auto` with what it comes to: the usual port when it is free, else off, which is noted. */
export const settleSipPorts = async (
  settings: Settings,
  note: (text: string) => void,
): Promise<Partial<Pick<Settings, SipPortSetting>>> => {
  const settle = async (name: SipPortSetting): Promise<[SipPortSetting, number | 'off']> => {
    const problem = await portProblem('tcp', settings.HOST, SIP_PORTS[name], name);
    if (problem) note(`${problem} Going on without it.`);
    return [name, problem ? 'off' : SIP_PORTS[name]];
  };
  const open = settings.SIP_SERVERS === undefined ? SIP_PORT_SETTINGS.filter(name => settings[name] === 'auto') : [];
  return Object.fromEntries(await Promise.all(open.map(settle)));
};

const sipPortProblem = async (settings: Settings, name: SipPortSetting): Promise<string | undefined> => {
  const port = settings[name];
  return typeof port === 'number' ? portProblem('tcp', settings.HOST, port, name) : undefined;
};

/** Throws one StartError with a sentence for every port that npm start needs and cannot have. */
export const checkPorts = async (settings: Settings): Promise<void> => {
  const ownEngine = settings.SIP_SERVERS === undefined;
  const problems = await Promise.all([
    portProblem('tcp', settings.HOST, settings.HTTP_PORT, 'HTTP_PORT'),
    ownEngine ? portProblem('udp', settings.HOST, settings.SIP_PORT, 'SIP_PORT') : undefined,
    ownEngine ? portProblem('tcp', settings.HOST, settings.SIP_PORT, 'SIP_PORT') : undefined,
    ...(ownEngine ? SIP_PORT_SETTINGS.map(name => sipPortProblem(settings, name)) : []),
    ownEngine ? Promise.resolve(rtpProblem(settings.RTP_PORTS, settings)) : undefined,
  ]);
  const found = [...new Set(problems.filter(problem => problem !== undefined))];
  if (found.length > 0) throw new StartError(found.join('\n'));
};

/**
 * Where free ports are looked for: below those that systems give to outgoing connections (32768 and up on Linux), so that none
 * of these takes a port before its process listens there, and above the RTP ports that `npm start` uses.
 */
const FREE_PORTS = [25_000, 32_767] as const;

/**
 * Claims a port for this process among all that look for one here, since whoever was given it may not listen there yet. The claim
 * is a socket of Linux's abstract namespace (unix(7)), which ends with its process, however that ends.
 */
const claim = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const server = createServer().unref();
    server.once('error', () => resolve(false));
    server.listen(`\0trunkline-port-${port}`, () => resolve(true));
  });

/** Holds a random port, or undefined when somebody else has it. */
const holdOne = async (
  range: readonly [number, number],
): Promise<{ port: number; close: () => Promise<void> } | undefined> => {
  const port = randomInt(...range);
  if (!(await claim(port))) return undefined;
  return new Promise(resolve => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () =>
      resolve({ port, close: () => new Promise(done => server.close(() => done())) }),
    );
  });
};

/**
 * Different loopback ports that are free now, for TCP and UDP, and were given to nobody before whose process still runs. Rejects when
 * there seem to be none.
 */
export const freePorts = async (count: number, range: readonly [number, number] = FREE_PORTS): Promise<number[]> => {
  const found: number[] = [];
  for (let tries = 0; found.length < count; tries += 1) {
    if (tries > 100) throw new Error(`no free port between ${range[0]} and ${range[1]}`);
    const held = (await Promise.all(Array.from({ length: count - found.length }, () => holdOne(range)))).filter(
      one => one !== undefined,
    );
    for (const one of held) if ((await tryUdp('127.0.0.1', one.port)) === undefined) found.push(one.port);
    await Promise.all(held.map(one => one.close()));
  }
  return found;
};
