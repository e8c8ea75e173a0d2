import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Directory } from '../directory.ts';
import { isInRanges } from '../sip/ip-ranges.ts';
import type { Provider } from './provider.ts';

/** How long the addresses of a name are believed. */
const KEPT_MS = 60_000;

/** The host of `host`, `host:port`, `[::1]:port`. */
const hostOf = (hostname: string): string => /^(\[[^\]]*\]|[^:]*)/.exec(hostname)?.[0].replace(/[[\]]/g, '') ?? '';

/** The port of a hostname, 5060 when it has none. */
const portOf = (hostname: string): number => Number(/[^:]:(\d+)$/.exec(hostname)?.[1] ?? 5060);

/** Tells carriers by the addresses their calls come from (accounts-and-plumbing 20, row 2). */
export class CarrierCallers {
  readonly #directory: Directory;
  readonly #resolved = new Map<string, { addresses: string[]; until: number }>();

  constructor(directory: Directory) {
    this.#directory = directory;
  }

  /** The provider that calls from an address; `undefined` when none is configured there. */
  async providerAt(address: string): Promise<Provider | undefined> {
    for (const provider of await this.#directory.providers()) {
      const ranges = [...provider.allowed_ips, ...(await this.#addressesOf(provider.hostname))];
      if (isInRanges(address, ranges)) return provider;
    }
    return undefined;
  }

  /** The same for a call to our bare address: it must come from the very port we send to, since phones live there too. */
  async providerAtPort(address: string, port: number): Promise<Provider | undefined> {
    for (const provider of await this.#directory.providers())
      if (portOf(provider.hostname) === port && isInRanges(address, await this.#addressesOf(provider.hostname)))
        return provider;
    return undefined;
  }

  async #addressesOf(hostname: string): Promise<string[]> {
    const host = hostOf(hostname);
    if (isIP(host) !== 0) return [host];
    const known = this.#resolved.get(host);
    if (known && known.until > Date.now()) return known.addresses;
    // A name that cannot be resolved leads to nobody, for a while.
    const found = await lookup(host, { all: true }).catch(() => []);
    const addresses = found.map(one => one.address);
    this.#resolved.set(host, { addresses, until: Date.now() + KEPT_MS });
    return addresses;
  }
}
