import { z } from 'zod';

/** What is held against a source of SIP messages, and what a ban says as its reason. */
const BAN_REASONS = [
  'bad_credentials',
  'probing',
  'unknown_destinations',
  'malformed_messages',
  'scanner',
  'manual',
] as const;
export type BanReason = (typeof BAN_REASONS)[number];

/** A source of SIP messages that gets no answer for a while. */
export const banSchema = z
  .object({
    id: z.uuid().describe('Given by the platform.'),
    source: z.string().describe('The IPv4 address, or the network of 64 bits of an IPv6 address.'),
    reason: z.enum(BAN_REASONS).describe('What filled the measure.'),
    detail: z.string().describe('What was seen last, in one sentence.'),
    count: z.int().describe('How often the source has been banned within a day; each time lasts twice as long.'),
    tm_create: z.string().describe('When it began.'),
    tm_expire: z.string().describe('When it ends.'),
  })
  .meta({ id: 'Ban', description: 'A source of SIP messages that gets no answer for a while.' });
export type Ban = z.infer<typeof banSchema>;

/** The eight groups of an IPv6 address, as numbers. */
const groupsOf = (address: string): number[] => {
  const [head = '', tail] = address.split('::');
  const numbers = (text: string): number[] =>
    text
      .split(':')
      .filter(Boolean)
      .map(group => Number.parseInt(group, 16));
  const [before, after] = [numbers(head), numbers(tail ?? '')];
  return [...before, ...Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => 0), ...after];
};

/**
 * Whom an address is counted as: an IPv4 address alone, an IPv6 address with its whole network of 64 bits
 * (`2001:db8:0:1::/64`), because whoever has one of those has all.
 */
export const sourceOf = (address: string): string => {
  const plain = address
    .replace(/^\[|\]$/g, '')
    .replace(/%.*$/, '')
    .toLowerCase();
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(plain)?.[1];
  if (mapped || !plain.includes(':')) return mapped ?? plain;
  return `${groupsOf(plain)
    .slice(0, 4)
    .map(group => group.toString(16))
    .join(':')}::/64`;
};
