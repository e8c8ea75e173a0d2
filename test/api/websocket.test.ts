import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { signDelegateToken, signDirectToken } from '../../control-api/auth/token.ts';
import { LogFeed } from '../../control-api/events/feed.ts';
import { appendEvent } from '../../control-api/events/log.ts';
import { TIMES } from '../../control-api/events/websocket.ts';
import { PERMISSION } from '../../control-api/http/permit.ts';
import { accesskeyOf, agentOf, happen, ListenedServer, quiet, SECRET, type Listener } from './event-listener.ts';
import { addCustomer, EVENT_FIELDS, eventually, openRig, type EventRig } from './events-rig.ts';

const countTo = (last: number, first = 1): number[] => Array.from({ length: last - first + 1 }, (_, n) => first + n);

describe('events over WebSocket', function () {
  this.timeout(20_000);
  let rig: EventRig;
  let feed: LogFeed;
  let server: ListenedServer;
  let base: string;

  before(async function () {
    this.timeout(60_000);
    rig = await openRig();
    feed = new LogFeed(rig);
    server = await ListenedServer.open(rig, feed);
    base = server.address;
    feed.start();
  });
  afterEach(() => server.dropAll());
  after(async () => {
    server.stop();
    await feed.stop();
    await rig.close();
  });

  const listen = async (customer: string): Promise<Listener> =>
    server.connect(`accesskey=${await accesskeyOf(rig.db, customer)}`);
  const reasonIn = async (response: NodeJS.ReadableStream): Promise<string> => {
    let body = '';
    for await (const chunk of response) body += String(chunk);
    return (JSON.parse(body) as { error: { reason: string } }).error.reason;
  };
  const refusal = async (url: string): Promise<{ status: number; reason: string }> => {
    const socket = new WebSocket(url);
    const [, response] = (await once(socket, 'unexpected-response')) as [
      unknown,
      NodeJS.ReadableStream & { statusCode: number },
    ];
    return { status: response.statusCode, reason: await reasonIn(response) };
  };

  it('refuses a client without credential, or with a wrong one, before the upgrade', async () => {
    assert.deepEqual(await refusal(base), { status: 401, reason: 'AUTHENTICATION_REQUIRED' });
    assert.deepEqual(await refusal(`${base}?accesskey=tk_wrong`), { status: 401, reason: 'INVALID_CREDENTIALS' });
    assert.deepEqual(await refusal(`${base}x`), { status: 404, reason: 'ROUTE_NOT_FOUND' });
  });

  it('pings every 10 s, and waits 60 s for a sign of life and 10 s for a write', () => {
    const { ping_ms, silence_ms, write_ms } = TIMES;
    assert.deepEqual({ ping_ms, silence_ms, write_ms }, { ping_ms: 10_000, silence_ms: 60_000, write_ms: 10_000 });
  });

  describe('credentials, by address', () => {
    const customerOf = (given: Record<string, unknown> = {}): Promise<string> =>
      addCustomer(rig.db).then(async id => {
        await rig
          .db('customers')
          .where({ id })
          .update({ status: 'active', ...given });
        return id;
      });
    const direct = async (customer_id: string): Promise<string> => {
      const bound = { resource_type: 'ai', resource_id: newId(), allowed_resource_types: ['aicall'] };
      const rest = { allowed_resource_id: newId(), scope_version: 1, hash_digest: 'x' };
      return (await signDirectToken(SECRET, { customer_id, ...bound, ...rest })).token;
    };
    const delegate = async (customer_id: string): Promise<string> => {
      const { id } = await agentOf(rig.db, customer_id, PERMISSION.super_admin);
      return (await signDelegateToken(SECRET, { sub: id, jti: newId(), customer_id })).token;
    };
    const login = async (customer: string): Promise<string> =>
      (await agentOf(rig.db, customer, PERMISSION.agent)).token;

    /** What the two addresses answer (26.1): 101, or the reason of the refusal. */
    const rows: [name: string, query: () => Promise<string>, ws: string, agents: string][] = [
      ['a login', async () => `token=${await login(await customerOf())}`, '101', '101'],
      [
        'an accesskey',
        async () => `accesskey=${await accesskeyOf(rig.db, await customerOf())}`,
        '101',
        'DIRECT_ACCESS_NOT_SUPPORTED',
      ],
      ['a direct token', async () => `token=${await direct(await customerOf())}`, '101', 'DIRECT_ACCESS_NOT_SUPPORTED'],
      [
        'a delegate token',
        async () => `token=${await delegate(await customerOf())}`,
        'AUTHENTICATION_REQUIRED',
        'AUTHENTICATION_REQUIRED',
      ],
      ['nothing', () => Promise.resolve(''), 'AUTHENTICATION_REQUIRED', 'AUTHENTICATION_REQUIRED'],
      ['a wrong token', () => Promise.resolve('token=x'), 'INVALID_CREDENTIALS', 'INVALID_CREDENTIALS'],
      [
        'an accesskey under the name of a token',
        async () => `token=${await accesskeyOf(rig.db, await customerOf())}`,
        'INVALID_CREDENTIALS',
        'INVALID_CREDENTIALS',
      ],
      [
        'a login of a frozen account',
        async () => `token=${await login(await customerOf({ status: 'frozen' }))}`,
        'ACCOUNT_FROZEN',
        'ACCOUNT_FROZEN',
      ],
      [
        'a login of an expired account',
        async () => `token=${await login(await customerOf({ status: 'expired' }))}`,
        'ACCOUNT_EXPIRED',
        'ACCOUNT_EXPIRED',
      ],
      [
        'a login of a deleted account',
        async () => `token=${await login(await customerOf({ status: 'deleted' }))}`,
        'ACCOUNT_DELETED',
        'ACCOUNT_DELETED',
      ],
    ];
    for (const [name, query, ws, agents] of rows)
      it(`${name}: ${ws} at /ws, ${agents} at /service_agents/ws`, async () => {
        const given = await query();
        const paths: [string, string][] = [
          [base, ws],
          [base.replace('/ws', '/service_agents/ws'), agents],
        ];
        for (const [url, expected] of paths) {
          const socket = new WebSocket(`${url}?${given}`, { origin: 'https://elsewhere.example' });
          const opened = once(socket, 'open').then(() => '101');
          const refused = once(socket, 'unexpected-response').then(([, response]) =>
            reasonIn(response as NodeJS.ReadableStream),
          );
          assert.equal(await Promise.race([opened, refused]), expected, url);
          opened.catch(() => undefined);
          refused.catch(() => undefined);
          socket.terminate();
        }
      });

    it('the header and the cookie carry a token as well as the query', async () => {
      const token = await login(await customerOf());
      for (const headers of [{ Authorization: `Bearer ${token}` }, { Cookie: `token=${token}` }]) {
        const socket = new WebSocket(base, { headers });
        await once(socket, 'open');
        socket.terminate();
      }
    });
  });

  it('delivers by topics of two, three and four parts and by star, one copy however many match', async () => {
    const customer = await addCustomer(rig.db);
    const id = newId();
    const topics = [[], [':flow'], [':flow:*'], [`:flow:${id}`], ['', ':flow', `:flow:${id}`]];
    const clients = await Promise.all(topics.map(() => listen(customer)));
    clients.forEach((client, n) => client.subscribe((topics[n] ?? []).map(end => `customer_id:${customer}${end}`)));
    clients[0]?.subscribe([`customer_id:${customer}`]);
    await happen(rig.db, customer, { id });
    await happen(rig.db, customer, { resource: 'flows', id });
    await happen(rig.db, customer, {});
    const sequences = await Promise.all(
      clients.map(async c => (await quiet(rig.db, c, customer)).map(e => e.sequence)),
    );
    assert.deepEqual(
      sequences.map(each => each.slice(0, 3).filter(n => n <= 3)),
      [[1, 2, 3], [1, 3], [1, 3], [1], [1, 2, 3]],
    );
  });

  it('matches by parts and not by characters', async () => {
    const customer = await addCustomer(rig.db);
    const client = await listen(customer);
    client.subscribe([`customer_id:${customer}:call`]);
    await happen(rig.db, customer, { resource: 'callback' });
    await happen(rig.db, customer, { resource: 'call' });
    assert.deepEqual(
      (await quiet(rig.db, client, customer)).map(event => event.topic.split(':')[2]),
      ['call'],
    );
  });

  it('shows the event exactly as the log holds it', async () => {
    const customer = await addCustomer(rig.db);
    const client = await listen(customer);
    client.subscribe([`customer_id:${customer}`]);
    const id = newId();
    await happen(rig.db, customer, { id });
    await client.hears(1);
    const [event] = client.heard;
    assert.deepEqual(Object.keys(event ?? {}), EVENT_FIELDS);
    assert.equal(event?.topic, `customer_id:${customer}:flow:${id}`);
    assert.match(event?.timestamp ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  it('stops delivering a topic after unsubscribe of exactly that topic', async () => {
    const customer = await addCustomer(rig.db);
    const client = await listen(customer);
    client.subscribe([`customer_id:${customer}:flow`]);
    await happen(rig.db, customer);
    await client.hears(1);
    client.subscribe([`customer_id:${customer}`, `customer_id:${customer}:flow`], { type: 'unsubscribe' });
    assert.equal((await quiet(rig.db, client, customer)).length, 1);
    await happen(rig.db, customer);
    assert.equal((await quiet(rig.db, client, customer)).length, 1);
  });

  for (const [what, topic] of [
    ['with one part', 'customer_id'],
    ['with five parts', 'customer_id:OWN:flow:*:x'],
    ['whose second part is no UUID', 'customer_id:me'],
    ['with an unknown first word', 'user_id:OWN'],
    ['with a star for the resource', 'customer_id:OWN:*'],
    ['with an empty part', 'customer_id:OWN::'],
    ['of another customer', `customer_id:${newId()}`],
    ['of an agent it is not', `agent_id:${newId()}`],
  ] as const)
    it(`closes with 1008 on a topic ${what}, and subscribes nothing of that message`, async () => {
      const customer = await addCustomer(rig.db);
      const client = await listen(customer);
      client.subscribe([`customer_id:${customer}`, topic.replace('OWN', customer)]);
      await happen(rig.db, customer);
      assert.equal((await client.closed).code, 1008);
      assert.deepEqual(client.heard, []);
    });

  it('closes with 1008 beyond a thousand topics', async () => {
    const customer = await addCustomer(rig.db);
    const client = await listen(customer);
    client.subscribe(Array.from({ length: 1000 }, () => `customer_id:${customer}:flow:${newId()}`));
    client.subscribe([`customer_id:${customer}`]);
    assert.equal((await client.closed).code, 1008);
  });

  it('ignores malformed JSON, unknown types and binary frames', async () => {
    const customer = await addCustomer(rig.db);
    const client = await listen(customer);
    client.socket.send('{');
    client.socket.send('{"type":"dance","topics":[]}');
    client.socket.send('{"type":"subscribe","topics":"all"}');
    client.socket.send(Buffer.from(JSON.stringify({ type: 'subscribe', topics: ['x'] })), { binary: true });
    await happen(rig.db, customer);
    assert.deepEqual(await quiet(rig.db, client, customer), []);
  });

  it('lets a super admin hear any customer and a manager the own one', async () => {
    const [home, other] = [await addCustomer(rig.db), await addCustomer(rig.db)];
    const boss = await server.connect(`token=${(await agentOf(rig.db, home, PERMISSION.all)).token}`);
    const manager = await server.connect(`token=${(await agentOf(rig.db, other, PERMISSION.manager)).token}`);
    for (const client of [boss, manager]) client.subscribe([`customer_id:${other}:flow:*`]);
    assert.deepEqual(await quiet(rig.db, boss, other), []);
    assert.deepEqual(await quiet(rig.db, manager, other), []);
    await happen(rig.db, other);
    await boss.hears(2);
    await manager.hears(2);
  });

  it('lets a plain agent hear what it owns and nothing of the whole customer', async () => {
    const customer = await addCustomer(rig.db);
    const { id, token } = await agentOf(rig.db, customer, PERMISSION.agent);
    const [owner, curious] = [await server.connect(`token=${token}`), await server.connect(`token=${token}`)];
    owner.subscribe([`agent_id:${id}:call`]);
    curious.subscribe([`customer_id:${customer}`]);
    assert.equal((await curious.closed).code, 1008);
    await happen(rig.db, customer, { resource: 'call', owner: newId() });
    await happen(rig.db, customer, { resource: 'call', owner: id });
    await owner.hears(1);
    assert.deepEqual(owner.sequences, [2]);
  });

  it('keeps the order of the sequence, without gap or copy, while twenty writers append two hundred events', async () => {
    const customer = await addCustomer(rig.db);
    const clients = [await listen(customer), await listen(customer)];
    clients.forEach(client => client.subscribe([`customer_id:${customer}`, `customer_id:${customer}:flow:*`]));
    const writer = async (): Promise<void> => {
      for (let n = 0; n < 10; n++) await happen(rig.db, customer);
    };
    await Promise.all(Array.from({ length: 20 }, writer));
    for (const client of clients) {
      await client.hears(200);
      assert.deepEqual(client.sequences, countTo(200));
    }
  });

  it('replays what a returning client missed and goes on live without gap or copy, while events keep coming', async () => {
    const customer = await addCustomer(rig.db);
    for (let n = 0; n < 30; n++) await happen(rig.db, customer);
    await rig.db.transaction(async trx => {
      for (let n = 0; n < 600; n++)
        await appendEvent(trx, {
          customer_id: customer,
          event_type: 'flow_updated',
          resource: 'flow',
          resource_id: newId(),
          data: {},
          request_id: '',
        });
    });
    const client = await listen(customer);
    client.subscribe([`customer_id:${customer}:other`]);
    client.subscribe([`customer_id:${customer}`], { after_sequence: 10 });
    for (let n = 0; n < 50; n++) await happen(rig.db, customer);
    await client.hears(670);
    assert.deepEqual(client.sequences, countTo(680, 11));
  });

  it('does not repeat what an earlier subscription delivered when another resumes further back', async () => {
    const customer = await addCustomer(rig.db);
    await happen(rig.db, customer, { resource: 'call' });
    const client = await listen(customer);
    client.subscribe([`customer_id:${customer}:flow`]);
    assert.deepEqual(await quiet(rig.db, client, customer), []); // takes sequence 2
    await happen(rig.db, customer, { resource: 'flow' });
    await client.hears(2);
    client.subscribe([`customer_id:${customer}`], { after_sequence: 0 });
    await happen(rig.db, customer, { resource: 'flow' });
    await client.hears(4);
    assert.deepEqual([...client.sequences].sort(), [1, 2, 3, 4]);
  });

  it('hears the log again after its Postgres connection was cut', async () => {
    const customer = await addCustomer(rig.db);
    const client = await listen(customer);
    client.subscribe([`customer_id:${customer}`]);
    await rig.db.raw(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'control-api feed' and datname = current_database()",
    );
    for (let n = 0; n < 5; n++) await happen(rig.db, customer);
    await client.hears(5);
    assert.deepEqual(client.sequences, countTo(5));
  });

  describe('a client that reads slowly', () => {
    const wide = async (customer: string, count: number): Promise<void> => {
      const base_event = { customer_id: customer, event_type: 'flow_updated' as const, resource: 'flow' };
      const given = { ...base_event, request_id: '', data: { text: 'x'.repeat(500_000) } };
      for (let n = 0; n < count; n++)
        await rig.db.transaction(trx => appendEvent(trx, { ...given, resource_id: newId() }));
    };
    const waiting = (): number => Math.max(0, ...[...server.accepted].map(socket => socket.writableLength));

    it('costs a bounded memory, and gets every event once and in order when it reads again', async () => {
      const customer = await addCustomer(rig.db);
      const [slow, quick] = [await listen(customer), await listen(customer)];
      for (const client of [slow, quick]) client.subscribe([`customer_id:${customer}`]);
      await Promise.all([quiet(rig.db, slow, customer), quiet(rig.db, quick, customer)]);
      slow.socket.pause();
      await wide(customer, 60);
      await eventually('the quick one has all', () => quick.sequences.at(-1) === 62);
      assert.ok(waiting() > 500_000 && waiting() < 3_000_000, `${waiting()} bytes wait`);
      slow.socket.resume();
      await happen(rig.db, customer);
      await eventually('the slow one has all', () => slow.sequences.at(-1) === 63);
      assert.deepEqual(slow.sequences.slice(-61), countTo(63, 3));
      assert.equal(slow.socket.readyState, WebSocket.OPEN);
    });

    it('hears a topic it adds meanwhile, and no event twice when it resumes', async () => {
      const customer = await addCustomer(rig.db);
      const slow = await listen(customer);
      slow.subscribe([`customer_id:${customer}:flow`]);
      await quiet(rig.db, slow, customer); // takes sequence 1
      slow.socket.pause();
      await wide(customer, 30);
      await happen(rig.db, customer, { resource: 'call' });
      slow.subscribe([`customer_id:${customer}`], { after_sequence: 1 });
      slow.socket.resume();
      await eventually('all of them', () => slow.heard.length >= 32);
      assert.deepEqual(
        (await quiet(rig.db, slow, customer)).map(each => each.sequence).sort((a, b) => a - b),
        countTo(32, 2),
      );
    });
  });

  describe('while a connection stands', () => {
    let impatient: ListenedServer;
    before(async () => {
      const times = { ping_ms: 30, silence_ms: 200, identify_ms: 30, write_ms: 300 };
      impatient = await ListenedServer.open(rig, feed, times);
    });
    afterEach(() => impatient.dropAll());
    after(() => impatient.stop());

    it('ends a client that answers no ping and keeps one that does', async () => {
      const customer = await addCustomer(rig.db);
      const query = `accesskey=${await accesskeyOf(rig.db, customer)}`;
      const [dead, alive] = [await impatient.connect(query, false), await impatient.connect(query)];
      assert.equal((await dead.closed).code, 1006);
      assert.equal(alive.socket.readyState, WebSocket.OPEN);
    });

    it('ends a client that takes nothing for the write timeout; it resumes and misses nothing', async () => {
      const customer = await addCustomer(rig.db);
      const query = `accesskey=${await accesskeyOf(rig.db, customer)}`;
      const stuck = await impatient.connect(query);
      stuck.subscribe([`customer_id:${customer}`]);
      await quiet(rig.db, stuck, customer);
      stuck.socket.pause();
      const given = { customer_id: customer, event_type: 'flow_updated' as const, resource: 'flow', request_id: '' };
      const data = { text: 'x'.repeat(500_000) };
      for (let n = 0; n < 40; n++)
        await rig.db.transaction(trx => appendEvent(trx, { ...given, resource_id: newId(), data }));
      const gone = (): boolean => [...impatient.accepted].every(socket => socket.destroyed);
      await eventually('the server gave it up', gone);
      stuck.socket.resume();
      assert.equal((await stuck.closed).code, 1006);
      const again = await impatient.connect(query);
      again.subscribe([`customer_id:${customer}`], { after_sequence: stuck.sequences.at(-1) ?? 0 });
      await eventually('the rest', () => again.sequences.at(-1) === 41);
      assert.deepEqual([...stuck.sequences, ...again.sequences].slice(-40), countTo(41, 2));
    });

    it('closes with 1008 when the accesskey is deleted or the agent loses its permission', async () => {
      const customer = await addCustomer(rig.db);
      const { id, token } = await agentOf(rig.db, customer, PERMISSION.admin);
      const [keyed, manager] = [
        await impatient.connect(`accesskey=${await accesskeyOf(rig.db, customer)}`),
        await impatient.connect(`token=${token}`),
      ];
      for (const client of [keyed, manager]) client.subscribe([`customer_id:${customer}`]);
      await quiet(rig.db, manager, customer);
      await rig.db('accesskeys').where('customer_id', customer).update({ tm_delete: timestamp() });
      await rig.db('agents').where('id', id).update({ permission: PERMISSION.agent });
      assert.equal((await keyed.closed).code, 1008);
      assert.deepEqual(await manager.closed, { code: 1008, reason: 'permission changed' });
    });

    it('closes with 1001 when the server shuts down', async () => {
      const client = await impatient.connect(`accesskey=${await accesskeyOf(rig.db, await addCustomer(rig.db))}`);
      impatient.stop();
      assert.equal((await client.closed).code, 1001);
    });
  });
});
