import pg from 'pg';
import { Redis } from 'ioredis';
import { type CarrierDesk, OWN_NUMBER } from '../../test/support/carrier.ts';
import type { Office, PhoneAccount } from '../../test/support/office.ts';
import type { TestPhone } from '../../test/support/phone.ts';
import type { Stack } from '../../test/support/stack.ts';
import type { Target } from './attack-waves.ts';

/** The number that the phones of the house call; nobody else may. */
const FRIEND = '+12125550123';
/** The phones of the house sit here; GUARD_ALLOW does not know it. */
const HOUSE = '127.0.9.9';

/** Honest phones on the server that is attacked: they register again, call each other and the world. */
export class Victims {
  readonly caller: TestPhone;
  readonly callee: TestPhone;
  readonly carrier: TestPhone;
  /** A phone that anybody may ring by its direct hash; it refuses. */
  readonly door: TestPhone;
  readonly #stack: Stack;
  /** Milliseconds until each call was answered. */
  readonly setups: number[] = [];
  failures: string[] = [];
  registrations = 0;
  #running = false;
  #loops: Promise<void>[] = [];

  /** @param door the account of the phone that anybody may ring */
  static async start(office: Office, desk: CarrierDesk, door: PhoneAccount): Promise<Victims> {
    const carrier = await desk.carrier({ autoAnswer: true });
    await desk.routes([carrier]);
    const caller = await office.registered('1001', { host: HOUSE });
    const callee = await office.registered('1002', { host: HOUSE, incoming: { autoAnswer: true } });
    const open = await office.phoneOf(door, { host: HOUSE, incoming: { refuse: 486 } });
    await open.register();
    return new Victims(office.stack, [caller, callee, carrier, open]);
  }

  private constructor(stack: Stack, phones: [TestPhone, TestPhone, TestPhone, TestPhone]) {
    this.#stack = stack;
    [this.caller, this.callee, this.carrier, this.door] = phones;
  }

  /** What somebody who listens on the wire has: digests, and what they were made for. */
  sniffed(): Target['sniffed'] {
    return [this.caller, this.callee].flatMap(phone =>
      phone.log.flatMap(({ direction, message }) => {
        const authorization = message.headers.find(({ name }) => name === 'authorization')?.value;
        if (direction !== 'sent' || message.kind !== 'request' || !authorization) return [];
        return [{ method: message.method, uri: message.uri, authorization }];
      }),
    );
  }

  /** One call after the other to each side, until `stop`. */
  run(): void {
    this.#running = true;
    // Each registers a phone of its own: of two at once the one that is handled later would be the older.
    this.#loops = [this.#loop('1002', this.callee), this.#loop(FRIEND, this.caller)];
  }

  async stop(): Promise<void> {
    this.#running = false;
    await Promise.all(this.#loops);
  }

  async call(target: string): Promise<void> {
    const began = performance.now();
    const call = await this.caller.dial(target);
    try {
      await call.answered({ within_ms: 15_000 });
      this.setups.push(performance.now() - began);
    } catch (error) {
      this.failures.push(`a call to ${target}: ${String(error)}`);
    }
    // One that was refused cannot be hung up any more.
    await call.hangup().catch(() => undefined);
  }

  async #loop(target: string, phone: TestPhone): Promise<void> {
    while (this.#running) {
      await this.call(target);
      await phone.register().then(
        () => (this.registrations += 1),
        (error: unknown) => this.failures.push(`a registration: ${String(error)}`),
      );
      await new Promise(resolve => setTimeout(resolve, 100));
    }
  }

  /** What reached the phones, the carrier and the stores and came from none of them, a sentence each. */
  async breaches(): Promise<string[]> {
    return [
      ...this.#strangeInvites(),
      ...[this.caller, this.callee, this.carrier, this.door].flatMap(injected),
      ...(await strangeCalls(this.#stack, this.door.name)),
      ...(await strangeContacts(this.#stack)),
    ];
  }

  #strangeInvites(): string[] {
    const to = (phone: TestPhone) => phone.messages('INVITE', 'received').map(({ message }) => message);
    const carried = to(this.carrier).flatMap(one => (one.kind === 'request' ? [one.uri] : []));
    const rung = to(this.callee).map(one => one.headers.find(({ name }) => name === 'from')?.value ?? '');
    return [
      ...carried.filter(uri => !uri.startsWith(`sip:${FRIEND}@`)).map(uri => `the carrier was sent ${uri}`),
      ...rung.filter(from => !from.includes('sip:1001@')).map(from => `a phone was rung by ${from}`),
    ];
  }
}

/** Lines that nobody of us wrote. */
const injected = (phone: TestPhone): string[] =>
  phone.log
    .filter(({ direction }) => direction === 'received')
    .flatMap(({ message }) => message.headers)
    .filter(({ name, value }) => name.includes('injected') || /[\r\n]/.test(value))
    .map(({ name, value }) => `${phone.name} read the line ${name}: ${value}`);

/** Calls of others than the phones of the house, but for those to the open door. */
const strangeCalls = async ({ databaseUrl }: Stack, door: string): Promise<string[]> => {
  const db = new pg.Client({ connectionString: databaseUrl });
  await db.connect();
  const asked = db.query<{ source: string; destination: string }>(
    `SELECT data->'source'->>'target' AS source, data->'destination'->>'target' AS destination FROM calls
      WHERE data->'destination'->>'target' <> $1
        AND NOT (data->'source'->>'target' = ANY($2) AND data->'destination'->>'target' = ANY($3))`,
    [door, ['1001', OWN_NUMBER], ['1002', FRIEND]],
  );
  const { rows } = await asked.finally(() => db.end());
  return rows.map(({ source, destination }) => `a call from ${source} to ${destination} was placed`);
};

/** Contacts at other addresses than the phones'. */
const strangeContacts = async ({ redisUrl }: Stack): Promise<string[]> => {
  const redis = new Redis(redisUrl);
  const found = await redis.keys('tl:contacts:*');
  const all = await Promise.all(found.map(key => redis.hvals(key)));
  redis.disconnect();
  return all
    .flat()
    .map(text => (JSON.parse(text) as { uri: string }).uri)
    .filter(uri => !uri.includes(`@${HOUSE}`))
    .map(uri => `${uri} was registered`);
};
