import { isIP } from 'node:net';
import { z } from 'zod';

/** More addresses than this are refused. */
const MOST_RANGES = 100;

const isRange = (text: string): boolean => {
  const [address = '', bits, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32));
};

/** Addresses that calls may come from: IPv4 and IPv6, single or with a prefix length (accounts-and-plumbing 21). */
export const ipRanges = z
  .array(z.string().trim().toLowerCase().refine(isRange, 'must be an IP address or a CIDR range'))
  .max(MOST_RANGES)
  .default([]);
