import pg from 'pg';
import type { Action } from '#contract/action';
import type { Funds, Spending } from '#contract/billing';
import { type Address, addressSchema, extensionKey } from '#contract/address';
import type { FlowTemplate } from '#contract/flow';
import { DEFAULT_ROUTES_OWNER } from '#contract/carrier';
import { EMPTY_ID, isId } from '#contract/ids';
import type { Provider } from './carrier/provider.ts';

export interface Customer {
  id: string;
  status: string;
  identity_verification_status: string;
  sip_label: string;
  webhook_secret: string;
}

/** Whom an agent destination rings, and how. */
export interface Agent {
  id: string;
  ring_method: string;
  addresses: Address[];
}

export interface Extension {
  id: string;
  customer_id: string;
  extension: string;
  username: string;
  password: string;
  domain_name: string;
  name: string;
}

const CUSTOMER =
  'SELECT id, status, identity_verification_status, sip_label, webhook_secret FROM customers WHERE tm_delete IS NULL';
const EXTENSION =
  'SELECT id, customer_id, extension, username, password, domain_name, name FROM extensions WHERE tm_delete IS NULL';

const FUNDS_FACTS = `s.customer_id, a.status, a.plan_type, a.balance_token::float8 AS balance_token,
    a.balance_credit::float8 AS balance_credit`;
const FUNDS_OF = `
  FROM (SELECT $1::uuid AS customer_id) s
  LEFT JOIN customers c ON c.id = s.customer_id LEFT JOIN billing_accounts a ON a.id = c.billing_account_id`;
const FUNDS = `SELECT ${FUNDS_FACTS} ${FUNDS_OF}`;

/** An entry without end has no amount yet: its minutes up to now are what it costs at least. */
const FUNDS_AND_SPENDING = `
  SELECT ${FUNDS_FACTS}, coalesce((
    SELECT sum(CASE b.status WHEN 'progressing'
      THEN ceil(extract(epoch FROM now() - b.tm_billing_start) / 60) * b.rate_credit_per_unit ELSE 0 - b.amount_credit END)
    FROM billings b
    WHERE b.customer_id = s.customer_id AND b.cost_type = 'call_pstn_outgoing' AND b.tm_create > now() - interval '24 hours'
  ), 0)::float8 AS spent_on_telephones ${FUNDS_OF}`;

const NUMBER_FLOW = `
  SELECT f.id, f.customer_id, f.actions, f.on_complete_flow_id, c.status AS customer_status
  FROM numbers n
  JOIN flows f ON f.id = n.call_flow_id AND f.customer_id = n.customer_id AND f.tm_delete IS NULL
  JOIN customers c ON c.id = n.customer_id AND c.tm_delete IS NULL
  WHERE n.number = $1 AND n.tm_delete IS NULL AND n.status = 'active'`;

/** The record of a hash goes with its resource. */
const DIRECT = `
  SELECT d.resource_type AS type, d.resource_id AS id, d.customer_id, coalesce(e.extension, d.resource_id::text) AS key
  FROM directs d LEFT JOIN extensions e ON d.resource_type = 'extension' AND e.id = d.resource_id
  WHERE d.hash = $1`;

/** An address belongs to an agent when type and target are the same, of an extension also when its key is. */
const AGENT_OF = `
  SELECT id FROM agents
  WHERE customer_id = $1 AND tm_delete IS NULL AND EXISTS (
    SELECT FROM jsonb_array_elements(addresses) AS own
    WHERE own ->> 'type' = $2
      AND (own ->> 'target' IN ($3, $4) OR ($2 = 'extension' AND own ->> 'target_name' IN ($3, $4))))
  ORDER BY tm_create LIMIT 1`;

/** What a customer may call (accounts-and-plumbing 16). */
export interface OutboundConfig {
  destination_whitelist: string[];
  codecs: string;
}

/** The line of a customer's own exchange (accounts-and-plumbing 21). */
export interface Trunk {
  id: string;
  customer_id: string;
  domain_name: string;
  auth_types: string[];
  username: string;
  password: string;
  allowed_ips: string[];
}

const PROVIDER = `SELECT p.id, p.name, p.hostname, p.tech_prefix, p.tech_postfix, p.tech_headers, p.codecs, p.username,
  p.password, p.register, p.allowed_ips, p.max_calls, p.max_calls_per_second FROM providers p`;

/** The customer's routes to the number, then its own for all, then everybody's (23.1); a provider may come twice. */
const ROUTED = `${PROVIDER} JOIN routes r ON r.provider_id = p.id
  WHERE r.customer_id IN ($1, '${DEFAULT_ROUTES_OWNER}') AND r.target IN ($2, 'all')
    AND r.tm_delete IS NULL AND p.tm_delete IS NULL
  ORDER BY r.customer_id = '${DEFAULT_ROUTES_OWNER}', r.target = 'all', r.priority, r.tm_create`;

/** The number given when it is the customer's own, else the default one (25.4). */
const SOURCE_NUMBER = `SELECT n.number FROM numbers n LEFT JOIN outbound_configs o
    ON o.default_outgoing_source_number_id = n.id AND o.customer_id = n.customer_id AND o.tm_delete IS NULL
  WHERE n.customer_id = $1 AND n.type = 'normal' AND n.status = 'active' AND n.tm_delete IS NULL
    AND (n.number = $2 OR o.id IS NOT NULL)
  ORDER BY n.number = $2 DESC LIMIT 1`;

/** Whether phones of a customer in this status may register, and calls to it are taken (accounts-and-plumbing 5). */
export const isAdmitted = (status: string): boolean => status === 'active' || status === 'initial';

/** What a direct hash leads to (accounts-and-plumbing 20.2). */
export interface DirectResource {
  type: 'extension' | 'agent' | 'conference' | 'queue' | 'flow' | 'ai' | 'ai_team' | 'webchat_widget';
  id: string;
  customer_id: string;
  /** What it is dialled by inside its customer. */
  key: string;
}

/** A row of `flows`. */
interface FlowRow {
  id: string;
  customer_id: string;
  actions: Action[];
  on_complete_flow_id: string | null;
}

/**
 * What media-app must know of the stored world, read from Postgres and never written: who may register, where a number
 * leads, what a flow contains. Always the present truth; there is no cache to go stale.
 */
export class Directory {
  readonly #pool: pg.Pool;

  constructor(databaseUrl: string) {
    this.#pool = new pg.Pool({ connectionString: databaseUrl, max: 10, application_name: 'media-app' });
    this.#pool.on('error', () => undefined); // an idle connection broke; the next query opens another
  }

  /** The customer of a SIP label (`{label}.reg.{domain}`), exactly (accounts-and-plumbing 19.1). */
  async customerByLabel(label: string): Promise<Customer | undefined> {
    return this.#one<Customer>('customer-by-label', `${CUSTOMER} AND sip_label = $1`, [label]);
  }

  /** The customer created at the first start: phones that know us by address only belong to it. */
  async homeCustomer(): Promise<Customer | undefined> {
    return this.#one<Customer>('home-customer', `${CUSTOMER} AND home`, []);
  }

  /** A customer that is not deleted, in whatever status. */
  async customer(id: string): Promise<Customer | undefined> {
    return this.#one<Customer>('customer', `${CUSTOMER} AND id = $1`, [id]);
  }

  /** What a customer has to pay with. */
  async funds(customerId: string): Promise<Funds | undefined> {
    return this.#one<Funds>('funds', FUNDS, [customerId]);
  }

  /** The same, and what it has spent on calls to telephones. */
  async fundsAndSpending(customerId: string): Promise<(Funds & Spending) | undefined> {
    return this.#one<Funds & Spending>('funds-and-spending', FUNDS_AND_SPENDING, [customerId]);
  }

  /** An extension by its SIP username. */
  async extensionByUsername(customerId: string, username: string): Promise<Extension | undefined> {
    return this.#one<Extension>('extension-by-username', `${EXTENSION} AND customer_id = $1 AND username = $2`, [
      customerId,
      username,
    ]);
  }

  /** An extension by its `extension` value, or by its id (accounts-and-plumbing 20.1). */
  async extensionByKey(customerId: string, key: string): Promise<Extension | undefined> {
    return this.#one<Extension>(
      'extension-by-key',
      `${EXTENSION} AND customer_id = $1 AND (extension = $2 OR id::text = $2)`,
      [customerId, key],
    );
  }

  /** A live agent of a customer. */
  async agent(customerId: string, agentId: string): Promise<Agent | undefined> {
    if (!isId(agentId)) return undefined;
    const sql =
      'SELECT id, ring_method, addresses FROM agents WHERE customer_id = $1 AND id = $2 AND tm_delete IS NULL';
    const row = await this.#one<Agent>('agent', sql, [customerId, agentId]);
    return row && { ...row, addresses: row.addresses.map(address => addressSchema.parse(address)) };
  }

  /** The agent an address belongs to, or is; `undefined` when nobody's (voice-and-flows 8.1). */
  async agentOf(customerId: string, address: Address): Promise<string | undefined> {
    if (address.type === 'agent') return (await this.agent(customerId, address.target))?.id;
    const key = address.type === 'extension' ? extensionKey(address) : address.target;
    return (await this.#one<Agent>('agent-of', AGENT_OF, [customerId, address.type, address.target, key]))?.id;
  }

  /** Where providers' calls come from, as far as they are named by address. */
  async providerAddresses(): Promise<string[]> {
    const { rows } = await this.#pool.query<{ hostname: string; allowed_ips: string[] }>(
      'SELECT hostname, allowed_ips FROM providers WHERE tm_delete IS NULL',
    );
    return rows.flatMap(({ hostname, allowed_ips }) => [hostname.replace(/:\d+$/, ''), ...allowed_ips]);
  }

  /** The resource of a direct hash (`direct.` included), for callers from anywhere. */
  async direct(hash: string): Promise<DirectResource | undefined> {
    return this.#one<DirectResource>('direct', DIRECT, [hash]);
  }

  /** The flow that a live number runs for its callers, and whether its customer may take calls. */
  async numberFlow(number: string): Promise<(FlowTemplate & { customer_status: string }) | undefined> {
    const row = await this.#one<FlowRow & { customer_status: string }>('number-flow', NUMBER_FLOW, [number]);
    return row && { ...row, on_complete_flow_id: row.on_complete_flow_id ?? EMPTY_ID };
  }

  /** The customer that has a live number, whatever its status and flow. */
  async numberOwner(number: string): Promise<string | undefined> {
    const sql = 'SELECT customer_id FROM numbers WHERE number = $1 AND tm_delete IS NULL';
    return (await this.#one<{ customer_id: string }>('number-owner', sql, [number]))?.customer_id;
  }

  /** A live flow of a customer, temporary ones included; `undefined` when missing, expired or another's. */
  async flow(customerId: string, flowId: string): Promise<FlowTemplate | undefined> {
    const row = await this.#one<FlowRow>(
      'flow',
      'SELECT id, customer_id, actions, on_complete_flow_id FROM flows WHERE id = $1 AND customer_id = $2 AND tm_delete IS NULL AND (tm_expire IS NULL OR tm_expire > now())',
      [flowId, customerId],
    );
    return row && { ...row, on_complete_flow_id: row.on_complete_flow_id ?? EMPTY_ID };
  }

  /** What a customer may call; `undefined` when nothing says so. */
  async outboundConfig(customerId: string): Promise<OutboundConfig | undefined> {
    const sql =
      'SELECT destination_whitelist, codecs FROM outbound_configs WHERE customer_id = $1 AND tm_delete IS NULL';
    return this.#one<OutboundConfig>('outbound-config', sql, [customerId]);
  }

  /** The number a customer may call telephones with: the one given, else its default; `undefined` when it has neither. */
  async sourceNumber(customerId: string, given: string): Promise<string | undefined> {
    return (await this.#one<{ number: string }>('source-number', SOURCE_NUMBER, [customerId, given]))?.number;
  }

  /** The live providers with a route to a calling code, in the order of their routes. */
  async routedProviders(customerId: string, callingCode: string): Promise<Provider[]> {
    return this.#all<Provider>('routed-providers', ROUTED, [customerId, callingCode]);
  }

  /** A live provider. */
  async provider(id: string): Promise<Provider | undefined> {
    return this.#one<Provider>('provider', `${PROVIDER} WHERE p.id = $1 AND p.tm_delete IS NULL`, [id]);
  }

  /** Every live provider. */
  async providers(): Promise<Provider[]> {
    return this.#all<Provider>('providers', `${PROVIDER} WHERE p.tm_delete IS NULL ORDER BY p.tm_create`, []);
  }

  /** The live trunk of `{domain_name}.trunk.{domain}`. */
  async trunk(domainName: string): Promise<Trunk | undefined> {
    const columns = 'id, customer_id, domain_name, auth_types, username, password, allowed_ips';
    const sql = `SELECT ${columns} FROM trunks WHERE domain_name = $1 AND tm_delete IS NULL`;
    return this.#one<Trunk>('trunk', sql, [domainName]);
  }

  /** Resolves once the tables exist: control-api may still be migrating on a first start. */
  async ready(): Promise<void> {
    for (;;) {
      try {
        await this.homeCustomer();
        return;
      } catch {
        // Not there yet: control-api creates the tables.
        await new Promise(resolve => setTimeout(resolve, 100));
      }
    }
  }

  /** Closes the connections to Postgres. */
  async stop(): Promise<void> {
    await this.#pool.end();
  }

  async #one<R>(name: string, text: string, values: string[]): Promise<R | undefined> {
    return (await this.#all<R>(name, text, values))[0];
  }

  async #all<R>(name: string, text: string, values: string[]): Promise<R[]> {
    return (await this.#pool.query<R & pg.QueryResultRow>({ name, text, values })).rows;
  }
}
