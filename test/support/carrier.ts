import { strict as assert } from 'node:assert';
import pg from 'pg';
import { DEFAULT_ROUTES_OWNER } from '#contract/carrier';
import { EMPTY_ID, newId } from '#contract/ids';
import { fromDate, timestamp } from '#contract/time';
import { Office } from './office.ts';
import { TestPhone, type TestPhoneOptions } from './phone.ts';
import { sharedStack, type Stack } from './stack.ts';

/** A normal number of the home customer, verified and free to call Germany and the United States. */
export const OWN_NUMBER = '+493055500100';

/**
 * Gives each test of a describe a new office and opens a desk for carriers, whose routes and carriers are gone behind each.
 * @param opened takes both
 * @param start makes a stack for these tests alone, which is stopped behind them; without it they share that of the run
 * @param prepare enters what all of these tests need
 */
export const withCarriers = (
  opened: (office: Office, desk: CarrierDesk) => void,
  start?: () => Promise<Stack>,
  prepare: (desk: CarrierDesk) => Promise<void> = () => Promise.resolve(),
): void => {
  let stack: Stack;
  let office: Office;
  let desk: CarrierDesk;
  before(async () => {
    stack = await (start ?? sharedStack)();
    desk = await CarrierDesk.open(stack);
    await prepare(desk);
  });
  beforeEach(() => opened((office = new Office(stack)), desk));
  afterEach(async () => {
    await office.close();
    await desk.clear();
    await office.nothingLeft();
  });
  after(async () => {
    await desk?.close();
    if (start) await stack?.stop();
  });
};

/** The records that calls to and from the world are decided by, on a stack, and scripted phones as carriers. */
export class CarrierDesk {
  readonly db: pg.Client;
  readonly #stack: Stack;
  readonly #carriers: TestPhone[] = [];
  readonly #numbers: string[] = [];

  private constructor(stack: Stack, db: pg.Client) {
    this.#stack = stack;
    this.db = db;
  }

  /** Opens the world to the home customer, until the desk is closed. */
  static async open(stack: Stack): Promise<CarrierDesk> {
    const db = new pg.Client({ connectionString: stack.databaseUrl });
    await db.connect();
    const desk = new CarrierDesk(stack, db);
    await db.query("UPDATE customers SET identity_verification_status = 'verified' WHERE home");
    await db.query(`UPDATE outbound_configs SET destination_whitelist = '["de", "us"]'`);
    await desk.number(OWN_NUMBER);
    return desk;
  }

  /** Enters a number; its callers run the welcome flow unless another is named. */
  async number(number: string, more: Record<string, unknown> = {}): Promise<string> {
    const { customer_id, flow_id } = this.#stack.welcome;
    const facts = { type: 'normal', status: 'active', name: '', detail: '', call_flow_id: flow_id };
    const id = await this.#insert('numbers', { customer_id, number, ...facts, ...more });
    this.#numbers.push(id);
    return id;
  }

  /** A number stands in for sources that are none: the default one of the outbound config. */
  async standIn(number: string): Promise<void> {
    await this.db.query(
      'UPDATE outbound_configs SET default_outgoing_source_number_id = (SELECT id FROM numbers WHERE number = $1)',
      [number],
    );
  }

  /** A carrier that answers as told; without `incoming` it rings and waits. */
  async carrier(incoming: TestPhoneOptions['incoming'] = {}, more: Partial<TestPhoneOptions> = {}): Promise<TestPhone> {
    const carrier = await TestPhone.start({ username: 'carrier', incoming, ...more });
    this.#carriers.push(carrier);
    return carrier;
  }

  /** The provider that leads to a carrier. */
  async provider(carrier: TestPhone, more: Record<string, unknown> = {}): Promise<string> {
    const hostname = `127.0.0.1:${carrier.local.port}`;
    const tech = { tech_prefix: '', tech_postfix: '', tech_headers: '{}', codecs: '', username: '', password: '' };
    const facts = { type: 'sip', name: 'Carrier', detail: '', hostname, ...tech };
    const limits = { register: false, allowed_ips: '[]', max_calls: 0, max_calls_per_second: 0 };
    return this.#insert('providers', { ...facts, ...limits, ...more });
  }

  /** A route to a provider; of everybody unless a customer is named. */
  async route(provider_id: string, more: Record<string, unknown> = {}): Promise<string> {
    const facts = { customer_id: DEFAULT_ROUTES_OWNER, name: '', detail: '', priority: 1, target: 'all' };
    return this.#insert('routes', { ...facts, provider_id, ...more });
  }

  /** The providers of carriers, tried in this order for every number. */
  async routes(...carriers: [TestPhone, Record<string, unknown>?][]): Promise<string[]> {
    const ids: string[] = [];
    for (const [priority, [carrier, more]] of carriers.entries()) {
      const id = await this.provider(carrier, more);
      await this.route(id, { priority });
      ids.push(id);
    }
    return ids;
  }

  /** An entry of the ledger about a call to a telephone that began a minute ago. */
  async spend(more: Record<string, unknown>): Promise<string> {
    const { customer_id } = this.#stack.welcome;
    const { rows } = await this.db.query<{ id: string }>('SELECT id FROM billing_accounts WHERE customer_id = $1', [
      customer_id,
    ]);
    const about = { reference_type: 'call', reference_id: newId(), cost_type: 'call_pstn_outgoing' };
    const kind = { transaction_type: 'usage', status: 'end', idempotency_key: newId(), ...about };
    const balance = { balance_token_snapshot: 0, balance_credit_snapshot: 0 };
    const tm_billing_start = fromDate(new Date(Date.now() - 60_000));
    return this.#insert('billings', {
      customer_id,
      account_id: rows[0]?.id,
      ...kind,
      ...balance,
      tm_billing_start,
      ...more,
    });
  }

  /** Takes all routes and providers away, and stops the carriers; one that is still in a call fails the test. */
  async clear(): Promise<void> {
    await this.db.query('DELETE FROM routes; DELETE FROM providercalls; DELETE FROM providers; DELETE FROM trunks');
    const stopped = await Promise.allSettled(this.#carriers.splice(0).map(carrier => carrier.stop()));
    for (const result of stopped) if (result.status === 'rejected') throw result.reason;
  }

  /** Nobody stands in for sources that are none any more. */
  async standDown(): Promise<void> {
    await this.db.query('UPDATE outbound_configs SET default_outgoing_source_number_id = $1', [EMPTY_ID]);
  }

  /** Takes the numbers away, and leaves the home customer as the first start made it. */
  async close(): Promise<void> {
    await this.standDown();
    await this.db.query('DELETE FROM numbers WHERE id = ANY($1)', [this.#numbers]);
    await this.db.query("UPDATE outbound_configs SET destination_whitelist = '[]'");
    await this.db.query("UPDATE customers SET identity_verification_status = 'none' WHERE home");
    await this.db.end();
  }

  async #insert(table: string, row: Record<string, unknown>): Promise<string> {
    const id = newId();
    const full: Record<string, unknown> = { id, tm_create: timestamp(), ...row };
    const names = Object.keys(full);
    const places = names.map((_, at) => `$${at + 1}`).join(', ');
    await this.db.query(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${places})`, Object.values(full));
    return id;
  }

  /** A trunk of the home customer. */
  trunk(domain_name: string, more: Record<string, unknown> = {}): Promise<string> {
    const { customer_id } = this.#stack.welcome;
    const login = { auth_types: '["basic"]', username: 'pbx', password: 'secret', allowed_ips: '[]' };
    return this.#insert('trunks', { customer_id, domain_name, name: '', detail: '', ...login, ...more });
  }
}

/** The value of a header of the INVITE that reached a phone, the `count`-th one. */
export const inviteHeader = async (phone: TestPhone, name: string, count = 1): Promise<string | undefined> => {
  const { message } = await phone.message('INVITE', { direction: 'received', count });
  return message.headers.find(one => one.name.toLowerCase() === name)?.value;
};

/** The request URI of the INVITE that reached a phone. */
export const invitedUri = async (phone: TestPhone): Promise<string> => {
  const { message } = await phone.message('INVITE', { direction: 'received' });
  assert(message.kind === 'request');
  return message.uri;
};
