import { BlockList, isIP } from 'node:net';

const family = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** The form of an address that node:net reads: without brackets, zone and IPv4-in-IPv6. */
const plain = (address: string): string =>
  address
    .trim()
    .replace(/^\[|\]$/g, '')
    .replace(/%.*$/, '')
    .replace(/^::ffff:(?=\d+\.)/i, '');

/** Addresses and networks (`192.0.2.1`, `10.0.0.0/8`, `2001:db8::/32`) to look addresses up in; others are passed over. */
export const addressList = (texts: string[]): BlockList => {
  const list = new BlockList();
  for (const text of texts) {
    const [address = '', bits] = text.split('/').map(plain);
    const most = isIP(address) === 4 ? 32 : 128;
    if (isIP(address) === 0 || (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most))) continue;
    list.addSubnet(address, bits === undefined ? most : Number(bits), family(address));
  }
  return list;
};

/** Whether an address, or the beginning of a network, is in a list. */
export const holds = (list: BlockList, address: string): boolean => {
  const [one = ''] = address.split('/').map(plain);
  return isIP(one) !== 0 && list.check(one, family(one));
};
