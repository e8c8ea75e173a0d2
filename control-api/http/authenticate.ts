import type { IncomingMessage } from 'node:http';
import { PlatformError } from '#contract/errors';
import { timestamp } from '#contract/time';
import { hashOfToken } from '../auth/secrets.ts';
import { readAgentToken } from '../auth/token.ts';
import type { Db } from '../db.ts';
import { isId } from '#contract/ids';
import { isSuperAdmin, PERMISSION } from './permit.ts';
import type { RateLimits } from './rate-limits.ts';

export const CUSTOMER_STATUSES = ['initial', 'active', 'frozen', 'expired', 'deleted'] as const;
export type CustomerStatus = (typeof CUSTOMER_STATUSES)[number];

/** Who makes a request (accounts-and-plumbing 4.2). An accesskey acts as customer admin and has no agent. */
export interface Identity {
  kind: 'agent' | 'accesskey';
  customer_id: string;
  customer_status: CustomerStatus;
  permission: number;
  /** Empty for an accesskey. */
  agent_id: string;
}

/** The one credential that decides a request. */
export interface Credential {
  kind: 'token' | 'accesskey';
  value: string;
}

const cookies = (header: string | undefined): Map<string, string> =>
  new Map(
    (header ?? '').split(';').map(pair => {
      const at = pair.indexOf('=');
      return [pair.slice(0, Math.max(at, 0)).trim(), pair.slice(at + 1).trim()];
    }),
  );

const bearer = (header: string | undefined): string => /^Bearer\s+(\S+)\s*$/i.exec(header ?? '')?.[1] ?? '';

/**
 * The first credential present: cookie token, query token, bearer header, cookie accesskey, query accesskey. Empty
 * values count as absent (4.1).
 */
export const credentialOf = (request: Pick<IncomingMessage, 'url' | 'headers'>): Credential | undefined => {
  const cookie = cookies(request.headers.cookie);
  const at = request.url?.indexOf('?') ?? -1;
  const query = new URLSearchParams(at < 0 ? '' : request.url?.slice(at));
  const present: Credential[] = [
    { kind: 'token', value: cookie.get('token') ?? '' },
    { kind: 'token', value: query.get('token') ?? '' },
    { kind: 'token', value: bearer(request.headers.authorization) },
    { kind: 'accesskey', value: cookie.get('accesskey') ?? '' },
    { kind: 'accesskey', value: query.get('accesskey') ?? '' },
  ];
  return present.find(credential => credential.value !== '');
};

interface Holder {
  id: string;
  customer_id: string;
  permission: number;
  status: CustomerStatus;
}

const refused = (): PlatformError =>
  new PlatformError('INVALID_CREDENTIALS', 'The token or accesskey is invalid or expired.');

/** Refuses identities of frozen, expired and deleted customers; super admins pass (accounts-and-plumbing 5). */
export const gate = (identity: Identity): void => {
  if (identity.kind === 'agent' && isSuperAdmin(identity)) return;
  const { customer_status: status } = identity;
  if (status === 'deleted') throw new PlatformError('ACCOUNT_DELETED', 'The account is deleted.');
  if (status === 'expired')
    throw new PlatformError('ACCOUNT_EXPIRED', 'The e-mail address was never verified.', [
      { recovery_endpoint: 'POST /auth/email-verify-resend' },
    ]);
  if (status === 'frozen')
    throw new PlatformError('ACCOUNT_FROZEN', 'The account is frozen.', [
      { recovery_endpoint: 'DELETE /auth/unregister' },
    ]);
};

/** Tells who a request comes from. The WebSocket upgrade uses it too, so it knows nothing of Express. */
export class Authenticator {
  readonly #db: Db;
  readonly #secret: Uint8Array;
  readonly #limits: Pick<RateLimits, 'countCustomer'> | undefined;

  constructor(db: Db, secret: Uint8Array, limits?: Pick<RateLimits, 'countCustomer'>) {
    this.#db = db;
    this.#secret = secret;
    this.#limits = limits;
  }

  /**
   * The identity behind a request's credential, its customer's limit counted and its account's status checked, in
   * this order (1.1). Rejects AUTHENTICATION_REQUIRED, INVALID_CREDENTIALS, RATE_LIMIT_EXCEEDED, ACCOUNT_FROZEN,
   * ACCOUNT_EXPIRED or ACCOUNT_DELETED. What is not counted is no request of its own: a connection looked at again.
   */
  async identify(request: Pick<IncomingMessage, 'url' | 'headers'>, counted = true): Promise<Identity> {
    const credential = credentialOf(request);
    if (!credential) throw new PlatformError('AUTHENTICATION_REQUIRED', 'Send a token or an accesskey.');
    const { value } = credential;
    const identity = credential.kind === 'token' ? await this.#agent(value) : await this.#accesskey(value);
    if (counted) await this.#limits?.countCustomer(identity);
    gate(identity);
    return identity;
  }

  /** The live agent counts, not the copy in the token, so that changes take effect at once (4.3). */
  async #agent(token: string): Promise<Identity> {
    const id = await readAgentToken(this.#secret, token);
    if (!isId(id)) throw refused();
    const agent = await this.#db('agents')
      .join('customers', 'customers.id', 'agents.customer_id')
      .where('agents.id', id)
      .whereNull('agents.tm_delete')
      .first<Holder | undefined>('agents.id', 'agents.customer_id', 'agents.permission', 'customers.status');
    if (!agent) throw refused();
    const { customer_id, status, permission } = agent;
    return { kind: 'agent', customer_id, customer_status: status, permission, agent_id: agent.id };
  }

  async #accesskey(token: string): Promise<Identity> {
    const key = await this.#db('accesskeys')
      .join('customers', 'customers.id', 'accesskeys.customer_id')
      .where('accesskeys.token_hash', hashOfToken(token))
      .whereNull('accesskeys.tm_delete')
      .where('accesskeys.tm_expire', '>', timestamp())
      .first<Holder | undefined>('accesskeys.id', 'accesskeys.customer_id', 'customers.status');
    if (!key) throw refused();
    const { customer_id, status } = key;
    return { kind: 'accesskey', customer_id, customer_status: status, permission: PERMISSION.admin, agent_id: '' };
  }
}
