import { strict as assert } from 'node:assert';
import { newId } from '#contract/ids';
import { keys } from '#contract/keys';
import type { Call } from '#contract/call';
import { Projector } from '../../control-api/events/projector.ts';
import { readEvents } from '../../control-api/events/log.ts';
import { aCall, addCustomer, callEntry, countOf, eventually, openRig, report, type EventRig } from './events-rig.ts';

const rowOf = async (
  rig: EventRig,
  id: string,
): Promise<{ version: number; data: Call; tm_create: string } | undefined> =>
  (await rig.db('calls').where('id', id).first()) as { version: number; data: Call; tm_create: string } | undefined;

describe('the projector', function () {
  this.timeout(30_000);
  let rig: EventRig;
  let started: Projector[] = [];
  const start = (): Projector => {
    const projector = new Projector({ ...rig, database: rig.db });
    projector.start();
    started.push(projector);
    return projector;
  };
  const caughtUp = (projector: Projector): Promise<void> =>
    eventually('everything is in Postgres', async () => (await projector.lag()) === 0);

  before(async function () {
    this.timeout(60_000);
    rig = await openRig();
  });
  afterEach(async () => {
    await Promise.all(started.map(projector => projector.stop()));
    started = [];
  });
  after(() => rig.close());

  it('writes the newest state of a call and tells its story in order, once', async () => {
    const customer = await addCustomer(rig.db);
    const call = aCall(customer);
    await report(
      rig.redis,
      callEntry(call, 1, ['call_created']),
      callEntry({ ...call, status: 'ringing' }, 2, ['call_ringing']),
      callEntry({ ...call, status: 'progressing' }, 3, ['call_progressing', 'call_updated']),
    );
    await caughtUp(start());
    const row = await rowOf(rig, call.id);
    assert.equal(row?.version, 3);
    assert.deepEqual(row?.data, { ...call, status: 'progressing' });
    assert.equal(row?.tm_create, call.tm_create);
    const events = await readEvents(rig.db, customer, 0, 10);
    assert.deepEqual(
      events.map(event => [event.sequence, event.event_type, event.data['status']]),
      [
        [1, 'call_created', 'dialing'],
        [2, 'call_ringing', 'ringing'],
        [3, 'call_progressing', 'progressing'],
        [4, 'call_updated', 'progressing'],
      ],
    );
  });

  it('copies a change within a quarter of a second of media-app reporting it', async () => {
    const projector = start();
    await eventually('it is active', () => projector.active);
    const call = aCall(await addCustomer(rig.db));
    const reported = performance.now();
    await report(rig.redis, callEntry(call, 1, ['call_created']));
    await eventually('the row is there', async () => (await rowOf(rig, call.id)) !== undefined);
    assert.ok(performance.now() - reported < 250);
  });

  it('never writes an older state over a newer one', async () => {
    const call = aCall(await addCustomer(rig.db));
    await report(rig.redis, callEntry({ ...call, status: 'hangup' }, 5, []), callEntry(call, 1, []));
    const projector = start();
    await caughtUp(projector);
    await report(rig.redis, callEntry({ ...call, status: 'ringing' }, 4, []));
    await caughtUp(projector);
    assert.equal((await rowOf(rig, call.id))?.data.status, 'hangup');
  });

  it('sets an entry that nobody can read aside, says so, and goes on with the next', async () => {
    const customer = await addCustomer(rig.db);
    const [before, after, nul] = [aCall(customer), aCall(customer), aCall(customer)];
    const poison = callEntry({ ...nul, flow_id: 'a\u0000b' }, 1, ['call_created']);
    const noVersion = JSON.stringify({ ...callEntry(nul, 1, []), version: 'x' });
    await report(rig.redis, callEntry(before, 1, ['call_created']), '{"kind":', noVersion, poison);
    await report(rig.redis, callEntry(after, 1, ['call_created']));
    await caughtUp(start());
    assert.equal(await countOf(rig.db, 'projector_refused'), 3);
    assert.deepEqual(
      (await readEvents(rig.db, customer, 0, 10)).map(event => [event.sequence, event.data['id']]),
      [
        [1, before.id],
        [2, after.id],
      ],
    );
    assert.equal(rig.warnings.filter(line => line['msg'] === 'live entry set aside').length, 3);
  });

  it('is one of two: the other waits, and takes over when the first goes', async () => {
    const [one, two] = [start(), start()];
    await eventually('one of them is active', () => one.active || two.active);
    const [active, standby] = one.active ? [one, two] : [two, one];
    const customer = await addCustomer(rig.db);
    const calls = Array.from({ length: 20 }, () => aCall(customer));
    await report(rig.redis, ...calls.slice(0, 10).map(call => callEntry(call, 1, ['call_created'])));
    await caughtUp(active);
    assert.equal(standby.active, false);
    await active.stop();
    await report(rig.redis, ...calls.slice(10).map(call => callEntry(call, 1, ['call_created'])));
    await caughtUp(standby);
    assert.deepEqual(
      (await readEvents(rig.db, customer, 0, 100)).map(event => [event.sequence, event.data['id']]),
      calls.map((call, n) => [n + 1, call.id]),
    );
  });

  it('loses and doubles nothing while its connection is cut again and again in the middle of batches', async () => {
    const customers = [await addCustomer(rig.db), await addCustomer(rig.db)];
    const calls = Array.from({ length: 60 }, (_, n) => aCall(customers[n % 2] ?? ''));
    const projectors = [start(), start()];
    let cuts = 0;
    const cut = async (): Promise<void> => {
      const { rowCount } = await rig.db.raw<{ rowCount: number }>(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'control-api projector' and datname = current_database() and (state = 'idle in transaction' or state = 'active')",
      );
      cuts += rowCount;
    };
    for (let version = 1; version <= 25; version++) {
      await report(rig.redis, ...calls.map(call => callEntry(call, version, ['call_updated'])));
      await cut();
    }
    for (const projector of projectors) await caughtUp(projector);
    for (const customer of customers) {
      const events = await readEvents(rig.db, customer, 0, 10_000);
      assert.deepEqual(
        events.map(event => event.sequence),
        Array.from({ length: 30 * 25 }, (_, n) => n + 1),
      );
      assert.equal(new Set(events.map(event => event.id)).size, 30 * 25);
    }
    const { rows } = await rig.db.raw<{ rows: { version: number }[] }>(
      'select distinct version from calls where customer_id = any(?::uuid[])',
      [customers],
    );
    assert.deepEqual(rows, [{ version: 25 }]);
    assert.ok(cuts > 0, 'no connection was cut, so the test showed nothing');
  });

  it('keeps what a client deleted deleted, whatever media-app still reports of it', async () => {
    const call = aCall(await addCustomer(rig.db));
    const projector = start();
    await report(rig.redis, callEntry(call, 1, []));
    await caughtUp(projector);
    const tm_delete = '2026-11-21 10:00:00.000000';
    await rig
      .db('calls')
      .where('id', call.id)
      .update({ tm_delete, data: { ...call, tm_delete } });
    await report(rig.redis, callEntry({ ...call, status: 'hangup' }, 2, []));
    await caughtUp(projector);
    const row = await rowOf(rig, call.id);
    assert.deepEqual([row?.data.status, row?.data.tm_delete], ['hangup', tm_delete]);
  });

  it('cuts the stream only behind what is committed', async () => {
    const customer = await addCustomer(rig.db);
    const projector = start();
    const entries = Array.from({ length: 600 }, () => callEntry(aCall(customer), 1, []));
    await report(rig.redis, ...entries);
    await caughtUp(projector);
    await new Promise(resolve => setTimeout(resolve, 1100));
    await report(rig.redis, callEntry(aCall(customer), 1, []));
    await eventually('the stream is cut', async () => (await rig.redis.xlen(keys.stream)) < 300);
    const [last] = await rig.redis.xrevrange(keys.stream, '+', '-', 'COUNT', 1);
    const row = (await rig.db('projector_cursor').first()) as { stream_id: string };
    await caughtUp(projector);
    assert.ok(last && row.stream_id <= last[0]);
  });

  it('reports its lag as the age of the oldest change that is not copied', async () => {
    const projector = new Projector({ ...rig, database: rig.db });
    assert.equal(await projector.lag(), 0);
    await report(rig.redis, callEntry(aCall(newId()), 1, []));
    assert.ok((await projector.lag()) > 0);
  });
});
