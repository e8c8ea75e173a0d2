import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocket } from 'ws';
import type { EventMessage } from '#contract/events';
import { newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { hashOfToken, newAccesskeyToken } from '../../control-api/auth/secrets.ts';
import { signAgentToken, signDelegateToken, signDirectToken } from '../../control-api/auth/token.ts';
import { LogFeed } from '../../control-api/events/feed.ts';
import { appendEvent } from '../../control-api/events/log.ts';
import { EventSocket, TIMES } from '../../control-api/events/websocket.ts';
import { Authenticator } from '../../control-api/http/authenticate.ts';
import { PERMISSION } from '../../control-api/http/permit.ts';
import { addCustomer, eventually, openRig, type EventRig, EVENT_FIELDS } from './events-rig.ts';

const SECRET = Buffer.from('a secret of at least thirty-two bytes');

/** A WebSocket client that keeps what it hears. */
class Listener {
  readonly heard: EventMessage[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly socket: WebSocket;

  constructor(url: string, autoPong = true) {
    this.socket = new WebSocket(url, { autoPong });
    this.socket.on('message', (data: Buffer) => this.heard.push(JSON.parse(data.toString()) as EventMessage));
    this.closed = new Promise(resolve =>
      this.socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() })),
    );
  }

  subscribe(topics: string[], given: { after_sequence?: number; type?: string } = {}): void {
    this.socket.send(JSON.stringify({ type: 'subscribe', topics, ...given }));
  }

  get sequences(): number[] {
    return this.heard.map(event => event.sequence);
  }
}

const countTo = (last: number, first = 1): number[] => Array.from({ length: last - first + 1 }, (_, n) => first + n);

describe('events over WebSocket', function () {
  this.timeout(20_000);
  let rig: EventRig;
  let server: Server;
  let feed: LogFeed;
  let sockets: EventSocket;
  let base: string;
  let open: Listener[] = [];
  /** The server's side of every connection. */
  const accepted = new Set<Socket>();

  before(async function () {
    this.timeout(60_000);
    rig = await openRig();
    server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    server.on('connection', socket => accepted.add(socket));
    base = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/v1.0/ws`;
    const authenticator = new Authenticator(rig.db, SECRET);
    feed = new LogFeed(rig);
    sockets = new EventSocket({ ...rig, server, database: rig.db, feed, identify: r => authenticator.identify(r) });
    feed.start();
    sockets.start();
  });
  afterEach(async () => {
    for (const listener of open) listener.socket.terminate();
    await Promise.all(open.map(listener => listener.closed));
    open = [];
  });
  after(async () => {
    sockets.stop();
    await feed.stop();
    server.close();
    await rig.close();
  });

  const accesskey = async (customer: string): Promise<string> => {
    const token = newAccesskeyToken();
    const row = {
      name: '',
      detail: '',
      token_prefix: '',
      tm_expire: '2099-01-01 00:00:00.000000',
      tm_create: timestamp(),
    };
    await rig.db('accesskeys').insert({ ...row, id: newId(), customer_id: customer, token_hash: hashOfToken(token) });
    return token;
  };
  const agent = async (customer: string, permission: number): Promise<{ id: string; token: string }> => {
    const id = newId();
    const row = { id, customer_id: customer, username: id, password: 'x', permission, tm_create: timestamp() };
    await rig.db('agents').insert(row);
    return { id, token: await signAgentToken(SECRET, { id }) };
  };
  const connect = async (query: string): Promise<Listener> => {
    const listener = new Listener(`${base}?${query}`);
    open.push(listener);
    await once(listener.socket, 'open');
    return listener;
  };
  const listen = async (customer: string): Promise<Listener> => connect(`accesskey=${await accesskey(customer)}`);
  const refusal = async (url: string): Promise<{ status: number; reason: string }> => {
    const socket = new WebSocket(url);
    const [, response] = (await once(socket, 'unexpected-response')) as [
      unknown,
      NodeJS.ReadableStream & { statusCode: number },
    ];
    let body = '';
    for await (const chunk of response) body += String(chunk);
    return { status: response.statusCode, reason: (JSON.parse(body) as { error: { reason: string } }).error.reason };
  };
  const happen = async (
    customer: string,
    given: { resource?: string; id?: string; owner?: string } = {},
  ): Promise<void> => {
    const resource_id = given.id ?? newId();
    const data = { id: resource_id, owner_id: given.owner ?? '' };
    const resource = given.resource ?? 'flow';
    const event = { customer_id: customer, event_type: 'flow_created' as const, resource, resource_id, data };
    await rig.db.transaction(trx => appendEvent(trx, { ...event, request_id: '' }));
  };
  const heard = (listener: Listener, count: number): Promise<void> =>
    eventually(`${count} events, heard ${listener.heard.length}`, () => listener.heard.length >= count);
  /** Events arrive in order, so whatever was going to come before the marker has come. */
  const quiet = async (listener: Listener, customer: string): Promise<EventMessage[]> => {
    const id = newId();
    listener.subscribe([`customer_id:${customer}:marker:${id}`]);
    await happen(customer, { resource: 'marker', id });
    await eventually('the marker', () => listener.heard.some(event => event.topic.endsWith(id)));
    return listener.heard.filter(event => !event.topic.includes(':marker:'));
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
      const { id } = await agent(customer_id, PERMISSION.super_admin);
      return (await signDelegateToken(SECRET, { sub: id, jti: newId(), customer_id })).token;
    };
    const login = async (customer: string): Promise<string> => (await agent(customer, PERMISSION.agent)).token;

    /** What the two addresses answer (26.1): 101, or the reason of the refusal. */
    const rows: [name: string, query: () => Promise<string>, ws: string, agents: string][] = [
      ['a login', async () => `token=${await login(await customerOf())}`, '101', '101'],
      [
        'an accesskey',
        async () => `accesskey=${await accesskey(await customerOf())}`,
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
        async () => `token=${await accesskey(await customerOf())}`,
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
          const refused = once(socket, 'unexpected-response').then(async ([, response]) => {
            let body = '';
            for await (const chunk of response as NodeJS.ReadableStream) body += String(chunk);
            return (JSON.parse(body) as { error: { reason: string } }).error.reason;
          });
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
    await happen(customer, { id });
    await happen(customer, { resource: 'flows', id });
    await happen(customer, {});
    const sequences = await Promise.all(clients.map(async c => (await quiet(c, customer)).map(e => e.sequence)));
    assert.deepEqual(
      sequences.map(each => each.slice(0, 3).filter(n => n <= 3)),
      [[1, 2, 3], [1, 3], [1, 3], [1], [1, 2, 3]],
    );
  });

  it('matches by parts and not by characters', async () => {
    const customer = await addCustomer(rig.db);
    const client = await listen(customer);
    client.subscribe([`customer_id:${customer}:call`]);
    await happen(customer, { resource: 'callback' });
    await happen(customer, { resource: 'call' });
    assert.deepEqual(
      (await quiet(client, customer)).map(event => event.topic.split(':')[2]),
      ['call'],
    );
  });

  it('shows the event exactly as the log holds it', async () => {
    const customer = await addCustomer(rig.db);
    const client = await listen(customer);
    client.subscribe([`customer_id:${customer}`]);
    const id = newId();
    await happen(customer, { id });
    await heard(client, 1);
    const [event] = client.heard;
    assert.deepEqual(Object.keys(event ?? {}), EVENT_FIELDS);
    assert.equal(event?.topic, `customer_id:${customer}:flow:${id}`);
    assert.match(event?.timestamp ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  it('stops delivering a topic after unsubscribe of exactly that topic', async () => {
    const customer = await addCustomer(rig.db);
    const client = await listen(customer);
    client.subscribe([`customer_id:${customer}:flow`]);
    await happen(customer);
    await heard(client, 1);
    client.subscribe([`customer_id:${customer}`, `customer_id:${customer}:flow`], { type: 'unsubscribe' });
    assert.equal((await quiet(client, customer)).length, 1);
    await happen(customer);
    assert.equal((await quiet(client, customer)).length, 1);
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
      await happen(customer);
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
    await happen(customer);
    assert.deepEqual(await quiet(client, customer), []);
  });

  it('lets a super admin hear any customer and a manager the own one', async () => {
    const [home, other] = [await addCustomer(rig.db), await addCustomer(rig.db)];
    const boss = await connect(`token=${(await agent(home, PERMISSION.all)).token}`);
    const manager = await connect(`token=${(await agent(other, PERMISSION.manager)).token}`);
    for (const client of [boss, manager]) client.subscribe([`customer_id:${other}:flow:*`]);
    assert.deepEqual(await quiet(boss, other), []);
    assert.deepEqual(await quiet(manager, other), []);
    await happen(other);
    await heard(boss, 2);
    await heard(manager, 2);
  });

  it('lets a plain agent hear what it owns and nothing of the whole customer', async () => {
    const customer = await addCustomer(rig.db);
    const { id, token } = await agent(customer, PERMISSION.agent);
    const [owner, curious] = [await connect(`token=${token}`), await connect(`token=${token}`)];
    owner.subscribe([`agent_id:${id}:call`]);
    curious.subscribe([`customer_id:${customer}`]);
    assert.equal((await curious.closed).code, 1008);
    await happen(customer, { resource: 'call', owner: newId() });
    await happen(customer, { resource: 'call', owner: id });
    await heard(owner, 1);
    assert.deepEqual(owner.sequences, [2]);
  });

  it('keeps the order of the sequence, without gap or copy, while twenty writers append two hundred events', async () => {
    const customer = await addCustomer(rig.db);
    const clients = [await listen(customer), await listen(customer)];
    clients.forEach(client => client.subscribe([`customer_id:${customer}`, `customer_id:${customer}:flow:*`]));
    const writer = async (): Promise<void> => {
      for (let n = 0; n < 10; n++) await happen(customer);
    };
    await Promise.all(Array.from({ length: 20 }, writer));
    for (const client of clients) {
      await heard(client, 200);
      assert.deepEqual(client.sequences, countTo(200));
    }
  });

  it('replays what a returning client missed and goes on live without gap or copy, while events keep coming', async () => {
    const customer = await addCustomer(rig.db);
    for (let n = 0; n < 30; n++) await happen(customer);
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
    for (let n = 0; n < 50; n++) await happen(customer);
    await heard(client, 670);
    assert.deepEqual(client.sequences, countTo(680, 11));
  });

  it('does not repeat what an earlier subscription delivered when another resumes further back', async () => {
    const customer = await addCustomer(rig.db);
    await happen(customer, { resource: 'call' });
    const client = await listen(customer);
    client.subscribe([`customer_id:${customer}:flow`]);
    assert.deepEqual(await quiet(client, customer), []); // takes sequence 2
    await happen(customer, { resource: 'flow' });
    await heard(client, 2);
    client.subscribe([`customer_id:${customer}`], { after_sequence: 0 });
    await happen(customer, { resource: 'flow' });
    await heard(client, 4);
    assert.deepEqual([...client.sequences].sort(), [1, 2, 3, 4]);
  });

  it('hears the log again after its Postgres connection was cut', async () => {
    const customer = await addCustomer(rig.db);
    const client = await listen(customer);
    client.subscribe([`customer_id:${customer}`]);
    await rig.db.raw(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'control-api feed' and datname = current_database()",
    );
    for (let n = 0; n < 5; n++) await happen(customer);
    await heard(client, 5);
    assert.deepEqual(client.sequences, countTo(5));
  });

  describe('a client that reads slowly', () => {
    const wide = async (customer: string, count: number): Promise<void> => {
      const base_event = { customer_id: customer, event_type: 'flow_updated' as const, resource: 'flow' };
      const given = { ...base_event, request_id: '', data: { text: 'x'.repeat(500_000) } };
      for (let n = 0; n < count; n++)
        await rig.db.transaction(trx => appendEvent(trx, { ...given, resource_id: newId() }));
    };
    const waiting = (): number => Math.max(0, ...[...accepted].map(socket => socket.writableLength));

    it('costs a bounded memory, and gets every event once and in order when it reads again', async () => {
      const customer = await addCustomer(rig.db);
      const [slow, quick] = [await listen(customer), await listen(customer)];
      for (const client of [slow, quick]) client.subscribe([`customer_id:${customer}`]);
      await Promise.all([quiet(slow, customer), quiet(quick, customer)]);
      slow.socket.pause();
      await wide(customer, 60);
      await eventually('the quick one has all', () => quick.sequences.at(-1) === 62);
      assert.ok(waiting() > 500_000 && waiting() < 3_000_000, `${waiting()} bytes wait`);
      slow.socket.resume();
      await happen(customer);
      await eventually('the slow one has all', () => slow.sequences.at(-1) === 63);
      assert.deepEqual(slow.sequences.slice(-61), countTo(63, 3));
      assert.equal(slow.socket.readyState, WebSocket.OPEN);
    });

    it('hears a topic it adds meanwhile, and no event twice when it resumes', async () => {
      const customer = await addCustomer(rig.db);
      const slow = await listen(customer);
      slow.subscribe([`customer_id:${customer}:flow`]);
      await quiet(slow, customer); // takes sequence 1
      slow.socket.pause();
      await wide(customer, 30);
      await happen(customer, { resource: 'call' });
      slow.subscribe([`customer_id:${customer}`], { after_sequence: 1 });
      slow.socket.resume();
      await eventually('all of them', () => slow.heard.length >= 32);
      assert.deepEqual(
        (await quiet(slow, customer)).map(each => each.sequence).sort((a, b) => a - b),
        countTo(32, 2),
      );
    });
  });

  describe('while a connection stands', () => {
    let impatient: EventSocket;
    let other: Server;
    let address: string;
    const elsewhere = new Set<Socket>();
    before(async () => {
      other = createServer().listen(0, '127.0.0.1');
      other.on('connection', socket => elsewhere.add(socket));
      await once(other, 'listening');
      address = `ws://127.0.0.1:${(other.address() as AddressInfo).port}/v1.0/ws`;
      const authenticator = new Authenticator(rig.db, SECRET);
      const identify = authenticator.identify.bind(authenticator);
      const quick = { ping_ms: 30, silence_ms: 200, identify_ms: 30, write_ms: 300 };
      impatient = new EventSocket({ ...rig, ...quick, server: other, database: rig.db, feed, identify });
      impatient.start();
    });
    after(() => {
      impatient.stop();
      other.close();
    });
    const dial = async (query: string, autoPong = true): Promise<Listener> => {
      const listener = new Listener(`${address}?${query}`, autoPong);
      open.push(listener);
      await once(listener.socket, 'open');
      return listener;
    };

    it('ends a client that answers no ping and keeps one that does', async () => {
      const customer = await addCustomer(rig.db);
      const query = `accesskey=${await accesskey(customer)}`;
      const [dead, alive] = [await dial(query, false), await dial(query)];
      assert.equal((await dead.closed).code, 1006);
      assert.equal(alive.socket.readyState, WebSocket.OPEN);
    });

    it('ends a client that takes nothing for the write timeout; it resumes and misses nothing', async () => {
      const customer = await addCustomer(rig.db);
      const query = `accesskey=${await accesskey(customer)}`;
      const stuck = await dial(query);
      stuck.subscribe([`customer_id:${customer}`]);
      await quiet(stuck, customer);
      stuck.socket.pause();
      const given = { customer_id: customer, event_type: 'flow_updated' as const, resource: 'flow', request_id: '' };
      const data = { text: 'x'.repeat(500_000) };
      for (let n = 0; n < 40; n++)
        await rig.db.transaction(trx => appendEvent(trx, { ...given, resource_id: newId(), data }));
      const gone = (): boolean => [...elsewhere].every(socket => socket.destroyed);
      await eventually('the server gave it up', gone);
      stuck.socket.resume();
      assert.equal((await stuck.closed).code, 1006);
      const again = await dial(query);
      again.subscribe([`customer_id:${customer}`], { after_sequence: stuck.sequences.at(-1) ?? 0 });
      await eventually('the rest', () => again.sequences.at(-1) === 41);
      assert.deepEqual([...stuck.sequences, ...again.sequences].slice(-40), countTo(41, 2));
    });

    it('closes with 1008 when the accesskey is deleted or the agent loses its permission', async () => {
      const customer = await addCustomer(rig.db);
      const { id, token } = await agent(customer, PERMISSION.admin);
      const [keyed, manager] = [await dial(`accesskey=${await accesskey(customer)}`), await dial(`token=${token}`)];
      for (const client of [keyed, manager]) client.subscribe([`customer_id:${customer}`]);
      await quiet(manager, customer);
      await rig.db('accesskeys').where('customer_id', customer).update({ tm_delete: timestamp() });
      await rig.db('agents').where('id', id).update({ permission: PERMISSION.agent });
      assert.equal((await keyed.closed).code, 1008);
      assert.deepEqual(await manager.closed, { code: 1008, reason: 'permission changed' });
    });

    it('closes with 1001 when the server shuts down', async () => {
      const client = await dial(`accesskey=${await accesskey(await addCustomer(rig.db))}`);
      impatient.stop();
      assert.equal((await client.closed).code, 1001);
    });
  });
});
