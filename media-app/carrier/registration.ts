import type { Redis } from 'ioredis';
import { newId } from '#contract/ids';
import { keys } from '#contract/keys';
import type { Directory } from '../directory.ts';
import type { Log } from '#process/log';
import { withDeadline } from '../media/deadline.ts';
import { askWithLogin } from '../sip/challenged.ts';
import type { SipServer, SipServers } from '../sip/servers.ts';
import type { SipResponse } from '../sip/srf.ts';
import type { Provider } from './provider.ts';

/** How often somebody looks whether a registration is due. */
const LOOK_MS = 1000;
const EXPIRES_S = 600;
/** A carrier that refused or did not answer is asked again after this time. */
const AGAIN_MS = 30_000;
const ANSWER_MS = 10_000;
const LEASE_MS = 15_000;

/** A registration as it is kept: what it was made with, and when it is due again. */
interface Kept {
  provider: Provider;
  due: number;
  asking: boolean;
  /** One for all REGISTERs of a registration (RFC 3261 section 10.2). */
  call_id: string;
  cseq: number;
}

/** What a REGISTER and its answers to challenges may use up. */
const CSEQ_STEP = 10;
/** Carriers that want us to come less often are obeyed so far. */
const EXPIRES_MOST_S = 86_400;

interface Given {
  redis: Redis;
  node: string;
  directory: Directory;
  sip: SipServers;
  /** How long a node that went silent keeps others from registering. */
  leaseMs?: number;
  log: Log;
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

  readonly #leaseMs: number;

  constructor(given: Given) {
    this.#leaseMs = given.leaseMs ?? LEASE_MS;
    this.#redis = given.redis;
    this.#node = given.node;
    this.#directory = given.directory;
    this.#sip = given.sip;
    this.#log = given.log;
  }

  /** Keeps registered what is to be registered. */
  start(): void {
    this.#timer = setInterval(() => void this.#look(), LOOK_MS);
    this.#timer.unref();
  }

  /** Takes our contacts back and leaves the carriers to other nodes. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all([...this.#kept.values()].map(kept => this.#leave(kept)));
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      const wanted = (await this.#directory.providers()).filter(({ register, username }) => register && username);
      for (const kept of [...this.#kept.values()]) {
        const now = wanted.find(one => one.id === kept.provider.id);
        if (!now || !sameLogin(now, kept.provider)) await this.#leave(kept);
      }
      for (const provider of wanted) {
        if (await this.#isOurs(provider)) this.#renew(provider);
        else this.#kept.delete(provider.id); // whoever has it registers anew
      }
    } catch (error) {
      // The next look tries again; registrations last longer than that.
      this.#log.debug({ error: String(error) }, 'registrations at carriers not looked after');
    } finally {
      this.#looking = false;
    }
  }

  async #isOurs({ id }: Provider): Promise<boolean> {
    const key = keys.carrierRegistrar(id);
    if (await this.#redis.set(key, this.#node, 'PX', this.#leaseMs, 'NX')) return true;
    if ((await this.#redis.get(key)) !== this.#node) return false;
    await this.#redis.pexpire(key, this.#leaseMs);
    return true;
  }

  #renew(provider: Provider): void {
    const kept = this.#kept.get(provider.id) ?? { provider, due: 0, asking: false, call_id: newId(), cseq: 0 };
    this.#kept.set(provider.id, kept);
    if (kept.asking || kept.due > Date.now()) return;
    kept.asking = true;
    void this.#register(kept, EXPIRES_S).then(granted => {
      kept.asking = false;
      kept.due = Date.now() + (granted > 0 ? granted * 500 : AGAIN_MS);
    });
  }

  async #leave(kept: Kept): Promise<void> {
    const { id } = kept.provider;
    this.#kept.delete(id);
    await this.#register(kept, 0);
    await this.#redis.del(keys.carrierRegistrar(id));
  }

  /** Resolves with the seconds granted, 0 when there was no registration. Never rejects. */
  async #register(kept: Kept, expires: number): Promise<number> {
    const { id: provider_id, hostname } = kept.provider;
    try {
      const answer = await this.#ask(kept, expires);
      const least = Number(answer?.get('min-expires'));
      if (answer?.status === 423 && least > expires && least <= EXPIRES_MOST_S)
        return await this.#register(kept, least);
      if (answer?.status !== 200) {
        this.#log.warn({ provider_id, hostname, status: answer?.status }, 'a carrier refused our registration');
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

  /** The last answer to a REGISTER; undefined when no SIP server of ours is there. */
  async #ask(kept: Kept, expires: number): Promise<SipResponse | undefined> {
    const server = this.#sip.pick();
    if (!server) return undefined;
    const { provider, call_id } = kept;
    const cseq = `${(kept.cseq += CSEQ_STEP)} REGISTER`;
    const headers = { ...registerHeaders(provider, this.#sip, server, expires), 'Call-ID': call_id, CSeq: cseq };
    const asked = askWithLogin(
      server.srf,
      `sip:${provider.hostname};transport=udp`,
      { method: 'REGISTER', headers },
      provider,
    );
    return withDeadline(asked, ANSWER_MS, 'REGISTER');
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
