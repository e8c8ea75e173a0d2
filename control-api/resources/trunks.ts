import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { NEVER } from '#contract/time';
import type { Route } from '../http/route.ts';
import { crud } from './crud.ts';
import { detailField, nameField } from './fields.ts';
import { ipRanges } from './ip-ranges.ts';
import { defineResource } from './resource.ts';

const AUTH_TYPES = ['basic', 'ip'] as const;

const isPlain = (text: string): boolean => /^\P{C}*$/u.test(text);

/** Lines of a customer's own exchange, from which it dials the world (accounts-and-plumbing 21). */
export const trunks = defineResource({
  name: 'trunk',
  title: 'Trunk',
  path: '/trunks',
  table: 'trunks',
  not_found: 'TRUNK_NOT_FOUND',
  limited: 'trunks',
  read: 'admin',
  write: 'admin',
  unset: NEVER,
  told: true,
  fields: {
    name: nameField,
    detail: detailField,
    domain_name: z
      .string()
      .regex(/^[a-zA-Z][a-zA-Z0-9\-.]{1,30}$/, 'must be a letter and 1 to 30 letters, digits, dots or dashes')
      .toLowerCase()
      .describe('Calls come to {domain_name}.trunk.{domain}; it cannot be changed later.'),
    auth_types: z
      .array(z.enum(AUTH_TYPES))
      .min(1, 'needs at least one of basic, ip')
      .max(AUTH_TYPES.length)
      .describe('How the exchange proves itself; each way is enough.'),
    username: z.string().max(128).refine(isPlain, 'must be printable').default('').describe('For basic.'),
    password: z.string().max(128).refine(isPlain, 'must be printable').default('').describe('For basic.'),
    allowed_ips: ipRanges.describe('For ip: addresses or CIDR ranges.'),
  },
  changeable: ['name', 'detail', 'auth_types', 'username', 'password', 'allowed_ips'],
  secrets: ['password'],
});

/** Whatever a trunk lists as a way to prove itself, it must have what that way needs. */
const mustBeUsable = (trunk: Record<string, unknown>): void => {
  const ways = trunk['auth_types'] as string[];
  if (ways.includes('basic') && (trunk['username'] === '' || trunk['password'] === ''))
    throw new PlatformError('INVALID_ARGUMENT', 'auth_types: basic needs a username and a password.');
  if (ways.includes('ip') && (trunk['allowed_ips'] as string[]).length === 0)
    throw new PlatformError('INVALID_ARGUMENT', 'auth_types: ip needs allowed_ips.');
};

const routes = crud(trunks, {
  async prepare(_request, body) {
    mustBeUsable(body);
    return body;
  },
  async revise(_request, body, row) {
    mustBeUsable({ ...row, ...body });
    return body;
  },
});

export const trunkRoutes: Route[] = Object.values(routes);
