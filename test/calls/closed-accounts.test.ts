import { strict as assert } from 'node:assert';
import { Redis } from 'ioredis';
import pg from 'pg';
import { keys } from '#contract/keys';
import { eventually } from '../support/eventually.ts';
import { Office } from '../support/office.ts';
import { otherCustomer, type OtherCustomer } from '../support/other-customer.ts';
import { sharedStack } from '../support/stack.ts';

const tone = { type: 'play', option: { stream_urls: ['tone_stream://%(60000,0,900)'] } };

/** accounts-and-plumbing 5 and 20.3: what REGISTER and INVITE hear. Of a deleted account no phone can prove itself. */
const STATES: [status: string, register: number, invite: number][] = [
  ['initial', 200, 200],
  ['active', 200, 200],
  ['frozen', 403, 500],
  ['expired', 403, 500],
  ['deleted', 403, 403],
];

describe('phones of an account', function () {
  this.timeout(60_000);
  let office: Office;
  let database: pg.Client;
  let redis: Redis;
  let made = 0;

  before(async () => {
    office = new Office(await sharedStack());
    database = new pg.Client({ connectionString: office.stack.databaseUrl });
    redis = new Redis(office.stack.redisUrl);
    await database.connect();
  });
  afterEach(async () => {
    await office.close();
    await office.nothingLeft();
    office = new Office(office.stack);
  });
  after(async () => {
    redis.disconnect();
    await database.end();
  });

  /** Its owner closes it, or time does. */
  const become = async (customer: OtherCustomer, status: string): Promise<void> => {
    if (status === 'frozen' || status === 'deleted') await customer.close(status === 'deleted');
    else await database.query('update customers set status = $1 where id = $2', [status, customer.id]);
  };
  /** A customer with a phone, and a number that plays a tone. */
  const open = async () => {
    const customer = await otherCustomer(office.stack);
    const account = await customer.extension('3001');
    const { body: flow } = await customer.api<{ id: string }>('POST', '/flows', {
      name: 'Tone',
      actions: [{ type: 'answer' }, tone],
    });
    const number = `+89977700010${(made += 1)}`;
    const line = { number, type: 'virtual', name: 'Door', call_flow_id: flow.id };
    const bought = await customer.api('POST', '/numbers', line);
    assert.equal(bought.status, 200, JSON.stringify(bought.body));
    return { customer, number, extension_id: account.id, phone: await office.phoneOf(account) };
  };

  for (const [status, register, invite] of STATES)
    it(`that is ${status}: REGISTER is answered ${register}, INVITE ${invite}`, async () => {
      const { customer, number, phone } = await open();
      await become(customer, status);
      const answer = phone.register().then(
        () => 200,
        (error: { status?: number }) => error.status,
      );
      assert.equal(await answer, register);
      const dialled = await phone.dial(number);
      if (invite === 200) {
        await dialled.answered();
        await dialled.hangup();
        await phone.unregister();
      } else assert.equal((await dialled.ended()).status, invite);
    });

  for (const status of ['frozen', 'deleted'])
    it(`a call that is up ends when the account is ${status}`, async () => {
      const { customer, number, phone } = await open();
      const dialled = await phone.dial(number);
      await dialled.answered();
      await become(customer, status);
      assert.equal((await dialled.ended()).by, 'them');
    });

  it('are forgotten when it is deleted', async () => {
    const { customer, phone, extension_id } = await open();
    const known = (): Promise<number> => redis.exists(keys.contacts(extension_id));
    await phone.register();
    assert.equal(await known(), 1);
    await become(customer, 'deleted');
    await eventually('a registrar that knows the phone no more', known, count => count === 0);
  });
});
