import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { hostPort } from './sip-address.ts';
import type { Remote } from './sip-address.ts';
import { takeMessages } from './sip-stream.ts';

export type Protocol = 'udp' | 'tcp';

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
  return options.protocol === 'udp' ? openUdp(options, handlers) : openTcp(options, handlers);
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
