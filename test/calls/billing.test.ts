import { strict as assert } from 'node:assert';
import pg from 'pg';
import { eventually } from '../support/eventually.ts';
import { Office } from '../support/office.ts';
import { otherCustomer } from '../support/other-customer.ts';
import { Rooms } from '../support/rooms.ts';
import { refusalOf, sharedStack } from '../support/stack.ts';

interface Billing {
  status: string;
  reference_id: string;
  reference_type: string;
  cost_type: string;
  usage_duration: number;
  billable_units: number;
  amount_token: number;
  balance_token_snapshot: number;
}

const play = { type: 'play', option: { stream_urls: ['tone_stream://%(60000,0,900)'] } };

describe('a call that somebody pays for', function () {
  this.timeout(60_000);
  let office: Office;
  let rooms: Rooms;
  let database: pg.Client;

  before(async () => {
    office = new Office(await sharedStack());
    rooms = new Rooms(office);
    database = new pg.Client({ connectionString: office.stack.databaseUrl });
    await database.connect();
  });
  afterEach(async () => {
    await has({ plan_type: 'unlimited', balance_token: 100 });
    await office.close();
    await office.nothingLeft();
    office = new Office(office.stack);
    rooms = new Rooms(office);
  });
  after(() => database.end());

  /** What the account of the office is on, and has. */
  const has = async ({ plan_type = 'free', balance_token = 0, balance_credit = 0 }): Promise<void> => {
    const values = [plan_type, balance_token, balance_credit, office.stack.welcome.customer_id];
    await database.query(
      'update billing_accounts set plan_type = $1, balance_token = $2, balance_credit = $3 where customer_id = $4',
      values,
    );
  };
  const billingOf = (reference_id: string, status = 'end'): Promise<Billing> =>
    eventually(
      `the charge for ${reference_id}`,
      async () => {
        const path = `/billings?reference_id=${reference_id}&status=${status}`;
        return (await office.stack.api<{ result: Billing[] }>('GET', path)).body.result;
      },
      entries => entries.length === 1,
    ).then(([entry]) => entry as Billing);

  it('a minute on a virtual number takes a token, while it is recorded three more, and each has its entry', async () => {
    await has({ balance_token: 10 });
    const phone = await office.registered('1001', { tone: 620 });
    const dialled = await phone.dial(office.stack.welcome.number);
    await dialled.answered();
    const [call] = await eventually(
      'the call',
      () => office.calls(1),
      calls => calls[0]?.status === 'progressing',
    );
    assert(call);
    assert.equal((await billingOf(call.id, 'progressing')).amount_token, 0);
    const recorded = await office.stack.api<{ recording_id: string }>('POST', `/calls/${call.id}/recording_start`, {});
    assert.equal(recorded.status, 200);
    await dialled.hangup();
    const [minute, recording] = [await billingOf(call.id), await billingOf(recorded.body.recording_id)];
    assert.deepEqual([minute.cost_type, minute.billable_units, minute.amount_token], ['call_vn', 1, -1]);
    assert.deepEqual([recording.reference_type, recording.amount_token], ['recording', -3]);
    const { body } = await office.stack.api<{ balance_token: number }>('GET', '/billing_account');
    assert.equal(body.balance_token, 6);
  });

  it('without money nobody calls and nobody is called, and no call is left behind', async () => {
    const [phone] = [await office.registered('1001'), await office.registered('1002')];
    const [before] = await office.calls(1);
    await has({ balance_credit: 9_999 });
    const refused = await office.stack.api('POST', '/calls', {
      source: { type: 'tel', target: office.stack.welcome.number },
      destinations: [{ type: 'extension', target: '1002', target_name: '1002' }],
      actions: [play],
    });
    assert.deepEqual(refusalOf(refused), [402, 'INSUFFICIENT_BALANCE']);
    for (const target of [office.stack.welcome.number, '1002']) {
      const dialled = await phone.dial(target);
      assert.equal((await dialled.ended()).status, 500, target);
    }
    assert.deepEqual((await office.calls(1))[0]?.id, before?.id);
    await has({ balance_credit: 10_000 });
    const dialled = await phone.dial(office.stack.welcome.number);
    await dialled.answered();
    await dialled.hangup();
  });

  it('a number whose owner has no money takes no call from inside either, and none is recorded of it', async () => {
    const other = await otherCustomer(office.stack);
    const flow = await other.api<{ id: string }>('POST', '/flows', {
      name: 'tone',
      actions: [{ type: 'answer' }, play],
    });
    const number = '+899777000001';
    const bought = await other.api('POST', '/numbers', {
      number,
      type: 'virtual',
      name: 'line',
      call_flow_id: flow.body.id,
    });
    assert.deepEqual([flow.status, bought.status], [200, 200], JSON.stringify(bought.body));
    const funds = (balance_token: number) =>
      database.query('update billing_accounts set balance_token = $1 where customer_id = $2', [
        balance_token,
        other.id,
      ]);
    const phone = await office.registered('1001');
    await funds(0);
    const refused = await phone.dial(number);
    assert.equal((await refused.ended()).status, 500);
    assert.deepEqual((await other.api<{ result: unknown[] }>('GET', '/calls')).body.result, []);
    await funds(1);
    const taken = await phone.dial(number);
    await taken.answered();
    await taken.hangup();
  });

  it('a call that lost its money goes on, but is not recorded and comes into no conference', async () => {
    const phone = await office.registered('1001', {});
    const room = await rooms.open();
    const stays = await office.ring('1001', [{ type: 'answer' }, play]);
    const ringing = await phone.waitForCall();
    ringing.answer();
    await office.progressing(stays.id);
    await has({});
    const path = `/calls/${stays.id}/recording_start`;
    assert.deepEqual(refusalOf(await office.stack.api('POST', path, {})), [402, 'INSUFFICIENT_BALANCE']);
    assert.deepEqual(refusalOf(await rooms.recording('start', room.id)), [402, 'INSUFFICIENT_BALANCE']);
    assert.equal((await office.call(stays.id)).status, 'progressing');
    await ringing.hangup();
    await office.ended(stays.id);
    await has({ balance_credit: 10_000 }); // enough to call, and a conference costs less: take it while it rings
    const joins = await office.ring('1001', [{ type: 'conference_join', option: { conference_id: room.id } }]);
    const second = await phone.waitForCall();
    await has({});
    second.answer();
    await office.ended(joins.id);
    assert.deepEqual(await rooms.participants(`conference_id=${room.id}`), []);
    await rooms.closed(room.id);
  });
});
