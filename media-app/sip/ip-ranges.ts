import { BlockList, isIP } from 'node:net';

const plain = (address: string): string => address.replace(/^\[|\]$/g, '').replace(/^::ffff:(?=\d+\.)/i, '');

/** Whether an address lies in one of the ranges: single addresses, or with a prefix length. */
export const isInRanges = (address: string, ranges: string[]): boolean => {
  const list = new BlockList();
  for (const range of ranges) {
    const [base = '', bits] = range.split('/');
    const family = isIP(base) === 6 ? 'ipv6' : 'ipv4';
    if (isIP(base) === 0) continue;
    if (bits === undefined) list.addAddress(base, family);
    else list.addSubnet(base, Number(bits), family);
  }
  const bare = plain(address);
  return isIP(bare) !== 0 && list.check(bare, isIP(bare) === 6 ? 'ipv6' : 'ipv4');
};
