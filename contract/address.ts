import { z } from 'zod';

export const ADDRESS_TYPES = [
  'agent',
  'ai',
  'ai_team',
  'conference',
  'email',
  'extension',
  'line',
  'sip',
  'tel',
  'webchat',
  'web_session',
  'whatsapp',
] as const;

/** Whether a telephone number that is called learns who calls; empty is auto (accounts-and-plumbing 25.5). */
export const ANONYMOUS_VALUES = ['', 'yes', 'no', 'auto'] as const;
export type Anonymous = (typeof ANONYMOUS_VALUES)[number];

/** Where a call comes from or goes to (platform-api, Address). Only `type` and `target` are required. */
export const addressSchema = z
  .object({
    type: z.enum(ADDRESS_TYPES).describe('What kind of address `target` is.'),
    target: z.string().max(1024).describe('E.164 number, extension number, SIP URI or UUID, by type.'),
    target_name: z.string().max(255).default('').describe('Caller name; for an extension its routing key.'),
    name: z.string().max(255).default('').describe('Label.'),
    detail: z.string().max(1024).default('').describe('Free text.'),
  })
  .meta({ id: 'Address', description: 'A source or destination of a call.' });

export type Address = z.infer<typeof addressSchema>;

const DIGITS_ONLY = (target: string): string =>
  /\d/.test(target) ? (target.trimStart().startsWith('+') ? '+' : '') + target.replace(/\D/g, '') : target;

const normalizeSip = (target: string): string => {
  const uri = /^sips?:/i.test(target) ? target : `sip:${target}`;
  const host = /^(sips?:(?:[^@]*@)?)([^;?]*)(.*)$/i.exec(uri);
  return host ? `${host[1]}${host[2]?.toLowerCase()}${host[3]}` : uri;
};

/** Removes CR, LF and NUL: nothing that reaches SIP or the event socket may carry them. */
export const stripLineBreaks = (text: string): string => text.replace(/[\r\n\0]+/g, ' ');

/** The stored form of an address (accounts-and-plumbing 25.1, voice-and-flows 8.1). */
export const normalizeAddress = (address: Address): Address => {
  const target = stripLineBreaks(address.target);
  const normalized = {
    ...address,
    target_name: stripLineBreaks(address.target_name),
    name: stripLineBreaks(address.name),
  };
  switch (address.type) {
    case 'tel':
    case 'whatsapp':
      return { ...normalized, target: DIGITS_ONLY(target) };
    case 'email':
      return { ...normalized, target: target.trim().toLowerCase() };
    case 'sip':
      return { ...normalized, target: normalizeSip(target.trim()) };
    default:
      return { ...normalized, target: target.trim() };
  }
};

/** The key an extension is dialled by: `target_name`, or `target` when no name was given (platform-api, Address). */
export const extensionKey = (address: Address): string => address.target_name || address.target;

/** Virtual numbers carry +899, are routed inside the platform and parse with no numbering plan. */
export const isVirtualNumber = (number: string): boolean => /^\+899(?!000)\d{9}$/.test(number);
