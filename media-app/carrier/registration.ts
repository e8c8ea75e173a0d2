import type { Redis } from 'ioredis';
import { keys } from '#contract/keys';
import type { Directory } from '../directory.ts';
import type { Log } from '../log.ts';
import { withDeadline } from '../media/deadline.ts';
import type { SipServer, SipServers } from '../sip/servers.ts';
import { askOnce } from '../sip/srf.ts';
import type { Provider } from './provider.ts';

/** How often somebody looks whether a registration is due. */
const LOOK_MS = 1000;
const EXPIRES_S = 600;
/** A carrier that refused or did not answer is asked again after this time. */
const AGAIN_MS = 30_000;
const ANSWER_MS = 10_000;
/** How long a node that went silent keeps others from registering. */
const LEASE_MS = 15_000;

/** A registration as it is kept: what it was made with, and when it is due again. */
interface Kept {
  provider: Provider;
  due: number;
  asking: boolean;
}

const sameLogin = (one: Provider, two: Provider): boolean =>
  one.hostname === two.hostname && one.username === two.username && one.password === two.password;

/**
 * Keeps us registered at the carriers that want it (RFC 3261 section 10), each by one node; another takes over when that
 * one goes silent. Their calls come to the contact, which is our bare address.
 */
export class CarrierRegistrations {
  readonly #redis: Redis;
  readonly #node: string;
  readonly #directory: Directory;
  readonly #sip: SipServers;
  readonly #log: Log;
  readonly #kept = new Map<string, Kept>();
  #timer: NodeJS.Timeout | undefined;
  #looking = false;

  constructor(given: { redis: Redis; node: string; directory: Directory; sip: SipServers; log: Log }) {
    this.#redis = given.redis;
    this.#node = given.node;
    this.#directory = given.directory;
    this.#sip = given.sip;
    this.#log = given.log;
  }

  start(): void {
    this.#timer = setInterval(() => void this.#look(), LOOK_MS);
    this.#timer.unref();
  }

  /** Takes our contacts back and leaves the carriers to other nodes. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#kept.values()].map(({ provider }) => this.#leave(provider)));
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      const wanted = (await this.#directory.providers()).filter(({ register, username }) => register && username);
      for (const { provider } of [...this.#kept.values()]) {
        const now = wanted.find(one => one.id === provider.id);
        if (!now || !sameLogin(now, provider)) await this.#leave(provider);
      }
      for (const provider of wanted) if (await this.#isOurs(provider)) this.#renew(provider);
    } catch (error) {
      // The next look tries again; registrations last longer than that.
      this.#log.debug({ error: String(error) }, 'registrations at carriers not looked after');
    } finally {
      this.#looking = false;
    }
  }

  async #isOurs({ id }: Provider): Promise<boolean> {
    const key = keys.carrierRegistrar(id);
    if (await this.#redis.set(key, this.#node, 'PX', LEASE_MS, 'NX')) return true;
    if ((await this.#redis.get(key)) !== this.#node) return false;
    await this.#redis.pexpire(key, LEASE_MS);
    return true;
  }

  #renew(provider: Provider): void {
    const kept = this.#kept.get(provider.id) ?? { provider, due: 0, asking: false };
    this.#kept.set(provider.id, kept);
    if (kept.asking || kept.due > Date.now()) return;
    kept.asking = true;
    void this.#register(provider, EXPIRES_S).then(granted => {
      kept.asking = false;
      kept.due = Date.now() + (granted > 0 ? granted * 500 : AGAIN_MS);
    });
  }

  async #leave(provider: Provider): Promise<void> {
    this.#kept.delete(provider.id);
    await this.#register(provider, 0);
    await this.#redis.del(keys.carrierRegistrar(provider.id));
  }

  /** Resolves with the seconds granted, 0 when there was no registration. Never rejects. */
  async #register(provider: Provider, expires: number): Promise<number> {
    const server = this.#sip.pick();
    if (!server) return 0;
    const { id: provider_id, hostname, username, password } = provider;
    const headers = registerHeaders(provider, this.#sip, server, expires);
    const options = { method: 'REGISTER', headers, auth: { username, password } };
    try {
      const answer = await withDeadline(
        askOnce(server.srf, `sip:${hostname};transport=udp`, options),
        ANSWER_MS,
        'REGISTER',
      );
      if (answer.status !== 200) {
        this.#log.warn({ provider_id, hostname, status: answer.status }, 'a carrier refused our registration');
        return 0;
      }
      this.#log.info({ provider_id, hostname, expires }, 'registered at a carrier');
      const granted = /;\s*expires=(\d+)/i.exec(answer.get('contact') ?? '')?.[1] ?? answer.get('expires') ?? expires;
      return Math.min(Number(granted), expires);
    } catch (error) {
      this.#log.warn({ provider_id, hostname, error: String(error) }, 'a carrier did not answer our registration');
      return 0;
    }
  }
}

/** Our contact is where the SIP server listens; the user tells calls of this carrier apart. */
const registerHeaders = (
  { username, hostname }: Provider,
  sip: SipServers,
  server: SipServer,
  expires: number,
): Record<string, string> => {
  const address = `<sip:${username}@${hostname}>`;
  const contact = `<${sip.ownAddress(server).replace('sip:', `sip:${username}@`)}>`;
  return { from: address, to: address, contact, expires: String(expires) };
};
