import { PlatformError } from '#contract/errors';
import type { Identity } from './authenticate.ts';

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
 * What a route asks for: `public` needs no credentials; `agent` any identity of the customer; `manager` an admin or a
 * manager; `admin` an admin; `super` a project super admin (accounts-and-plumbing 6.3).
 */
export type Permission = 'public' | 'agent' | 'manager' | 'admin' | 'super';

const BITS: Record<Exclude<Permission, 'public'>, number> = {
  agent: PERMISSION.customer,
  manager: PERMISSION.admin | PERMISSION.manager,
  admin: PERMISSION.admin,
  super: PERMISSION.super_admin,
};

/** True for an agent with the super-admin bit, who may act on any customer (6.2). */
export const isSuperAdmin = (identity: Identity): boolean => (identity.permission & PERMISSION.super_admin) !== 0;

/** Throws PERMISSION_DENIED when the identity lacks what the route asks for (6.2 step 3). */
export const permit = (identity: Identity, required: Exclude<Permission, 'public'>): void => {
  if (isSuperAdmin(identity) || (identity.permission & BITS[required]) !== 0) return;
  throw new PlatformError('PERMISSION_DENIED', 'Your permission does not allow this operation.');
};
