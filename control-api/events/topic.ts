import type { EventMessage } from '#contract/events';
import { isId, isSet } from '#contract/ids';
import type { Identity } from '../http/authenticate.ts';
import { isSuperAdmin, PERMISSION } from '../http/permit.ts';

/** A topic somebody may listen to: its canonical text and the customer whose log holds its events. */
export interface Topic {
  key: string;
  customer_id: string;
}

const RESOURCE = /^[a-z][a-z_]{0,63}$/;

/** Every event of the customer needs an admin, a manager or an accesskey (accounts-and-plumbing 26.4). */
const seesCustomer = (identity: Identity, customerId: string): boolean =>
  isSuperAdmin(identity) ||
  (identity.customer_id === customerId && (identity.permission & (PERMISSION.admin | PERMISSION.manager)) !== 0);

/** A direct token hears the one resource it is for, and only by its name (26.4). */
const isBound = ({ direct }: Identity, parts: string[]): boolean =>
  parts.length === 4 &&
  parts[1] === direct?.customer_id &&
  direct?.allowed_resource_types.includes(parts[2] ?? '') === true &&
  parts[3] === direct.allowed_resource_id;

const isWellFormed = (parts: string[]): boolean => {
  const [, owner = '', resource, resourceId] = parts;
  if (parts.length < 2 || parts.length > 4 || !isId(owner)) return false;
  if (resource !== undefined && !RESOURCE.test(resource)) return false;
  return resourceId === undefined || resourceId === '*' || isId(resourceId);
};

/**
 * Reads a topic of a client (grammar: accounts-and-plumbing 26.3, permission: 26.4).
 * @returns undefined when it is malformed or the identity may not listen to it
 */
export const parseTopic = (text: string, identity: Identity): Topic | undefined => {
  const key = text.toLowerCase();
  const parts = key.split(':');
  const [word, owner = ''] = parts;
  if (!isWellFormed(parts)) return undefined;
  if (identity.kind === 'direct')
    return word === 'customer_id' && isBound(identity, parts) ? { key, customer_id: owner } : undefined;
  if (word === 'customer_id' && seesCustomer(identity, owner)) return { key, customer_id: owner };
  if (word === 'agent_id' && isSet(owner) && owner === identity.agent_id)
    return { key, customer_id: identity.customer_id };
  return undefined;
};

const under = (owner: string, resource: string, resourceId: string): string[] => [
  owner,
  `${owner}:${resource}`,
  `${owner}:${resource}:*`,
  `${owner}:${resource}:${resourceId}`,
];

/** Every topic key that an event answers to: its customer's and, when an agent owns the resource, the agent's. */
export const keysOf = (event: EventMessage): string[] => {
  const [word, customerId, resource = '', resourceId = ''] = event.topic.split(':');
  const owner = event.data['owner_id'];
  const agent = typeof owner === 'string' && isSet(owner) ? under(`agent_id:${owner}`, resource, resourceId) : [];
  return [...under(`${word}:${customerId}`, resource, resourceId), ...agent];
};
