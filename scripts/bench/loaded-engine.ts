import { readFileSync } from 'node:fs';
import Mrf, { type Endpoint, type MediaServer } from 'drachtio-fsmrf';
import { createSrf, type SrfConnection } from '../../media-app/sip/srf.ts';
import type { Child } from '../start/child.ts';
import { readSettings } from '../start/config.ts';
import { freePorts } from '../start/ports.ts';
import { fileURLToPath } from 'node:url';
import { environments, newEngineAccess, startProcess, type EngineAccess } from '../start/system.ts';
import { inTurns, LoadPhone } from './rtp-load.ts';
import { portOpen, startScript } from './systems.ts';

/** Ticks of the processor time in /proc, in a second. */
const TICKS = 100;
const AT_ONCE = 10;
const RTP_PORTS = '46000-49999';

/** Processor seconds that a process has used. */
export const processorSeconds = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
};

/** A phone and the endpoint that speaks with it. */
export interface Leg {
  phone: LoadPhone;
  endpoint: Endpoint;
}

/** The embedded engine in a process of its own, driven by drachtio-fsmrf as media-app drives it. */
export class LoadedEngine {
  readonly #child: Child;
  readonly #doors: EngineAccess & { sipPort: number };
  readonly #srf: SrfConnection;
  readonly #media: MediaServer;

  private constructor(child: Child, doors: EngineAccess & { sipPort: number }, srf: SrfConnection, media: MediaServer) {
    [this.#child, this.#doors, this.#srf, this.#media] = [child, doors, srf, media];
  }

  static async start(): Promise<LoadedEngine> {
    const [sip = 0] = await freePorts(1);
    const settings = readSettings({ SIP_PORT: String(sip), RTP_PORTS, LOG_LEVEL: 'warn' });
    const access = await newEngineAccess();
    const { engine: environment = {} } = environments(settings, { databaseUrl: '', redisUrl: '', engine: access });
    const child = startProcess('engine', environment, line => console.log(`engine: ${line}`));
    await portOpen(access.eventSocketPort);
    const srf = createSrf();
    srf.on('error', () => undefined); // the engine stops before we do
    await new Promise(resolve => {
      srf.once('connect', resolve);
      void srf.connect({ host: '127.0.0.1', port: access.adminPort, secret: access.adminSecret });
    });
    const [address, secret] = ['127.0.0.1', access.eventSocketPassword];
    const media = await new Mrf(srf).connect({ address, port: access.eventSocketPort, secret, listenAddress: address });
    media.conn.socket?.setNoDelay(true);
    return new LoadedEngine(child, { ...access, sipPort: sip }, srf, media);
  }

  get pid(): number {
    return this.#child.pid;
  }

  legs(count: number): Promise<Leg[]> {
    const ids = Array.from({ length: count }, (_, id) => id);
    return inTurns(ids, AT_ONCE, id => this.leg(id));
  }

  async leg(id: number): Promise<Leg> {
    const phone = await LoadPhone.open(id);
    const endpoint = await this.#media.createEndpoint({ remoteSdp: phone.sdp });
    endpoint.conn?.socket?.setNoDelay(true);
    phone.talkTo(endpoint.local.sdp);
    return { phone, endpoint };
  }

  /** Others who call, so many a second, and an application that answers them with a tone, each a process of its own. */
  async callers(perSecond: number): Promise<{ stop: () => void }> {
    const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
    const { adminPort, adminSecret, eventSocketPort, eventSocketPassword, sipPort } = this.#doors;
    const doors = [String(adminPort), adminSecret, String(eventSocketPort), eventSocketPassword];
    const application = await startScript(script('./bare-app.ts'), doors);
    const callers = await startScript(script('./arriving-calls.ts'), [String(sipPort), String(perSecond)]);
    const stop = (): void => {
      callers.stop();
      application.stop();
    };
    return { stop };
  }

  async hangUp(legs: readonly Leg[]): Promise<void> {
    await inTurns(legs, AT_ONCE, ({ endpoint }) => endpoint.destroy());
    for (const { phone } of legs) phone.close();
  }

  async stop(): Promise<void> {
    this.#media.disconnect();
    this.#srf.disconnect();
    await this.#child.stop();
  }
}
