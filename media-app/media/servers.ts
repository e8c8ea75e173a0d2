import { EventEmitter, once } from 'node:events';
import Mrf, { type MediaServer } from 'drachtio-fsmrf';
import type { ServerAddress } from '../config.ts';
import type { Log } from '../log.ts';
import type { SipServers } from '../sip/servers.ts';
import { withDeadline } from './deadline.ts';
import { gatherWrites } from './gather-writes.ts';
import { MediaEndpoint } from './endpoint.ts';
import { ASKED_BY, type OfferKind } from './offer-kind.ts';
import { isSecure } from './sdp.ts';

const CONNECT_DEADLINE_MS = 3000;
const RETRY_MS = [250, 500, 1000, 2000];

interface Slot {
  address: ServerAddress;
  name: string;
  server: MediaServer | undefined;
}

/**
 * Connections to every FreeSWITCH of MEDIA_SERVERS, kept up for as long as we run. Emits `up` and `down` with the
 * server's `host:port`; its endpoints end by themselves because their own sockets close.
 */
export class MediaServers extends EventEmitter {
  readonly #slots: Slot[];
  readonly #sip: SipServers;
  readonly #log: Log;
  readonly #listenHost: string;
  #turn = 0;
  #stopped = false;

  constructor(addresses: ServerAddress[], listenHost: string, sip: SipServers, log: Log) {
    super();
    this.#slots = addresses.map(address => ({ address, name: `${address.host}:${address.port}`, server: undefined }));
    this.#sip = sip;
    this.#log = log;
    this.#listenHost = listenHost;
  }

  /** Connects to all; resolves when at least one is ready. */
  async start(): Promise<void> {
    this.#slots.forEach((slot, index) => void this.#keepConnected(slot, index));
    if (!this.#slots.some(slot => slot.server)) await once(this, 'up');
  }

  get states(): { address: string; connected: boolean }[] {
    return this.#slots.map(slot => ({ address: slot.name, connected: slot.server !== undefined }));
  }

  /** Name of a server that is there, by turns; empty when none is. */
  pick(): string {
    const ready = this.#slots.filter(slot => slot.server);
    return ready[this.#turn++ % Math.max(ready.length, 1)]?.name ?? '';
  }

  /**
   * A new endpoint: with a remote SDP it answers that offer, without one it makes an offer.
   * @param prefer name of the server to take when it is there, so that two legs of a bridge meet
   * @param kind what it offers; an answer is of the kind of its offer
   */
  async createEndpoint(remoteSdp: string | undefined, prefer = '', kind: OfferKind = 'plain'): Promise<MediaEndpoint> {
    const ready = this.#slots.filter(slot => slot.server);
    const slot = ready.find(one => one.name === prefer) ?? ready[this.#turn++ % Math.max(ready.length, 1)];
    if (!slot?.server) throw new Error('no media server is connected');
    // drachtio-fsmrf gives offers of secure media only to an endpoint that stands.
    const plainOffer = remoteSdp !== undefined && !isSecure(remoteSdp) ? { remoteSdp } : {};
    const options = { ...plainOffer, headers: ASKED_BY[kind] };
    const made = await withDeadline(slot.server.createEndpoint(options), 5000, 'create endpoint');
    const endpoint = new MediaEndpoint(made, slot.name, this.#log);
    if (remoteSdp !== undefined && isSecure(remoteSdp)) await answerOffer(endpoint, remoteSdp);
    return endpoint;
  }

  stop(): void {
    this.#stopped = true;
    for (const slot of this.#slots) slot.server?.disconnect();
  }

  async #keepConnected(slot: Slot, index: number): Promise<void> {
    for (let attempt = 0; !this.#stopped; attempt++) {
      try {
        slot.server = await this.#connect(slot.address, index);
        this.#log.info({ media_server: slot.name }, 'connected to the media server');
        this.emit('up', slot.name);
        attempt = -1;
        await once(slot.server, 'end');
        slot.server.disconnect();
      } catch (error) {
        if (attempt === 0)
          this.#log.warn(
            { media_server: slot.name, error: String(error) },
            'cannot reach the media server; trying again',
          );
      }
      if (slot.server) this.#lost(slot);
      await new Promise(resolve => setTimeout(resolve, RETRY_MS[Math.max(attempt, 0)] ?? 2000).unref());
    }
  }

  #lost(slot: Slot): void {
    slot.server = undefined;
    if (this.#stopped) return;
    this.#log.error({ media_server: slot.name }, 'lost the media server; connecting again');
    this.emit('down', slot.name);
  }

  async #connect(address: ServerAddress, index: number): Promise<MediaServer> {
    const sipServer = this.#sip.list[index % this.#sip.list.length];
    const mrf = new Mrf(sipServer?.srf);
    const { host, port, secret } = address;
    const server = await withDeadline(
      mrf.connect({ address: host, port, secret, listenAddress: this.#listenHost }),
      CONNECT_DEADLINE_MS,
      'connect (wrong password?)',
    );
    gatherWrites(server.conn.socket);
    return server;
  }
}

/** Gives a new endpoint the far end's offer; releases it where it cannot answer. */
async function answerOffer(endpoint: MediaEndpoint, offer: string): Promise<void> {
  try {
    await endpoint.modify(offer);
  } catch (error) {
    void endpoint.destroy();
    throw error;
  }
}
