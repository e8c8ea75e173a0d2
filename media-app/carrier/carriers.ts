import type { CarrierHealth } from '#contract/carrier';
import { keys } from '#contract/keys';
import type { Redis } from 'ioredis';
import type { Log } from '#process/log';
import type { SipServers } from '../sip/servers.ts';
import { carrierAnswers } from './options.ts';
import { CallPlaces, Place } from './places.ts';
import type { Provider } from './provider.ts';

/** So many calls in a row that a carrier failed open its circuit. */
const MOST_FAILURES = 3;
/** How long it stays open; then one call tries it in its turn again. */
const OPEN_MS = 30_000;

/** What an outgoing leg tells and asks of the carrier it goes through. */
export interface CarrierLine {
  /** A place among its calls; `undefined` when its ceilings are reached. */
  enter(): Promise<Place | undefined>;
  /** Whether the carrier is there at all, though it has not said anything to an INVITE. */
  isThere(): Promise<boolean>;
  /** What became of an INVITE: any answer of a carrier that works, or its failure (no answer, 500 to 599). */
  answered(ok: boolean): void;
}

/** How long a carrier that is silent to an INVITE has to answer OPTIONS. */
const THERE_MS = 3000;

interface Circuit {
  failures: number;
  open_until: number;
}

/** How the carriers are, as far as this node knows: health found by OPTIONS, circuits, and places under their ceilings. */
export class Carriers {
  readonly #redis: Redis;
  readonly #sip: SipServers;
  readonly #places: CallPlaces;
  readonly #log: Log;
  readonly #now: () => number;
  readonly #circuits = new Map<string, Circuit>();

  /** @param now milliseconds since the epoch */
  constructor(redis: Redis, node: string, sip: SipServers, log: Log, now: () => number = Date.now) {
    this.#redis = redis;
    this.#sip = sip;
    this.#places = new CallPlaces(redis, node, now);
    this.#log = log;
    this.#now = now;
  }

  get places(): CallPlaces {
    return this.#places;
  }

  /** Providers in their order, those that are down behind the others (accounts-and-plumbing 22). */
  async inOrder(providers: Provider[]): Promise<Provider[]> {
    if (providers.length < 2) return providers;
    const texts = await this.#redis.mget(providers.map(({ id }) => keys.carrierHealth(id)));
    const down = providers.map((provider, at) => this.#isOpen(provider.id) || isUnhealthy(provider, texts[at]));
    return [...providers.filter((_, at) => !down[at]), ...providers.filter((_, at) => down[at])];
  }

  /** The line of one call through a provider. */
  line(provider: Provider, customerId: string): CarrierLine {
    const ceiling = { most_calls: provider.max_calls, most_calls_per_second: provider.max_calls_per_second };
    return {
      enter: async () => {
        if (!ceiling.most_calls && !ceiling.most_calls_per_second) return new Place(() => undefined);
        const place = await this.#places.take(`provider:${provider.id}`, ceiling);
        if (place instanceof Place) return place;
        this.#log.info(
          { provider_id: provider.id, customer_id: customerId, place },
          'the carrier’s ceiling is reached',
        );
        return undefined;
      },
      isThere: () => carrierAnswers(this.#sip, provider.hostname, THERE_MS),
      answered: ok => this.#note(provider, ok),
    };
  }

  #isOpen(providerId: string): boolean {
    return (this.#circuits.get(providerId)?.open_until ?? 0) > this.#now();
  }

  #note({ id, name }: Provider, ok: boolean): void {
    if (ok) return void this.#circuits.delete(id);
    const circuit = this.#circuits.get(id) ?? { failures: 0, open_until: 0 };
    circuit.failures += 1;
    this.#circuits.set(id, circuit);
    if (circuit.failures < MOST_FAILURES) return;
    circuit.open_until = this.#now() + OPEN_MS;
    this.#log.warn({ provider_id: id, name, failures: circuit.failures }, 'a carrier keeps failing and is tried last');
  }
}

const isUnhealthy = ({ hostname }: Provider, text: string | null | undefined): boolean => {
  const found = text ? (JSON.parse(text) as CarrierHealth) : undefined;
  return found?.hostname === hostname && found.health_status === 'unhealthy';
};
