import { strict as assert } from 'node:assert';
import type { Call } from '#contract/call';
import type { LiveRecord } from '#contract/events';
import { newId } from '#contract/ids';
import { keys } from '#contract/keys';
import { parseTimestamp } from '#contract/time';
import { Projector } from '../../control-api/events/projector.ts';
import { readEvents } from '../../control-api/events/log.ts';
import { LiveResources } from '../../control-api/live.ts';
import { aCall, addCustomer, callEntry, eventually, openRig, report, type EventRig } from './events-rig.ts';

describe('reads of live resources', function () {
  this.timeout(20_000);
  let rig: EventRig;
  let live: LiveResources;
  let projector: Projector;

  before(async function () {
    this.timeout(60_000);
    rig = await openRig();
    live = new LiveResources({ database: rig.db, redis: rig.redis });
    projector = new Projector({ ...rig, database: rig.db });
    projector.start();
  });
  after(async () => {
    await projector.stop();
    await rig.close();
  });

  const hold = async (call: Call, version: number, final = false): Promise<void> => {
    const record: LiveRecord<'call'> = {
      kind: 'call',
      version,
      owner: 'node-1',
      final,
      data: call,
      internal: { a: 1 },
    };
    await rig.redis.set(keys.live('call', call.id), JSON.stringify(record));
  };
  const copied = (): Promise<void> => eventually('all is copied', async () => (await projector.lag()) === 0);
  const idsOf = async (customer: string): Promise<string[]> =>
    (await live.list('call', customer, { page_size: 100 })).result.map(call => call.id);

  it('shows a live call with its owner from Redis, and from Postgres once Redis has forgotten it', async () => {
    const call = aCall(await addCustomer(rig.db));
    await hold(call, 1);
    assert.deepEqual(await live.find('call', call.customer_id, call.id), { data: call, owner: 'node-1', live: true });
    await report(rig.redis, callEntry({ ...call, status: 'hangup' }, 2, []));
    await copied();
    await rig.redis.del(keys.live('call', call.id));
    const found = await live.find('call', call.customer_id, call.id);
    assert.deepEqual(found, { data: { ...call, status: 'hangup' }, live: false });
  });

  it('shows a call to its customer only', async () => {
    const call = aCall(await addCustomer(rig.db));
    await hold(call, 1);
    assert.equal(await live.find('call', newId(), call.id), undefined);
    assert.equal((await live.find('call', undefined, call.id))?.data.id, call.id);
    assert.equal(await live.find('call', call.customer_id, newId()), undefined);
  });

  it('lists the newest first, page after page, without repeating or passing over one', async () => {
    const customer = await addCustomer(rig.db);
    const calls = Array.from({ length: 7 }, () => aCall(customer));
    await report(rig.redis, ...calls.map(call => callEntry(call, 1, [])));
    await copied();
    const seen: string[] = [];
    let token = '';
    do {
      const page = await live.list('call', customer, { page_size: 3, page_token: parseTimestamp(token) });
      seen.push(...page.result.map(call => call.id));
      token = page.next_page_token;
    } while (token !== '');
    assert.deepEqual(seen, calls.map(call => call.id).reverse());
  });

  it('lists a call that the projector has not copied yet, and each call as Redis knows it', async () => {
    const customer = await addCustomer(rig.db);
    const [old, fresh] = [aCall(customer), aCall(customer)];
    await report(rig.redis, callEntry(old, 1, []));
    await copied();
    await projector.stop();
    await report(rig.redis, callEntry(fresh, 1, []), callEntry(aCall(newId()), 1, []));
    await hold({ ...old, status: 'progressing' }, 2);
    const { result } = await live.list('call', customer, { page_size: 10 });
    assert.deepEqual(
      result.map(call => [call.id, call.status]),
      [
        [fresh.id, 'dialing'],
        [old.id, 'progressing'],
      ],
    );
    projector = new Projector({ ...rig, database: rig.db });
    projector.start();
  });

  it('deletes a call for clients: found with tm_delete, no longer listed, and the event says so', async () => {
    const customer = await addCustomer(rig.db);
    const call = aCall(customer, { status: 'hangup' });
    await hold(call, 3, true);
    await report(rig.redis, callEntry(call, 3, []));
    await copied();
    assert.deepEqual(await idsOf(customer), [call.id]);
    const deleted = await live.remove('call', call, 'req_1');
    assert.ok(deleted.tm_delete);
    assert.deepEqual((await live.find('call', customer, call.id))?.data, deleted);
    assert.deepEqual(await idsOf(customer), []);
    await rig.redis.del(keys.live('call', call.id), keys.deleted('call', call.id));
    assert.equal((await live.find('call', customer, call.id))?.data.tm_delete, deleted.tm_delete);
    const [event] = await readEvents(rig.db, customer, 0, 10);
    assert.deepEqual([event?.event_type, event?.data], ['call_deleted', deleted]);
  });

  it('deletes a call that the projector has not copied yet, for good', async () => {
    const customer = await addCustomer(rig.db);
    const call = aCall(customer, { status: 'hangup' });
    await live.remove('call', call, 'req_1');
    await report(rig.redis, callEntry(call, 3, []));
    await copied();
    assert.deepEqual(await idsOf(customer), []);
    const row = (await rig.db('calls').where('id', call.id).first()) as { version: number };
    assert.equal(row.version, 3);
  });
});
