import { BlockList, isIPv6 } from 'node:net';
import { networkInterfaces, type NetworkInterfaceInfo } from 'node:os';
import { literalOf } from './hop.ts';

const REFRESH_MS = 30_000;
let known: { at: number; list: NetworkInterfaceInfo[] } | undefined;

function interfaces(): NetworkInterfaceInfo[] {
  if (!known || Date.now() - known.at > REFRESH_MS) {
    known = { at: Date.now(), list: Object.values(networkInterfaces()).flatMap(list => list ?? []) };
  }
  return known.list;
}

function reaches(one: NetworkInterfaceInfo, address: string): boolean {
  const family = isIPv6(address) ? 'IPv6' : 'IPv4';
  if (one.family !== family || !one.cidr) return false;
  const network = new BlockList();
  network.addSubnet(one.address, Number(one.cidr.split('/')[1]), family === 'IPv6' ? 'ipv6' : 'ipv4');
  return network.check(address, family === 'IPv6' ? 'ipv6' : 'ipv4');
}

const reached = new Map<string, { at: number; address: string | undefined }>();

/** Our address on the subnet of `address`, if there is one. Remembered for half a minute. */
function neighbour(address: string): string | undefined {
  const found = reached.get(address);
  if (found && Date.now() - found.at < REFRESH_MS) return found.address;
  if (reached.size > 10_000) reached.clear();
  const own = interfaces().find(one => reaches(one, address))?.address;
  reached.set(address, { at: Date.now(), address: own });
  return own;
}

/** `::ffff:192.0.2.1` is 192.0.2.1 to everybody else. */
export const plainAddress = (address: string | undefined): string => (address ?? '').replace(/^::ffff:(?=\d+\.)/i, '');

/** `2001:db8:0:1:…` gives `2001:db8:0:1::/64`, as media-app writes a banned network of IPv6. */
const networkOf = (address: string): string => {
  const [head = '', tail] = address.replace(/%.*$/, '').toLowerCase().split('::');
  const before = head.split(':').filter(Boolean);
  const after = (tail ?? '').split(':').filter(Boolean);
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0');
  const groups = [...before, ...zeros, ...after].slice(0, 4).map(group => Number.parseInt(group, 16).toString(16));
  return `${groups.join(':')}::/64`;
};

/** Who sends from an address: itself, or its network of IPv6, of which everybody has many addresses. */
export const sourceOf = (address: string): string => {
  const plain = plainAddress(address);
  return plain.includes(':') ? networkOf(plain) : plain;
};

/** Whether a socket bound to `host` can talk to that address; one bound to `::` talks to both kinds. */
export const speaksTo = (host: string, address: string): boolean => host === '::' || isIPv6(host) === isIPv6(address);

/** Whether a socket bound to it listens on all addresses. */
export const isWildcard = (host: string): boolean => host === '0.0.0.0' || host === '::';

/** The address others elsewhere most likely reach us at: the first that is not loopback. */
function outward(family: 'IPv4' | 'IPv6'): string {
  const own = interfaces().find(one => one.family === family && !one.internal && !one.address.startsWith('fe80'));
  return own?.address ?? (family === 'IPv4' ? '127.0.0.1' : '::1');
}

/** The address that parties of a kind best send to when nothing is known of them: the advertised one, the bound one, or our outward one. */
export function publicAddress(family: 'IPv4' | 'IPv6', bound: string, advertised?: string): string {
  const shown = family === 'IPv4' ? advertised : undefined; // the advertised address is an IPv4 one
  return shown ?? (isWildcard(bound) ? outward(family) : bound);
}

/**
 * The address to write into Via and Contact for a message to `target`: on the target's own subnet the one it sees,
 * elsewhere the advertised one, else the bound one, else our outward one.
 */
export function localAddressFor(target: string, bound: string, advertised?: string): string {
  const address = literalOf(target);
  const near = address === undefined ? undefined : neighbour(address);
  // The advertised address is an IPv4 one.
  const shown = address !== undefined && isIPv6(address) ? undefined : advertised;
  if (near !== undefined && (isWildcard(bound) || shown !== undefined)) return isWildcard(bound) ? near : bound;
  return publicAddress(isIPv6(address ?? '') ? 'IPv6' : 'IPv4', bound, advertised);
}
