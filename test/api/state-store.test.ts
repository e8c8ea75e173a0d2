import { strict as assert } from 'node:assert';
import { Redis } from 'ioredis';
import { START_ACTION } from '#contract/action';
import { newCall, type Call } from '#contract/call';
import type { LiveEntry } from '#contract/events';
import { newId } from '#contract/ids';
import { keys } from '#contract/keys';
import type { Step } from '#contract/machine';
import { groupcallMachine } from '#contract/machines/groupcall';
import { callMachine } from '#contract/machines/call';
import { timestamp } from '#contract/time';
import { IllegalMoveError, LostRecordError, StateStore } from '../../media-app/call/state-store.ts';
import { testRedis } from '../support/database.ts';
import { LosingProxy } from '../support/losing-proxy.ts';

const party = { type: 'sip', target: 'sip:a@b', target_name: '', name: '', detail: '' } as const;
const aCall = (): Call =>
  newCall({
    id: newId(),
    customer_id: newId(),
    direction: 'outgoing',
    status: 'dialing',
    source: party,
    destination: party,
    action: START_ACTION,
    tm_create: timestamp(),
  });

const ring = callMachine.step('dialing', 'ring');
const answer = callMachine.step('dialing', 'answer');
const end = callMachine.step('dialing', 'end');

describe('the state of a live call', () => {
  let redis: Redis;
  let mine: StateStore;
  let theirs: StateStore;
  const entriesOf = async (id: string): Promise<LiveEntry[]> => {
    const all = await redis.xrange(keys.stream, '-', '+');
    return all.map(([, fields]) => JSON.parse(fields[1] ?? '') as LiveEntry).filter(entry => entry.id === id);
  };

  let redisUrl = '';
  before(async () => {
    redisUrl = (await testRedis()).url;
    redis = new Redis(redisUrl);
    mine = new StateStore(redis, newId());
    theirs = new StateStore(redis, newId());
  });
  after(() => redis.disconnect());

  it('is written together with its event, version by version', async () => {
    const call = aCall();
    const record = mine.create('call', call);
    await mine.commit(record, call, { events: ['call_created'] });
    await mine.commit(record, { ...call, status: 'ringing' }, { events: ['call_ringing'], step: ring });
    const stored = await mine.read('call', call.id);
    assert.deepEqual([stored?.version, stored?.owner, stored?.data.status], [2, mine.node, 'ringing']);
    assert.deepEqual(
      (await entriesOf(call.id)).map(entry => [entry.version, entry.events[0]?.event_type]),
      [
        [1, 'call_created'],
        [2, 'call_ringing'],
      ],
    );
    assert.equal(await redis.sismember(keys.owned(mine.node), `call:${call.id}`), 1);
  });

  it('is not written over a version that somebody else has written', async () => {
    const call = aCall();
    const record = mine.create('call', call);
    await mine.commit(record, call, { events: ['call_created'] });
    const copy = structuredClone(record);
    await mine.commit(record, { ...call, status: 'ringing' }, { events: ['call_ringing'], step: ring });
    await assert.rejects(
      mine.commit(copy, { ...call, status: 'progressing' }, { events: ['call_progressing'], step: answer }),
      LostRecordError,
    );
    assert.equal((await entriesOf(call.id)).length, 2, 'nor is its event');
  });

  it('is created once', async () => {
    const call = aCall();
    await mine.commit(mine.create('call', call), call, { events: ['call_created'] });
    await assert.rejects(
      theirs.commit(theirs.create('call', call), call, { events: ['call_created'] }),
      LostRecordError,
    );
  });

  it('is buried by exactly one of many nodes, and the dead one cannot write any more', async () => {
    const call = aCall();
    const record = mine.create('call', call);
    await mine.commit(record, call, { events: ['call_created'] });
    const buriers = [theirs, new StateStore(redis, newId()), new StateStore(redis, newId())];
    const attempts = await Promise.allSettled(
      buriers.map(async store => {
        const found = await store.read('call', call.id);
        assert(found);
        await store.commit(found, { ...call, status: 'hangup' }, { events: ['call_hangup'], step: end });
      }),
    );
    assert.equal(attempts.filter(one => one.status === 'fulfilled').length, 1);
    await assert.rejects(
      mine.commit(record, { ...call, status: 'progressing' }, { events: [], step: answer }),
      LostRecordError,
    );
    assert.equal((await entriesOf(call.id)).filter(entry => entry.events[0]?.event_type === 'call_hangup').length, 1);
  });

  it('never takes a status that the table has no step to: nothing is written and nothing told', async () => {
    const call = aCall();
    const record = mine.create('call', call);
    await mine.commit(record, call, { events: ['call_created'] });
    const hangup = { ...call, status: 'hangup' } as const;
    const illegal: [string, Call, Step | undefined][] = [
      ['no step', hangup, undefined],
      ['a step that leads elsewhere', hangup, ring],
      ['a step from another status', hangup, callMachine.step('ringing', 'end')],
      ['a step of another machine', hangup, groupcallMachine.step('progressing', 'end')],
      ['a step and the status it began with', call, ring],
    ];
    for (const [what, data, step] of illegal)
      await assert.rejects(
        mine.commit(structuredClone(record), data, { events: ['call_hangup'], step }),
        IllegalMoveError,
        what,
      );
    assert.equal((await mine.read('call', call.id))?.data.status, 'dialing');
    assert.equal((await entriesOf(call.id)).length, 1);
    await mine.commit(record, hangup, { events: ['call_hangup'], step: end });
  });

  it('is told once when a commit is sent again because its answer was lost with the connection', async () => {
    const call = aCall();
    const record = mine.create('call', call);
    await mine.commit(record, call, { events: ['call_created'] });
    const proxy = await LosingProxy.start(new URL(redisUrl));
    const cut = new Redis({
      port: proxy.port,
      db: Number(new URL(redisUrl).pathname.slice(1)),
      maxRetriesPerRequest: null,
    });
    const store = new StateStore(cut, mine.node);
    await store.read('call', call.id);
    proxy.loseAnswers();
    const ringing = { ...call, status: 'ringing' } as const;
    const progressing = { ...call, status: 'progressing' } as const;
    await Promise.all([
      store.commit(record, ringing, { events: ['call_ringing'], step: ring }),
      store.commit(record, progressing, { events: ['call_progressing'], step: callMachine.step('ringing', 'answer') }),
    ]);
    cut.disconnect();
    await proxy.stop();
    assert.equal(proxy.connections, 2, 'the answers were lost, and the commits sent again');
    assert.deepEqual(
      (await entriesOf(call.id)).map(entry => entry.events[0]?.event_type),
      ['call_created', 'call_ringing', 'call_progressing'],
    );
  });

  it('stays readable for a while when it is over, and belongs to nobody', async () => {
    const call = aCall();
    const record = mine.create('call', call);
    await mine.commit(record, call, { events: ['call_created'] });
    await mine.commit(record, { ...call, status: 'hangup' }, { events: ['call_hangup'], step: end });
    assert((await redis.ttl(keys.live('call', call.id))) > 0);
    assert.equal(await redis.sismember(keys.owned(mine.node), `call:${call.id}`), 0);
  });
});
