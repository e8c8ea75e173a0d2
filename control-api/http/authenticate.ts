import type { IncomingMessage } from 'node:http';
import { PlatformError } from '#contract/errors';
import type { Timestamp } from '#contract/time';
import { hashOfToken } from '../auth/secrets.ts';
import { readToken, type Bound, type Claims } from '../auth/token.ts';
import type { Db } from '../db.ts';
import { credentialOf } from './credential.ts';
import { pass, type Gate } from './gate.ts';
import { Gathered } from './gathered.ts';
import { isSuperAdmin, PERMISSION } from './permit.ts';
import type { RateLimits } from './rate-limits.ts';

export const CUSTOMER_STATUSES = ['initial', 'active', 'frozen', 'expired', 'deleted'] as const;
export type CustomerStatus = (typeof CUSTOMER_STATUSES)[number];

/** What the gate asks of an account. */
export interface Account {
  status: CustomerStatus;
  /** When it was frozen; null unless it is. */
  tm_deletion_scheduled: Timestamp | null;
}

/** Who makes a request (accounts-and-plumbing 4.2). Accesskeys and delegate tokens act as customer admin. */
export interface Identity {
  kind: 'agent' | 'accesskey' | 'delegate' | 'direct';
  customer_id: string;
  customer_status: CustomerStatus;
  permission: number;
  /** Empty unless an agent logged in. */
  agent_id: string;
  /** What a direct token is bound to; only there. */
  direct?: Bound;
}

/** An identity on its way through the gate. */
interface Holder extends Account {
  identity: Omit<Identity, 'customer_status'>;
}

const refused = (): PlatformError =>
  new PlatformError('INVALID_CREDENTIALS', 'The token or accesskey is invalid or expired.');

/** What belongs to a credential, beside the facts of its account. */
interface Found extends Account {
  key: string;
  customer_id: string;
  /** Of agents. */
  permission: number;
}

const ACCESSKEYS = {
  name: 'identify_accesskeys',
  text: `select k.token_hash as key, k.customer_id, c.status, c.tm_deletion_scheduled
    from accesskeys k left join customers c on c.id = k.customer_id
    where k.token_hash = any(?) and k.tm_delete is null and k.tm_expire > now()`,
};

const AGENTS = {
  name: 'identify_agents',
  text: `select a.id as key, a.customer_id, a.permission, c.status, c.tm_deletion_scheduled
    from agents a left join customers c on c.id = a.customer_id
    where a.id = any(?::uuid[]) and a.tm_delete is null`,
};

const gathered = (db: Db, { name, text }: { name: string; text: string }): Gathered<Found> =>
  new Gathered(async keys => {
    const { rows } = await db.raw<{ rows: Found[] }>(text, [keys]).options({ name });
    return new Map(rows.map(row => [row.key, row]));
  });

const accountOf = ({ status, tm_deletion_scheduled }: Account): Account => ({ status, tm_deletion_scheduled });

interface AuthenticatorOptions {
  limits?: Pick<RateLimits, 'countCustomer'>;
  /** Direct tokens of another one are refused (accounts-and-plumbing 4.3); 1. */
  scope_version?: number;
}

/** What is looked at to tell who a request comes from. */
export type Incoming = Pick<IncomingMessage, 'url' | 'headers'>;

/** Tells who a request comes from. The WebSocket upgrade uses it too, so it knows nothing of Express. */
export class Authenticator {
  readonly #db: Db;
  readonly #secret: Uint8Array;
  readonly #limits: Pick<RateLimits, 'countCustomer'> | undefined;
  readonly #scopeVersion: number;
  readonly #accesskeys: Gathered<Found>;
  readonly #agents: Gathered<Found>;

  constructor(db: Db, secret: Uint8Array, given: AuthenticatorOptions = {}) {
    this.#db = db;
    this.#secret = secret;
    this.#limits = given.limits;
    this.#scopeVersion = given.scope_version ?? 1;
    this.#accesskeys = gathered(db, ACCESSKEYS);
    this.#agents = gathered(db, AGENTS);
  }

  /**
   * The identity behind a request's credential, its customer's limit counted and its account's status checked, in
   * this order (1.1). Rejects AUTHENTICATION_REQUIRED, INVALID_CREDENTIALS, RATE_LIMIT_EXCEEDED, ACCOUNT_FROZEN,
   * ACCOUNT_EXPIRED or ACCOUNT_DELETED. What is not counted is no request of its own: a connection looked at again.
   */
  async identify(request: Incoming, counted = true, gate: Gate = 'versioned'): Promise<Identity> {
    const credential = credentialOf(request);
    if (!credential) throw new PlatformError('AUTHENTICATION_REQUIRED', 'Send a token or an accesskey.');
    const { value } = credential;
    const holder = credential.kind === 'token' ? await this.#token(value) : await this.#accesskey(value);
    if (!holder) throw refused();
    const { identity, status } = holder;
    if (counted) await this.#limits?.countCustomer(identity);
    if (identity.kind !== 'agent' || !isSuperAdmin(identity)) pass(gate, holder);
    return { ...identity, customer_status: status };
  }

  /**
   * What a direct token is bound to, whatever became of its account. Rejects AUTHENTICATION_REQUIRED or
   * INVALID_CREDENTIALS when the request carries anything but a direct token that is still good.
   */
  async bound(request: Incoming): Promise<Bound> {
    const credential = credentialOf(request);
    if (!credential) throw new PlatformError('AUTHENTICATION_REQUIRED', 'Send a direct token.');
    if (credential.kind !== 'token') throw refused();
    const claims = await readToken(this.#secret, credential.value);
    if (claims.type !== 'direct' || claims.direct.scope_version !== this.#scopeVersion) throw refused();
    return claims.direct;
  }

  async #token(token: string): Promise<Holder | undefined> {
    const claims = await readToken(this.#secret, token);
    if (claims.type === 'agent') return this.#agent(claims.agent.id);
    return claims.type === 'direct' ? this.#direct(claims.direct) : this.#delegate(claims);
  }

  /** The live agent counts, not the copy in the token, so that changes take effect at once (4.3). */
  async #agent(id: string): Promise<Holder | undefined> {
    const agent = await this.#agents.get(id);
    if (!agent) return undefined;
    const { customer_id, permission } = agent;
    return { ...accountOf(agent), identity: { kind: 'agent', customer_id, permission, agent_id: id } };
  }

  async #accesskey(token: string): Promise<Holder | undefined> {
    const key = await this.#accesskeys.get(hashOfToken(token));
    if (!key) return undefined;
    const { customer_id } = key;
    return {
      ...accountOf(key),
      identity: { kind: 'accesskey', customer_id, permission: PERMISSION.admin, agent_id: '' },
    };
  }

  async #direct(direct: Bound): Promise<Holder | undefined> {
    if (direct.scope_version !== this.#scopeVersion) return undefined;
    const { customer_id } = direct;
    const account = await this.#account(customer_id);
    return account && { ...account, identity: { kind: 'direct', customer_id, permission: 0, agent_id: '', direct } };
  }

  /** Borrowed power ends with the issuer's: an agent that is gone, or no super admin any more, has none to lend. */
  async #delegate({ sub, customer_id }: Extract<Claims, { type: 'delegate' }>): Promise<Holder | undefined> {
    const issuer = await this.#db<{ id: string; permission: number }>('agents')
      .where('id', sub)
      .whereNull('tm_delete')
      .first('permission');
    const account = await this.#account(customer_id);
    if (!issuer || !account || (issuer.permission & PERMISSION.super_admin) === 0) return undefined;
    return { ...account, identity: { kind: 'delegate', customer_id, permission: PERMISSION.admin, agent_id: '' } };
  }

  #account(customerId: string): Promise<Account | undefined> {
    return this.#db('customers')
      .where({ id: customerId })
      .first<Account | undefined>('status', 'tm_deletion_scheduled');
  }
}
