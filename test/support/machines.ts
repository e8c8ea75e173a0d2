import { execFileSync } from 'node:child_process';
import { createServer, connect, type Server, type AddressInfo } from 'node:net';

/** What stands for one machine of several: an address of its own, and the command that runs others on it. */
export interface Machine {
  address: string;
  through: readonly string[];
}

/** Machines in one network, with us in it. */
export interface Machines {
  list: Machine[];
  /** Our own address there. */
  here: string;
  /** The URL of a server of ours on loopback, as the machines reach it. */
  reach(url: string): Promise<string>;
  /** Takes everything away that was made. */
  remove(): Promise<void>;
}

const ip = (...args: string[]): string =>
  execFileSync('ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** A network 10.213.x that no interface has yet. */
const freeNetwork = (): string => {
  const taken = ip('-o', '-4', 'addr');
  for (let x = process.pid % 250; ; x = (x + 1) % 250) if (!taken.includes(`10.213.${x}.`)) return `10.213.${x}`;
};

/** Network namespaces behind a bridge, with a bridge address for us. Throws, and leaves nothing, where we may not. */
const namespaces = (count: number): Omit<Machines, 'reach'> => {
  const tag = `tl${process.pid}`;
  const made: string[][] = [];
  const undo = () => {
    for (const what of made.reverse()) execFileSync('ip', what, { stdio: 'ignore' });
  };
  try {
    const network = freeNetwork();
    ip('link', 'add', `${tag}b`, 'type', 'bridge');
    made.push(['link', 'del', `${tag}b`]);
    ip('addr', 'add', `${network}.1/24`, 'dev', `${tag}b`);
    ip('link', 'set', `${tag}b`, 'up');
    const list = Array.from({ length: count }, (_, index) => {
      const name = `${tag}n${index + 1}`;
      const address = `${network}.${index + 11}`;
      ip('netns', 'add', name);
      made.push(['netns', 'del', name]);
      ip('link', 'add', `${tag}v${index}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
      ip('link', 'set', `${tag}v${index}`, 'master', `${tag}b`, 'up');
      ip('-n', name, 'addr', 'add', `${address}/24`, 'dev', 'eth0');
      for (const device of ['eth0', 'lo']) ip('-n', name, 'link', 'set', device, 'up');
      return { address, through: ['ip', 'netns', 'exec', name] };
    });
    return { list, here: `${network}.1`, remove: () => Promise.resolve(undo()) };
  } catch (error) {
    undo();
    throw error;
  }
};

/** Where namespaces are not allowed: loopback addresses, which are as many hosts to SIP and RTP. */
const loopbacks = (count: number): Machines => ({
  list: Array.from({ length: count }, (_, index) => ({ address: `127.0.1.${index + 1}`, through: [] })),
  here: '127.0.0.1',
  reach: url => Promise.resolve(url),
  remove: () => Promise.resolve(),
});

/** Hands every connection to a loopback port on; resolves with the server, which listens at an address of ours. */
const forward = async (host: string, port: number): Promise<Server> => {
  const server = createServer(near => {
    const far = connect({ host: '127.0.0.1', port });
    for (const [one, other] of [[near, far] as const, [far, near] as const]) {
      one.pipe(other);
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
    }
  });
  await new Promise<void>(resolve => server.listen(0, host, resolve));
  return server;
};

/** So many machines: network namespaces where we are root, else loopback addresses. */
export const newMachines = (count: number): Machines => {
  let made: Omit<Machines, 'reach'>;
  try {
    made = namespaces(count);
  } catch {
    return loopbacks(count); // not root, or no ip
  }
  const forwards: Server[] = [];
  return {
    ...made,
    reach: async text => {
      const url = new URL(text);
      const server = await forward(made.here, Number(url.port));
      forwards.push(server);
      const { address, port } = server.address() as AddressInfo;
      url.host = `${address}:${port}`;
      return url.href;
    },
    remove: async () => {
      for (const server of forwards) server.close();
      await made.remove();
    },
  };
};
