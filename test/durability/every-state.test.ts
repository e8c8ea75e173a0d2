import { strict as assert } from 'node:assert';
import { Redis } from 'ioredis';
import pg from 'pg';
import type { Call } from '#contract/call';
import { type Conference, newConference } from '#contract/conference';
import type { LiveRecord } from '#contract/events';
import { EMPTY_ID, newId } from '#contract/ids';
import { keys, LIVE_KINDS, type LiveKind } from '#contract/keys';
import { callMachine } from '#contract/machines/call';
import { conferenceMachine } from '#contract/machines/conference';
import { conferencecallMachine } from '#contract/machines/conferencecall';
import { groupcallMachine } from '#contract/machines/groupcall';
import { recordingMachine } from '#contract/machines/recording';
import { transferMachine } from '#contract/machines/transfer';
import { NEVER, timestamp } from '#contract/time';
import { StateStore } from '../../media-app/call/state-store.ts';
import { eventually } from '../support/eventually.ts';
import { Office } from '../support/office.ts';
import { type IncomingBehaviour, TestPhone } from '../support/phone.ts';
import { tone } from '../support/rooms.ts';
import { startStack, type Stack } from '../support/stack.ts';

const sleep = [{ type: 'sleep', option: { duration: 120_000 } }];
const join = (conference_id: string) => [{ type: 'conference_join', option: { conference_id } }, ...sleep];

/** Long because one kill is to find a record in every state that lasts: each is a line of `scenes`. */
describe('media-app killed while records are in every state', function () {
  this.timeout(90_000);
  let stack: Stack;
  let office: Office;
  let redis: Redis;
  let phones: TestPhone[];

  before(async () => {
    stack = await startStack();
    office = new Office(stack);
    redis = new Redis(stack.redisUrl);
    phones = [];
  });
  after(async () => {
    process.kill(stack.processes.engine.pid, 'SIGCONT'); // should a test have failed while it stood still
    await Promise.all(phones.map(phone => phone.stop({ hangup: true })));
    redis.disconnect();
    await office.close();
    await stack.stop();
  });

  const phone = async (incoming: IncomingBehaviour): Promise<TestPhone> => {
    const server = stack.sip;
    const one = await TestPhone.start({ username: `p${phones.length}`, domain: 'states.invalid', server, incoming });
    phones.push(one);
    return one;
  };
  const to = (one: TestPhone) => ({ type: 'sip', target: one.address });
  const source = () => ({ type: 'tel', target: stack.welcome.number });

  const order = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await stack.api<T>(method, path, body);
    assert.equal(answer.status, 200, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const place = async (one: TestPhone, actions: unknown[] = sleep): Promise<Call> => {
    const { calls } = await order<{ calls: Call[] }>('POST', '/calls', {
      source: source(),
      destinations: [to(one)],
      actions,
    });
    assert(calls[0]);
    return calls[0];
  };
  const live = async <K extends LiveKind>(kind: K, id: string): Promise<LiveRecord<K> | undefined> => {
    const text = await redis.get(keys.live(kind, id));
    return text === null ? undefined : (JSON.parse(text) as LiveRecord<K>);
  };
  const all = async <K extends LiveKind>(kind: K): Promise<LiveRecord<K>[]> => {
    const names = await redis.keys(keys.live(kind, '*'));
    const texts = names.length > 0 ? await redis.mget(names) : [];
    return texts.flatMap(text => (text === null ? [] : [JSON.parse(text) as LiveRecord<K>]));
  };
  const reaches = (kind: LiveKind, id: string, status: string) =>
    eventually(
      `${kind} ${status}`,
      () => live(kind, id),
      record => record?.data.status === status,
      10_000,
    );

  const answered = async (actions: unknown[] = sleep): Promise<Call> => {
    const call = await place(await phone({ autoAnswer: true }), actions);
    await reaches('call', call.id, 'progressing');
    return call;
  };
  const recorded = async (): Promise<Call> => {
    const call = await answered();
    return order<Call>('POST', `/calls/${call.id}/recording_start`, {});
  };
  const room = (given: Record<string, unknown> = {}) =>
    order<Conference>('POST', '/conferences', { type: 'conference', ...given });
  /** A room whose media-app has written it and nothing else yet: it is open a moment later, so nobody can wait for that. */
  const newRoom = async (type: Conference['type']): Promise<string> => {
    const [node = ''] = await redis.smembers(keys.nodes);
    const store = new StateStore(redis, node);
    const record = store.create(
      'conference',
      newConference({
        ...{ id: newId(), customer_id: stack.welcome.customer_id, type, name: '', detail: '', data: {}, timeout: 0 },
        ...{ pre_flow_id: EMPTY_ID, post_flow_id: EMPTY_ID, direct_hash: '', tm_create: timestamp() },
      }),
    );
    await store.commit(record, record.data, { events: ['conference_created'] });
    return record.data.id;
  };
  const inRoom = async (conference: Conference, status: string): Promise<string> => {
    const call = await answered(join(conference.id));
    const [found] = await eventually(
      `a participant ${status}`,
      async () => (await all('conferencecall')).filter(({ data }) => data.reference_id === call.id),
      ([one]) => one?.data.status === status,
    );
    assert(found);
    return found.data.id;
  };
  /** Two in conversation, which the first hands on; the id of the transfer. */
  const transferred = async (type: 'blind' | 'attended', to_be: 'calling' | 'consulting'): Promise<string> => {
    const far = await phone({ autoAnswer: true });
    const call = await place(await phone({ autoAnswer: true }), [
      { type: 'connect', option: { source: source(), destinations: [to(far)] } },
    ]);
    await (await far.waitForCall()).answered();
    const third = await phone({ autoAnswer: to_be === 'consulting' });
    const body = { transfer_type: type, transferer_call_id: call.id, transferee_addresses: [to(third)] };
    const made = await eventually(
      'a transfer that is taken, once the two are together',
      () => stack.api<{ id: string }>('POST', '/transfers', body),
      ({ status }) => status === 200,
    );
    return made.body.id;
  };
  const group = async (): Promise<string> => {
    const destinations = await Promise.all([phone({}), phone({})]);
    const body = { source: source(), destinations: destinations.map(to), actions: sleep };
    const { id, call_ids } = await order<{ id: string; call_ids: string[] }>('POST', '/groupcalls', body);
    await Promise.all(call_ids.map(call => reaches('call', call, 'ringing')));
    return id;
  };

  /** What is to be seen, who gets there before the engine stands still, and what is ordered after. */
  interface Scene {
    kind: LiveKind;
    status: string;
    set: () => Promise<string>;
    then?: (id: string) => [method: string, path: string];
  }
  const hangup = (id: string): [string, string] => ['POST', `/calls/${id}/hangup`];
  const idOf = async (call: Promise<Call>): Promise<string> => (await call).id;
  const scenes: Scene[] = [
    { kind: 'call', status: 'dialing', set: async () => idOf(place(await phone({ ring: false }))) },
    { kind: 'call', status: 'ringing', set: async () => idOf(place(await phone({}))) },
    { kind: 'call', status: 'progressing', set: () => idOf(answered([tone(700, 60_000)])) },
    { kind: 'call', status: 'canceling', set: async () => idOf(place(await phone({}))), then: hangup },
    { kind: 'call', status: 'terminating', set: () => idOf(answered()), then: hangup },
    {
      kind: 'recording',
      status: 'initiating',
      set: () => idOf(answered()),
      then: id => ['POST', `/calls/${id}/recording_start`],
    },
    { kind: 'recording', status: 'recording', set: async () => (await recorded()).id },
    {
      kind: 'recording',
      status: 'stopping',
      set: async () => (await recorded()).id,
      then: id => ['POST', `/calls/${id}/recording_stop`],
    },
    {
      kind: 'conferencecall',
      status: 'joining',
      set: async () => {
        const flow = await order<{ id: string }>('POST', '/flows', { name: 'pre', actions: sleep });
        return inRoom(await room({ pre_flow_id: flow.id }), 'joining');
      },
    },
    { kind: 'conferencecall', status: 'joined', set: async () => inRoom(await room(), 'joined') },
    {
      kind: 'conferencecall',
      status: 'leaving',
      set: async () => inRoom(await room(), 'joined'),
      then: id => ['DELETE', `/conferencecalls/${id}`],
    },
    { kind: 'conference', status: 'starting', set: () => newRoom('conference') },
    { kind: 'conference', status: 'starting', set: () => newRoom('connect') },
    { kind: 'conference', status: 'progressing', set: async () => (await room()).id },
    {
      kind: 'conference',
      status: 'terminating',
      set: async () => {
        const conference = await room();
        await inRoom(conference, 'joined');
        return conference.id;
      },
      then: id => ['DELETE', `/conferences/${id}`],
    },
    { kind: 'transfer', status: 'calling', set: () => transferred('blind', 'calling') },
    { kind: 'transfer', status: 'consulting', set: () => transferred('attended', 'consulting') },
    { kind: 'groupcall', status: 'progressing', set: group },
    { kind: 'groupcall', status: 'hangingup', set: group, then: id => ['POST', `/groupcalls/${id}/hangup`] },
  ];

  /** Of a recording, the scene knows its call. */
  const seen = async ({ kind }: Scene, id: string): Promise<string | undefined> => {
    if (kind !== 'recording') return (await live(kind, id))?.data.status;
    return (await all('recording')).find(({ data }) => data.reference_id === id)?.data.status;
  };

  const MACHINES = {
    call: callMachine,
    groupcall: groupcallMachine,
    conference: conferenceMachine,
    conferencecall: conferencecallMachine,
    recording: recordingMachine,
    transfer: transferMachine,
  };

  it('looks at every state that a machine can stay in', () => {
    for (const [kind, machine] of Object.entries(MACHINES)) {
      const wanted = Object.keys(machine.table).filter(status => !machine.isFinal(status as never));
      const set = scenes.filter(one => one.kind === kind).map(one => one.status);
      assert.deepEqual([...new Set(set)].sort(), wanted.sort(), kind);
    }
  });

  it('ends each of them truthfully, and leaves nothing behind', async () => {
    const ids = await Promise.all(scenes.map(scene => scene.set()));
    for (const [index, { kind, status, then }] of scenes.entries())
      if (!then && kind !== 'recording') await reaches(kind, ids[index] ?? '', status);
    for (const [index, { kind, then }] of scenes.entries())
      if (then && kind === 'call')
        await eventually(
          'it rings or talks',
          () => live('call', ids[index] ?? ''),
          one => one?.data.status !== 'dialing',
        );
    const { engine, mediaApp } = stack.processes;
    process.kill(engine.pid, 'SIGSTOP'); // whatever is asked of SIP and media now stays under way
    const orders = scenes.flatMap(({ then }, index) => {
      const [method, path] = then?.(ids[index] ?? '') ?? [];
      return method && path ? [stack.api(method, path, {})] : [];
    });
    await eventually(
      'every state',
      async () => {
        const now = await Promise.all(scenes.map((scene, index) => seen(scene, ids[index] ?? '')));
        return scenes.flatMap(({ kind, status }, index) =>
          now[index] === status ? [] : [`${kind} ${now[index]}, not ${status}`],
        );
      },
      missing => missing.length === 0,
      2500,
    );
    const alive = (await all('call')).filter(record => !record.final).map(({ data }) => data.id);
    await mediaApp[0]?.kill9();
    process.kill(engine.pid, 'SIGCONT');
    await mediaApp[0]?.restart();
    await eventually(
      'every record final, and rooms that stand empty',
      async () => {
        const records = (await Promise.all(LIVE_KINDS.map(kind => all(kind)))).flat();
        return records
          .filter(record => !record.final && !isEmptyRoom(record))
          .map(({ kind, data }) => [kind, data.status]);
      },
      open => open.length === 0,
      15_000,
    );
    await stack.healthy();
    const verdicts = (await all('call')).filter(({ data }) => alive.includes(data.id));
    for (const { data } of verdicts)
      assert.deepEqual(
        [data.hangup_by, data.hangup_reason, data.recording_id],
        ['local', 'failed', EMPTY_ID],
        `call ${data.id}`,
      );
    assert((await all('recording')).every(({ data }) => data.tm_end));
    const left = new Map((await all('conference')).map(({ data }) => [data.id, data]));
    for (const [index, { kind, status }] of scenes.entries()) {
      if (kind !== 'conference') continue;
      const { type, status: now, tm_end } = left.get(ids[index] ?? '') ?? assert.fail('a conference is gone');
      const stands = type === 'conference' && status !== 'terminating';
      assert.deepEqual([now, tm_end === NEVER], [stands ? 'progressing' : 'terminated', stands], `${type}, ${status}`);
    }
    await rowsAgree();
    for (const { data } of await all('conference')) await stack.api('DELETE', `/conferences/${data.id}`);
    const open = phones.flatMap(one => one.calls).filter(call => call.state !== 'ended');
    await Promise.all(open.map(call => call.ended()));
    await office.nothingLeft(20_000);
    await Promise.allSettled(orders); // what was lost with the media-app is answered as timed out
  });

  const isEmptyRoom = (record: LiveRecord): boolean => {
    if (record.kind !== 'conference') return false;
    const { status, conferencecall_ids } = (record as LiveRecord<'conference'>).data;
    return status === 'progressing' && conferencecall_ids.length === 0;
  };

  /** What clients read from Postgres later is what the live records say. */
  const rowsAgree = async (): Promise<void> => {
    const client = new pg.Client({ connectionString: stack.databaseUrl });
    await client.connect();
    const statuses = async (): Promise<string[]> => {
      const wrong: string[] = [];
      for (const kind of LIVE_KINDS) {
        const { rows } = await client.query<{ id: string; status: string }>(
          `select id, data ->> 'status' as status from ${kind}s`,
        );
        const stored = new Map(rows.map(({ id, status }) => [id, status]));
        for (const { data } of await all(kind))
          if (stored.get(data.id) !== data.status) wrong.push(`${kind} ${stored.get(data.id)}, not ${data.status}`);
      }
      return wrong;
    };
    await eventually('the same in Postgres', statuses, wrong => wrong.length === 0).finally(() => client.end());
  };
});
