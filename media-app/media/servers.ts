import { EventEmitter, once } from 'node:events';
import Mrf, { type Endpoint, type MediaServer } from 'drachtio-fsmrf';
import { socketHost, type ServerAddress } from '../config.ts';
import type { Log } from '#process/log';
import type { SipServers } from '../sip/servers.ts';
import type { Dialog, OpenOffer, UacProgress } from '../sip/srf.ts';
import { withDeadline } from './deadline.ts';
import { gatherWrites } from './gather-writes.ts';
import { MediaEndpoint } from './endpoint.ts';
import { openLink } from './link.ts';
import { ASKED_BY, type AddressFamily, type OfferKind } from './offer-kind.ts';

const CONNECT_DEADLINE_MS = 3000;
const ENDPOINT_DEADLINE_MS = 5000;
const RETRY_MS = [250, 500, 1000, 2000];

interface Slot {
  address: ServerAddress;
  name: string;
  server: MediaServer | undefined;
  /** What it holds for us. */
  endpoints: Set<MediaEndpoint>;
}

/**
 * Connections to every FreeSWITCH of MEDIA_SERVERS, kept up for as long as we run. One that dies or does not answer any
 * more is out of the pool with all its endpoints until it is back. Emits `up` and `down` with the server's `host:port`.
 */
export class MediaServers extends EventEmitter {
  readonly #slots: Slot[];
  readonly #sip: SipServers;
  readonly #log: Log;
  readonly #listenHost: string;
  readonly #patienceMs: number;
  #turn = 0;
  #stopped = false;

  /** @param patienceMs how long a media server may take to make an endpoint */
  constructor(
    addresses: ServerAddress[],
    listenHost: string,
    sip: SipServers,
    log: Log,
    patienceMs = ENDPOINT_DEADLINE_MS,
  ) {
    super();
    this.#slots = addresses.map(address => {
      const name = `${address.host}:${address.port}`;
      return { address, name, server: undefined, endpoints: new Set() };
    });
    this.#sip = sip;
    this.#log = log;
    this.#listenHost = listenHost;
    this.#patienceMs = patienceMs;
  }

  /** Connects to all; resolves when at least one is ready. */
  async start(): Promise<void> {
    this.#slots.forEach((slot, index) => void this.#keepConnected(slot, index));
    if (!this.#slots.some(slot => slot.server)) await once(this, 'up');
  }

  get states(): { address: string; connected: boolean }[] {
    return this.#slots.map(slot => ({ address: slot.name, connected: slot.server !== undefined }));
  }

  /** Name of a server that is there: the preferred one, else by turns; empty when none is. */
  pick(prefer = ''): string {
    return this.#ready(prefer)?.name ?? '';
  }

  /**
   * A new endpoint: with a remote SDP it answers that offer, without one it makes an offer.
   * @param prefer name of the server to take when it is there, so that two legs of a bridge meet
   * @param kind what it offers; an answer is of the kind of its offer
   * @param family which addresses it offers, where the media server has a choice
   */
  async createEndpoint(
    remoteSdp: string | undefined,
    prefer = '',
    kind: OfferKind = 'plain',
    family: AddressFamily = 'ipv4',
  ): Promise<MediaEndpoint> {
    const slot = this.#ready(prefer);
    if (!slot?.server) throw new Error('no media server is connected');
    const offer = remoteSdp === undefined ? {} : { [OFFER]: remoteSdp };
    const reached = family === 'ipv6' && slot.server.hasCapability(['ipv6', 'udp']) ? { family } : {};
    const options = { ...reached, headers: { ...ASKED_BY[kind], ...offer } };
    const made = await inTime(slot.server.createEndpoint(options), this.#patienceMs);
    const endpoint = new MediaEndpoint(made, slot.name, this.#log, to => openLink(this, slot.name, to));
    slot.endpoints.add(endpoint);
    void endpoint.over.then(() => slot.endpoints.delete(endpoint));
    if (remoteSdp !== undefined) await endpoint.takeKeysOf(remoteSdp);
    return endpoint;
  }

  stop(): void {
    this.#stopped = true;
    for (const slot of this.#slots) slot.server?.disconnect();
  }

  #ready(prefer: string): Slot | undefined {
    const ready = this.#slots.filter(slot => slot.server);
    return ready.find(slot => slot.name === prefer) ?? ready[this.#turn++ % Math.max(ready.length, 1)];
  }

  async #keepConnected(slot: Slot, index: number): Promise<void> {
    for (let attempt = 0; !this.#stopped; attempt++) {
      try {
        slot.server = await this.#connect(slot.address, index);
        this.#log.info({ media_server: slot.name }, 'connected to the media server');
        this.emit('up', slot.name);
        attempt = -1;
        await Promise.race([once(slot.server, 'end'), untilSilent(slot.server)]);
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
    this.#log.error({ media_server: slot.name, legs: slot.endpoints.size }, 'lost the media server; connecting again');
    for (const endpoint of [...slot.endpoints]) endpoint.lose();
    this.emit('down', slot.name);
  }

  async #connect(address: ServerAddress, index: number): Promise<MediaServer> {
    const mrf = new Mrf({ createUAC: this.#invite(index) });
    const { port, secret } = address;
    const connecting = mrf.connect({ address: socketHost(address), port, secret, listenAddress: this.#listenHost });
    let late = false;
    connecting.then(server => late && server.disconnect()).catch(() => undefined); // told below, or nobody waits
    const server = await withDeadline(connecting, CONNECT_DEADLINE_MS, 'connect (wrong password?)').catch(
      (error: unknown) => {
        late = true;
        throw error;
      },
    );
    gatherWrites(server.conn.socket);
    return server;
  }

  /** INVITEs to a media server go through the SIP server of the same place in the list, or one that is there. */
  #invite(index: number): Invite {
    const beside = this.#sip.list[index % this.#sip.list.length]?.address;
    return async (uri, options, progress) => {
      const sipServer = this.#sip.pick(beside);
      if (!sipServer) throw new Error('no SIP server is connected');
      const { headers } = options;
      const localSdp = headers[OFFER];
      if (localSdp !== undefined) return sipServer.srf.createUAC(uri, { headers, localSdp }, progress);
      return answerWithItself(await sipServer.srf.createUAC(uri, { headers, noAck: true }));
    };
  }
}

/**
 * The far end's offer, beside the headers of the INVITE that is to bring it; no header comes of it. drachtio-fsmrf refuses to
 * carry offers of secure media, and FreeSWITCH takes SRTP only from the first offer of a leg.
 */
const OFFER = Symbol('offer');

interface Headers extends Record<string, string> {
  [OFFER]?: string;
}

/** `createUAC` as fsmrf calls it: without an offer the media server makes one. */
type Invite = (uri: string, options: { headers: Headers }, progress: UacProgress) => Promise<Dialog>;

/**
 * While no phone is there its leg is told that it is its own far end. drachtio-srf would add `a=recvonly`, and FreeSWITCH runs
 * no application on such a leg, `hangup` neither.
 */
function answerWithItself({ sdp, ack }: OpenOffer): Promise<Dialog> {
  return ack(sdp);
}

/** How often a media server is asked whether it is there, and how long it may say nothing to that. */
const WATCH_MS = 1000;
const SILENCES = 4;

/** Resolves when a media server, whose connection may well stand, has stopped answering. */
function untilSilent(server: MediaServer): Promise<void> {
  return new Promise(resolve => {
    let silences = 0;
    const answered = () => (silences = 0);
    const { conn } = server;
    const timer = setInterval(() => {
      if (!conn.connected()) return clearInterval(timer);
      if (silences++ === 0) return conn.api('status', '', answered);
      if (silences <= SILENCES) return;
      clearInterval(timer);
      resolve();
    }, WATCH_MS);
    timer.unref();
  });
}

/** An endpoint that comes when nobody waits for it any more goes back: its leg is the media server's, and would stay. */
function inTime(making: Promise<Endpoint>, patienceMs: number): Promise<Endpoint> {
  return withDeadline(making, patienceMs, 'create endpoint').catch((error: unknown) => {
    making.then(late => late.destroy()).catch(() => undefined); // it never came to be, or its server is gone
    throw error;
  });
}
