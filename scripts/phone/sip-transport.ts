import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { connect as connectTls } from 'node:tls';
import { WebSocket } from 'ws';
import { hostPort } from './sip-address.ts';
import type { Remote } from './sip-address.ts';
import { takeMessages } from './sip-stream.ts';

export const PROTOCOLS = ['udp', 'tcp', 'tls', 'ws', 'wss'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** One message off the wire; `at` is performance.now() as soon as the socket gave it to us. */
export interface Arrival {
  data: Buffer;
  from: Remote;
  at: number;
}

export interface TransportHandlers {
  message(arrival: Arrival): void;
  /** A connection to `to` could not be made or broke; UDP never says so. */
  failed(to: Remote, error: Error): void;
}

export interface SipTransport {
  protocol: Protocol;
  local: Remote;
  /** What Via and Contact say instead of the local address: a name nobody can dial (RFC 7118 5.1). */
  sentBy?: string;
  send(data: Buffer, to: Remote): void;
  close(): Promise<void>;
}

export interface TransportOptions {
  protocol: Protocol;
  /** Address to bind; also what Contact and Via say. */
  host: string;
  /** 0 lets the system choose. */
  port: number;
}

/** Opens the phone's SIP socket. Rejects with the system's error (EADDRINUSE …). */
export function openTransport(options: TransportOptions, handlers: TransportHandlers): Promise<SipTransport> {
  if (options.protocol === 'udp') return openUdp(options, handlers);
  if (options.protocol === 'tcp') return openTcp(options, handlers);
  return Promise.resolve(options.protocol === 'tls' ? openTls(options, handlers) : openWebSocket(options, handlers));
}

async function openUdp(options: TransportOptions, handlers: TransportHandlers): Promise<SipTransport> {
  const socket = createSocket({ type: options.host.includes(':') ? 'udp6' : 'udp4', recvBufferSize: 1 << 20 });
  socket.on('message', (data, info) => {
    const at = performance.now();
    handlers.message({ data, from: { host: info.address, port: info.port }, at });
  });
  socket.bind(options.port, options.host);
  await once(socket, 'listening');
  socket.on('error', error => handlers.failed({ host: options.host, port: options.port }, error));
  let open = true;
  return {
    protocol: 'udp',
    local: { host: options.host, port: socket.address().port },
    send: (data, to) => {
      if (open) socket.send(data, to.port, to.host, error => error && handlers.failed(to, error));
    },
    close: async () => {
      if (!open) return;
      open = false;
      await new Promise<void>(resolve => socket.close(resolve));
    },
  };
}

/** TCP listens as well, because a server may open its own connection to our Contact (RFC 3261 section 18.1.1). */
async function openTcp(options: TransportOptions, handlers: TransportHandlers): Promise<SipTransport> {
  const connections = new Map<string, Socket>();
  const adopt = (socket: Socket, remote: Remote) => adoptConnection(connections, handlers, socket, remote);
  const server = createServer(socket =>
    adopt(socket, { host: socket.remoteAddress ?? '', port: socket.remotePort ?? 0 }),
  );
  server.listen(options.port, options.host);
  await once(server, 'listening');
  return {
    protocol: 'tcp',
    local: { host: options.host, port: (server.address() as AddressInfo).port },
    send: (data, to) => {
      if (!server.listening) return;
      const socket = connections.get(hostPort(to)) ?? adopt(connect({ ...to, localAddress: options.host }), to);
      socket.write(data);
    },
    close: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      for (const socket of connections.values()) socket.destroy();
      await closed;
    },
  };
}

/** TLS is dialled only: whoever calls this phone uses the connection it opened. Any certificate is taken. */
function openTls({ host }: TransportOptions, handlers: TransportHandlers): SipTransport {
  const connections = new Map<string, Socket>();
  const dial = (to: Remote): Socket =>
    adoptConnection(connections, handlers, connectTls({ ...to, rejectUnauthorized: false }), to);
  return {
    protocol: 'tls',
    local: { host, port: 5061 },
    sentBy: unreachableName(),
    send: (data, to) => void (connections.get(hostPort(to)) ?? dial(to)).write(data),
    close: async () => {
      await Promise.all([...connections.values()].map(socket => once(socket.destroy(), 'close')));
    },
  };
}

const unreachableName = (): string => `${randomBytes(6).toString('hex')}.invalid`;

/** As a browser's phone does it: one connection, one message a frame (RFC 7118). Any certificate is taken. */
function openWebSocket({ host, protocol }: TransportOptions, handlers: TransportHandlers): SipTransport {
  const sockets = new Map<string, WebSocket>();
  const dial = (to: Remote): WebSocket => {
    const options = { localAddress: host, rejectUnauthorized: false, perMessageDeflate: false };
    const socket = new WebSocket(`${protocol}://${hostPort(to)}`, 'sip', options);
    sockets.set(hostPort(to), socket);
    socket.on('message', (data: Buffer) => {
      if (data.length > 4) handlers.message({ data, from: to, at: performance.now() });
    });
    socket.on('error', error => handlers.failed(to, error));
    socket.on('close', () => sockets.delete(hostPort(to)));
    return socket;
  };
  return {
    protocol,
    local: { host, port: protocol === 'ws' ? 80 : 443 },
    sentBy: unreachableName(),
    send: (data, to) => {
      const socket = sockets.get(hostPort(to)) ?? dial(to);
      if (socket.readyState === WebSocket.OPEN) socket.send(data.toString());
      else socket.once('open', () => socket.send(data.toString()));
    },
    close: async () => {
      const open = [...sockets.values()];
      for (const socket of open) socket.terminate();
      await Promise.all(
        open.filter(socket => socket.readyState !== WebSocket.CLOSED).map(socket => once(socket, 'close')),
      );
    },
  };
}

function adoptConnection(
  connections: Map<string, Socket>,
  handlers: TransportHandlers,
  socket: Socket,
  remote: Remote,
): Socket {
  const key = hostPort(remote);
  connections.set(key, socket);
  socket.setNoDelay(true);
  let pending: Buffer<ArrayBufferLike> = Buffer.alloc(0);
  socket.on('data', data => {
    const at = performance.now();
    const { messages, rest, broken } = takeMessages(Buffer.concat([pending, data]));
    pending = rest;
    for (const message of messages) handlers.message({ data: message, from: remote, at });
    if (broken) socket.destroy();
  });
  socket.on('error', error => handlers.failed(remote, error));
  socket.on('close', () => {
    if (connections.get(key) === socket) connections.delete(key);
  });
  return socket;
}
