import { PlatformError } from '#contract/errors';
import { isSet } from '#contract/ids';
import type { Identity } from './authenticate.ts';
import { directRefused } from './direct-operations.ts';

/** Bits of the `permission` field (accounts-and-plumbing 6.1). */
export const PERMISSION = {
  super_admin: 1,
  project: 15,
  agent: 16,
  admin: 32,
  manager: 64,
  customer: 240,
  all: 65535,
} as const;

/**
 * What a route asks for: `public` needs no credentials; `any` needs some, and its handler decides; `login` an agent who
 * logged in, of any level (6.4); `agent` any identity of the customer; `own` a manager, or the agent whose id is in the
 * path; `manager` an admin or a manager; `admin` an admin; `super` a project super admin (accounts-and-plumbing 6.3).
 */
export type Permission = 'public' | 'any' | 'login' | 'agent' | 'own' | 'manager' | 'admin' | 'super';

/** Bits of which an identity needs one; -1 asks for none. */
const BITS: Record<Exclude<Permission, 'public' | 'any' | 'login'>, number> = {
  agent: -1,
  own: PERMISSION.admin | PERMISSION.manager,
  manager: PERMISSION.admin | PERMISSION.manager,
  admin: PERMISSION.admin,
  super: PERMISSION.super_admin,
};

/** True for an agent with the super-admin bit, who may act on any customer (6.2). */
export const isSuperAdmin = (identity: Pick<Identity, 'permission'>): boolean =>
  (identity.permission & PERMISSION.super_admin) !== 0;

/**
 * Throws PERMISSION_DENIED when the identity lacks what the route asks for, DIRECT_ACCESS_NOT_SUPPORTED when it is a
 * direct token, which has a list of its own, or when a login is asked for and this is none (6.2 steps 3 and 5).
 * `subject` is the id in the path.
 */
export const permit = (identity: Identity, required: Exclude<Permission, 'public'>, subject?: string): void => {
  if (required === 'any') return;
  if (identity.kind === 'direct') throw directRefused();
  if (required === 'login') return mustHaveLoggedIn(identity);
  if (isSuperAdmin(identity) || BITS[required] === -1 || (identity.permission & BITS[required]) !== 0) return;
  if (required === 'own' && isSet(subject) && subject === identity.agent_id) return;
  throw new PlatformError('PERMISSION_DENIED', 'Your permission does not allow this operation.');
};

const mustHaveLoggedIn = (identity: Identity): void => {
  if (identity.kind !== 'agent')
    throw new PlatformError('DIRECT_ACCESS_NOT_SUPPORTED', 'This needs the token of an agent who logged in.');
};
