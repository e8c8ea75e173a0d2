import { fileURLToPath } from 'node:url';
import Mrf, { type Endpoint, type MediaServer } from 'drachtio-fsmrf';
import { createSrf, type SrfConnection } from '../../media-app/sip/srf.ts';
import { processorSeconds } from './processes.ts';
import { inTurns, LoadPhone } from './rtp-load.ts';
import { type Servers, startEngineProcess } from './servers.ts';
import { startBareApp, startScript } from './systems.ts';
import type { TalkingPhones } from './talking-phones.ts';

const AT_ONCE = 10;
const RTP_PORTS = '46000-49999';

/** A phone and the endpoint that speaks with it. */
export interface Leg {
  phone: LoadPhone;
  endpoint: Endpoint;
}

/** A SIP server and a media server with phones on them, driven by drachtio-fsmrf as media-app drives them. */
export class LoadedServers {
  readonly #servers: Servers;
  readonly #srf: SrfConnection;
  readonly #media: MediaServer;

  private constructor(servers: Servers, srf: SrfConnection, media: MediaServer) {
    [this.#servers, this.#srf, this.#media] = [servers, srf, media];
  }

  /** The embedded engine in a process of its own. */
  static async engine(): Promise<LoadedServers> {
    return LoadedServers.on(
      await startEngineProcess({ rtpPorts: RTP_PORTS, onLine: line => console.log(`engine: ${line}`) }),
    );
  }

  static async on(servers: Servers): Promise<LoadedServers> {
    const srf = createSrf();
    srf.on('error', () => undefined); // the engine stops before we do
    await new Promise(resolve => {
      srf.once('connect', resolve);
      void srf.connect(servers.admin);
    });
    const { eventSocket } = servers;
    const media = await new Mrf(srf).connect({ ...eventSocket, listenAddress: eventSocket.address });
    media.conn.socket?.setNoDelay(true);
    return new LoadedServers(servers, srf, media);
  }

  get name(): string {
    return this.#servers.name;
  }

  /** Processor seconds that they have used until now. */
  get processorSeconds(): number {
    return this.#servers.pids.reduce((sum, pid) => sum + processorSeconds(pid), 0);
  }

  legs(count: number): Promise<Leg[]> {
    const ids = Array.from({ length: count }, (_, id) => id);
    return inTurns(ids, AT_ONCE, id => this.leg(id));
  }

  async leg(id: number): Promise<Leg> {
    const phone = await LoadPhone.open(id);
    const endpoint = await this.#endpointFor(phone.sdp);
    phone.talkTo(endpoint.local.sdp);
    return { phone, endpoint };
  }

  /** Endpoints for phones that are elsewhere, who talk with them from then on. */
  async endpointsOf(phones: TalkingPhones): Promise<Endpoint[]> {
    const endpoints = await inTurns(phones.sdps, AT_ONCE, sdp => this.#endpointFor(sdp));
    phones.talkTo(endpoints.map(({ local }) => local.sdp));
    return endpoints;
  }

  async #endpointFor(sdp: string): Promise<Endpoint> {
    const endpoint = await this.#media.createEndpoint({ remoteSdp: sdp });
    endpoint.conn?.socket?.setNoDelay(true);
    return endpoint;
  }

  /** Others who call, so many a second, and an application that answers them with a tone, each a process of its own. */
  async callers(perSecond: number): Promise<{ stop: () => void }> {
    const script = fileURLToPath(new URL('./arriving-calls.ts', import.meta.url));
    const application = await startBareApp(this.#servers);
    const callers = await startScript(script, [String(this.#servers.sipPort), String(perSecond)]);
    const stop = (): void => {
      callers.stop();
      application.stop();
    };
    return { stop };
  }

  async hangUp(legs: readonly Leg[]): Promise<void> {
    await this.release(legs.map(({ endpoint }) => endpoint));
    for (const { phone } of legs) phone.close();
  }

  /** Hangs up what has no phone here. */
  async release(endpoints: readonly Endpoint[]): Promise<void> {
    await inTurns(endpoints, AT_ONCE, endpoint => endpoint.destroy());
  }

  async stop(): Promise<void> {
    this.#media.disconnect();
    this.#srf.disconnect();
    await this.#servers.stop();
  }
}
