import { EventEmitter, once } from 'node:events';
import type { ServerAddress } from '../config.ts';
import type { Log } from '#process/log';
import { SipCaptures } from './capture.ts';
import {
  closeWhenSilent,
  createSrf,
  keepConnected,
  type SipRequest,
  type SipResponse,
  type SrfConnection,
  watchMessages,
} from './srf.ts';

/** Takes a request that arrived through one of the SIP servers. */
type Handler = (request: SipRequest, response: SipResponse, server: SipServer) => void;

export interface SipHandlers {
  invite: Handler;
  register: Handler;
  options: Handler;
  subscribe: Handler;
}

/** One drachtio-server and whether its admin connection stands. */
export interface SipServer {
  address: string;
  srf: SrfConnection;
  connected: boolean;
  captures: SipCaptures;
}

/**
 * Connections to every drachtio-server of SIP_SERVERS. Connections that are lost are made again; calls
 * go through a server that is there. Emits `up` and `down` with the address.
 */
export class SipServers extends EventEmitter {
  readonly list: SipServer[];
  #turn = 0;

  constructor(addresses: ServerAddress[], log: Log) {
    super();
    this.list = addresses.map(({ host, port }) => ({
      address: `${host}:${port}`,
      srf: createSrf(),
      connected: false,
      captures: new SipCaptures(),
    }));
    this.list.forEach(server => this.#watch(server, log));
    this.#addresses = addresses;
  }

  readonly #addresses: ServerAddress[];
  readonly #watches: (() => void)[] = [];

  /** Registers the handlers and connects; resolves when at least one server answered. */
  async start(handlers: SipHandlers): Promise<void> {
    this.list.forEach((server, index) => {
      server.srf.invite((request, response) => handlers.invite(request, response, server));
      server.srf.register((request, response) => handlers.register(request, response, server));
      server.srf.options((request, response) => handlers.options(request, response, server));
      server.srf.subscribe((request, response) => handlers.subscribe(request, response, server));
      const address = this.#addresses[index];
      if (!address) return;
      this.#watches.push(keepConnected(server.srf, address));
      watchMessages(server.srf, message => server.captures.hear(message));
      this.#watches.push(closeWhenSilent(server.srf));
    });
    if (!this.list.some(server => server.connected)) await once(this, 'up');
  }

  /** A connected server, in turn; the preferred one when it is connected. */
  pick(preferred = ''): SipServer | undefined {
    const up = this.list.filter(server => server.connected);
    return up.find(server => server.address === preferred) ?? up[this.#turn++ % Math.max(up.length, 1)];
  }

  /**
   * The connected server by which a target is reached: the one that holds its connection and no other (RFC 5626 section
   * 5.3). A datagram may come from another one too, when its own is gone.
   */
  towards({ sip_server, transport = 'udp' }: { sip_server: string; transport?: string }): SipServer | undefined {
    const server = this.pick(sip_server);
    const bound = sip_server !== '' && transport !== 'udp';
    return bound && server?.address !== sip_server ? undefined : server;
  }

  /** Where a server takes calls itself, as a URI: for calls that stay in the house. */
  ownAddress(server: SipServer): string {
    const { address, port } = server.captures.listenerOf('udp');
    return `sip:${address === '0.0.0.0' || address === '' ? '127.0.0.1' : address}:${port || 5060}`;
  }

  /** Resolves when everything seen on the wire is stored. */
  async flush(): Promise<void> {
    await Promise.all(this.list.map(server => server.captures.flush()));
  }

  stop(): void {
    for (const stopWatching of this.#watches) stopWatching();
  }

  #watch(server: SipServer, log: Log): void {
    server.srf.on('connect', (error: Error | null, hostports = '') => {
      if (error) return this.#down(server, log, error);
      server.captures.setListeners(String(hostports));
      server.connected = true;
      log.info({ sip_server: server.address }, 'connected to the SIP server');
      this.emit('up', server.address);
    });
    server.srf.on('error', (error: Error) => this.#down(server, log, error));
    server.srf.on('close', () => this.#down(server, log, undefined));
  }

  #down(server: SipServer, log: Log, error: Error | undefined): void {
    if (server.connected || error?.message.includes('secret')) {
      log.error({ sip_server: server.address, error: error?.message }, 'lost the SIP server; connecting again');
      this.emit('down', server.address);
    }
    server.connected = false;
  }
}
