import { createHash } from 'node:crypto';
import { lookup, Resolver as NameServers } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import { addressed, defaultPort, literalOf, type Hop, type Transport } from './hop.ts';
import { silentLog, type SipLog } from './log.ts';

/** How a server of a name is offered: by SRV records (RFC 2782), or by the name itself. */
interface Offer {
  transport: Transport;
  host: string;
  port: number;
  priority: number;
  weight: number;
}

interface Found {
  /** Of every address a hop, with what its offer says of its turn. */
  ways: (Offer & { address: string })[];
  /** How long it may be believed, in seconds. */
  ttl: number;
}

interface Known {
  until: number;
  found: Promise<Found>;
}

export interface ResolverOptions {
  /** Name servers, `192.0.2.1` or `192.0.2.1:5353`; without any those of the system, and its hosts file. */
  servers?: string[];
  /** Whether we can send by that transport, and to that address. */
  reaches: (transport: Transport, address?: string) => boolean;
  /** Milliseconds. */
  now?: () => number;
  log?: SipLog;
}

/** A name server is asked twice before the next one is. */
const ASKING = { timeout: 1500, tries: 2 };
const LEAST_S = 1;
const MOST_S = 300;
/** The system tells no time to live; neither do SRV and NAPTR records here, which are asked for again so often. */
const UNTOLD_S = 30;
const FAILED_S = 5;
/** What was right this long ago is better than nothing while name servers fail (RFC 8767). */
const STALE_MS = 3_600_000;
const AVOIDED_S = 60;
const MOST_AVOIDED_S = 600;
const MOST_NAMES = 1000;
const MOST_SERVERS = 8;

/** RFC 3263 4.1, RFC 7118 5.2.4. */
const SERVICE: Readonly<Record<Transport, string>> = {
  ...{ udp: '_sip._udp', tcp: '_sip._tcp', tls: '_sips._tcp', ws: '_sip._ws', wss: '_sips._ws' },
};

/** What NAPTR records call transports (RFC 3263 4.1). */
const NAPTR: Readonly<Record<string, Transport>> = { 'sip+d2u': 'udp', 'sip+d2t': 'tcp', 'sips+d2t': 'tls' };

const WHY: Readonly<Record<string, string>> = {
  ENOTFOUND: 'there is no such name',
  ENODATA: 'the name has no address',
  ETIMEOUT: 'no name server answers',
  EAI_AGAIN: 'no name server answers',
  ECONNREFUSED: 'no name server can be reached',
  ESERVFAIL: 'the name servers fail',
};

/** A name leads nowhere; the message names it and says why. */
export class NameError extends Error {
  constructor(name: string, cause: unknown) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    super(`cannot resolve ${name}: ${WHY[code] ?? (cause instanceof Error ? cause.message : 'unknown')}`, { cause });
  }
}

/** Finds the servers behind a name (RFC 3263), and remembers them, and which of them failed. */
export class Resolver {
  readonly #dns = new NameServers(ASKING);
  readonly #options: ResolverOptions;
  readonly #now: () => number;
  readonly #known = new Map<string, Known>();
  /** The last answer that was one, for when name servers fail. */
  readonly #good = new Map<string, { at: number; found: Found }>();
  /** Servers that failed, and until when others are tried first. */
  readonly #avoided = new Map<string, number>();

  constructor(options: ResolverOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    if (options.servers?.length) this.#dns.setServers(options.servers);
  }

  /**
   * Every way to a hop, the best first: NAPTR where the hop leaves the transport open, SRV where it has no port, then A
   * and AAAA. Messages with the same `key`, a Call-ID, go the same way; others share the load as the records' weights say.
   * @throws NameError
   */
  async waysTo(hop: Hop, key: string): Promise<Hop[]> {
    const literal = literalOf(hop.host);
    if (literal !== undefined) return [addressed(hop, literal)];
    const { ways } = await this.#foundOnce(hop);
    const turn = new Map(ways.map(one => [one, draw(one, key)]));
    const drawn = ways.toSorted((a, b) => a.priority - b.priority || (turn.get(a) ?? 0) - (turn.get(b) ?? 0));
    const hops = drawn.map(({ transport, address, port }) => ({ transport, host: address, port, name: hop.host }));
    return [...hops.filter(one => !this.#isAvoided(one)), ...hops.filter(one => this.#isAvoided(one))];
  }

  /** A server failed (RFC 3263 4.3): for some time others of its name are tried before it. */
  avoid(hop: Hop, seconds = AVOIDED_S): void {
    if (this.#avoided.size >= MOST_NAMES) this.#avoided.clear();
    this.#avoided.set(placeOf(hop), this.#now() + Math.min(seconds, MOST_AVOIDED_S) * 1000);
  }

  /** A server answered. */
  trust(hop: Hop): void {
    this.#avoided.delete(placeOf(hop));
  }

  #isAvoided(hop: Hop): boolean {
    return (this.#avoided.get(placeOf(hop)) ?? 0) > this.#now();
  }

  #foundOnce(hop: Hop): Promise<Found> {
    const name = `${hop.transport}${hop.open ? '?' : ''} ${hop.host.toLowerCase()}:${hop.port}`;
    const known = this.#known.get(name);
    if (known && known.until > this.#now()) return known.found;
    if (this.#known.size >= MOST_NAMES) forgetOldest(this.#known);
    const asked: Known = { until: Infinity, found: this.#findOrRecall(name, hop) };
    this.#known.delete(name);
    this.#known.set(name, asked);
    const believe = (seconds: number): void => void (asked.until = this.#now() + seconds * 1000);
    asked.found.then(
      ({ ttl }) => believe(ttl),
      () => believe(FAILED_S),
    );
    return asked.found;
  }

  async #findOrRecall(name: string, hop: Hop): Promise<Found> {
    try {
      const found = await this.#find(hop);
      if (this.#good.size >= MOST_NAMES) forgetOldest(this.#good);
      this.#good.delete(name);
      this.#good.set(name, { at: this.#now(), found });
      return found;
    } catch (error) {
      const good = this.#good.get(name);
      if (!good || this.#now() - good.at > STALE_MS || isDenial(error)) throw new NameError(hop.host, error);
      (this.#options.log ?? silentLog).warn(
        { err: error, name: hop.host },
        'a name is not resolved; going by the last answer',
      );
      return { ...good.found, ttl: FAILED_S };
    }
  }

  async #find(hop: Hop): Promise<Found> {
    // A name server that does not even answer leaves the name itself, which the hosts file may know.
    const offers = hop.port === 0 ? await this.#offers(hop).catch(() => []) : [];
    if (offers.some(one => one.host === '')) throw new Error('it offers no such service');
    const told = offers.length > 0;
    const named = told
      ? offers.slice(0, MOST_SERVERS)
      : [{ ...hop, port: hop.port || defaultPort(hop.transport), priority: 0, weight: 0 }];
    const asked = await Promise.allSettled(named.map(one => this.#addresses(one)));
    const found = asked.flatMap(one => (one.status === 'fulfilled' ? [one.value] : []));
    const failure = asked.find(one => one.status === 'rejected');
    if (found.length === 0) throw failure?.reason;
    const ways = found.flatMap(one => one.ways).slice(0, MOST_SERVERS * 2);
    const ttl = Math.min(told ? UNTOLD_S : MOST_S, ...found.map(one => one.ttl));
    return { ways, ttl: Math.max(ttl, LEAST_S) };
  }

  /** The servers that NAPTR and SRV records name; none when there are no such records. */
  async #offers(hop: Hop): Promise<Offer[]> {
    const services = hop.open ? await this.#services(hop) : [];
    if (services.length === 0) {
      const open = hop.open && hop.transport === 'udp' ? (['udp', 'tcp'] as const) : [hop.transport];
      const usual = open.filter(one => this.#options.reaches(one));
      services.push(...usual.map(transport => ({ transport, name: `${SERVICE[transport]}.${hop.host}` })));
    }
    const found = await Promise.all(services.map(one => this.#servers(one)));
    // The second transport is there for when every server of the first one has failed.
    const offers = found.flatMap((some, at) => some.map(one => ({ ...one, priority: one.priority + at * 65_536 })));
    return offers.toSorted((a, b) => a.priority - b.priority);
  }

  /** What NAPTR records of the lowest order offer by a transport of ours (RFC 3263 4.1). */
  async #services(hop: Hop): Promise<{ transport: Transport; name: string }[]> {
    const records = await answered(this.#dns.resolveNaptr(hop.host));
    const usable = records.flatMap(one => {
      const transport = one.flags.toLowerCase() === 's' ? NAPTR[one.service.toLowerCase()] : undefined;
      // Who asked for a secure transport gets no other (RFC 3263 4.1).
      const secure = hop.transport !== 'tls' || transport === 'tls';
      return transport && secure && this.#options.reaches(transport)
        ? [{ ...one, transport, name: one.replacement }]
        : [];
    });
    const order = Math.min(...usable.map(one => one.order));
    const best = usable.filter(one => one.order === order).toSorted((a, b) => a.preference - b.preference);
    return best.slice(0, MOST_SERVERS);
  }

  async #servers({ transport, name }: { transport: Transport; name: string }): Promise<Offer[]> {
    const records = await answered(this.#dns.resolveSrv(name));
    return records.map(one => ({ ...one, transport, host: one.name.replace(/\.$/, '') }));
  }

  async #addresses(offer: Offer): Promise<Found> {
    const literal = literalOf(offer.host);
    const found = literal === undefined ? await this.#records(offer.host) : [{ address: literal, ttl: MOST_S }];
    const usable = found.filter(one => this.#options.reaches(offer.transport, one.address));
    if (usable.length === 0) throw new Error(`we cannot send to its addresses by ${offer.transport.toUpperCase()}`);
    // Those of IPv6 last: who has both is reached by either, and more networks carry the other.
    usable.sort((a, b) => Number(isIPv6(a.address)) - Number(isIPv6(b.address)));
    return { ways: usable.map(({ address }) => ({ ...offer, address })), ttl: Math.min(...usable.map(one => one.ttl)) };
  }

  async #records(host: string): Promise<{ address: string; ttl: number }[]> {
    if (!this.#options.servers?.length)
      return (await lookup(host, { all: true })).map(({ address }) => ({ address, ttl: UNTOLD_S }));
    const both = [this.#dns.resolve4(host, { ttl: true }), this.#dns.resolve6(host, { ttl: true })];
    const asked = await Promise.allSettled(both);
    const found = asked.flatMap(one => (one.status === 'fulfilled' ? one.value : []));
    const failures = asked.flatMap(one => (one.status === 'rejected' ? [one.reason as unknown] : []));
    // One of the two without records is usual; that neither has any is told by whoever says more.
    if (found.length === 0) throw failures.find(one => !isDenial(one)) ?? failures[0];
    return found;
  }
}

const placeOf = ({ transport, host, port }: Hop): string => `${transport} ${host}:${port}`;

/** A name server has said that there is no such record. */
const isDenial = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOTFOUND' || error.code === 'ENODATA');

/** Records, or none when a server says that there are none. Rejects when nobody answers. */
async function answered<T>(records: Promise<T[]>): Promise<T[]> {
  try {
    return await records;
  } catch (error) {
    const silent = error instanceof Error && 'code' in error && SILENT.has(String(error.code));
    if (silent) throw error;
    return [];
  }
}

const SILENT: ReadonlySet<string> = new Set(['ETIMEOUT', 'ECONNREFUSED', 'ECANCELLED']);

/**
 * A number that is the same for one key and server, and over many keys smallest for each server of a priority as often as
 * its weight says (RFC 2782). Servers of weight 0 have a very small chance.
 */
function draw({ host, port, weight }: Offer, key: string): number {
  const hash = createHash('sha256').update(`${key} ${host}:${port}`).digest().readUInt32BE();
  return -Math.log((hash + 0.5) / 2 ** 32) / (weight || 0.01);
}

function forgetOldest(map: Map<string, unknown>): void {
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
