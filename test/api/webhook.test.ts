import { strict as assert } from 'node:assert';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { EventMessage } from '#contract/events';
import { newId } from '#contract/ids';
import { LogFeed } from '../../control-api/events/feed.ts';
import { appendEvent, readEvents } from '../../control-api/events/log.ts';
import { Webhooks } from '../../control-api/events/webhooks.ts';
import { GuardedFetch } from '#outbound/guarded-fetch';
import { addCustomer, eventually, openRig, type EventRig, EVENT_FIELDS } from './events-rig.ts';

interface Received {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
  event: EventMessage;
}

/** An HTTP server that keeps what it gets and answers as it is told: by default 200. */
class Receiver {
  readonly received: Received[] = [];
  answer: (received: Received, response: ServerResponse, nth: number) => void = (_, response) => void response.end();
  readonly server: Server = createServer((request, response) => void this.#take(request, response));

  async start(): Promise<void> {
    await once(this.server.listen(0, '127.0.0.1'), 'listening');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { method = '', url: path = '', headers } = request;
    const received = { method, path, headers, body, event: JSON.parse(body) as EventMessage };
    this.received.push(received);
    this.answer(received, response, this.received.length);
  }
}

interface Row {
  state: string;
  attempts: number;
  last_status: number | null;
  last_error: string | null;
}

describe('webhooks', function () {
  this.timeout(20_000);
  let rig: EventRig;
  let feed: LogFeed;
  let http: GuardedFetch;
  let receiver: Receiver;
  let workers: Webhooks[] = [];

  before(async function () {
    this.timeout(60_000);
    rig = await openRig();
    feed = new LogFeed(rig);
    feed.start();
    http = new GuardedFetch({ allowPrivateTargets: true });
  });
  beforeEach(async () => {
    receiver = new Receiver();
    await receiver.start();
  });
  afterEach(async () => {
    receiver.stop();
    await Promise.all(workers.map(worker => worker.stop()));
    workers = [];
    await rig.db('webhook_deliveries').whereIn('state', ['waiting', 'pending']).delete();
  });
  after(async () => {
    await feed.stop();
    await http.close();
    await rig.close();
  });

  const work = (given: { timeout_ms?: number; http?: GuardedFetch; first_retry_ms?: number } = {}): Webhooks => {
    const worker = new Webhooks({
      database: rig.db,
      log: rig.log,
      feed,
      http,
      first_retry_ms: 40,
      poll_ms: 20,
      ...given,
    });
    worker.start();
    workers.push(worker);
    return worker;
  };
  const happen = async (customer: string, resourceId = newId(), request_id = 'req_abc'): Promise<void> => {
    const data = { id: resourceId, name: 'Grüße' };
    const event = { customer_id: customer, event_type: 'flow_updated' as const, resource: 'flow', request_id, data };
    await rig.db.transaction(trx => appendEvent(trx, { ...event, resource_id: resourceId }));
  };
  const rows = async (customer: string): Promise<Row[]> =>
    (await rig.db('webhook_deliveries').where('customer_id', customer).orderBy('sequence')) as Row[];
  const settled = async (customer: string): Promise<Row[]> => {
    const pending = async (): Promise<boolean> =>
      (await rows(customer)).every(row => !['waiting', 'pending'].includes(row.state));
    await eventually('every delivery is delivered or dead', pending);
    return rows(customer);
  };
  const answerStatus = (...statuses: number[]): void => {
    receiver.answer = (_, response, nth) => void response.writeHead(statuses[nth - 1] ?? 200).end();
  };

  for (const method of ['POST', 'GET', 'PUT', 'DELETE'])
    it(`sends the event as JSON by ${method}, signed with the secret of the customer`, async () => {
      const customer = await addCustomer(rig.db, { uri: `${receiver.url}/hook?a=b`, method, secret: 's3cret' });
      await happen(customer);
      work();
      await settled(customer);
      const [received] = receiver.received;
      assert.equal(received?.method, method);
      assert.equal(received.path, '/hook?a=b');
      assert.equal(received.headers['content-type'], 'application/json');
      assert.equal(received.headers['x-request-id'], 'req_abc');
      assert.equal(received.event.request_id, 'req_abc');
      const hmac = createHmac('sha256', 's3cret').update(received.body).digest('hex');
      assert.equal(received.headers['x-webhook-signature'], `sha256=${hmac}`);
      assert.deepEqual([received.event], await readEvents(rig.db, customer, 0, 10));
      assert.deepEqual(Object.keys(received.event), EVENT_FIELDS);
    });

  it('sends no signature without a secret and no request id when none is known', async () => {
    const customer = await addCustomer(rig.db, { uri: receiver.url, secret: '' });
    await happen(customer, newId(), '');
    work();
    await settled(customer);
    assert.equal(receiver.received[0]?.headers['x-webhook-signature'], undefined);
    assert.equal(receiver.received[0]?.headers['x-request-id'], undefined);
  });

  it('delivers within a quarter of a second of the commit', async () => {
    const customer = await addCustomer(rig.db, { uri: receiver.url });
    work();
    const started = performance.now();
    await happen(customer);
    await eventually('it came', () => receiver.received.length === 1);
    assert.ok(performance.now() - started < 250);
  });

  it('tells the story of one resource in order while the first attempts of each event fail', async () => {
    const customer = await addCustomer(rig.db, { uri: receiver.url });
    const id = newId();
    receiver.answer = (_, response, nth) => void response.writeHead(nth % 2 ? 503 : 200).end();
    for (let n = 0; n < 6; n++) await happen(customer, id);
    work();
    work();
    await settled(customer);
    assert.deepEqual(
      receiver.received.map(received => received.event.sequence),
      [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6],
    );
    assert.equal(new Set(receiver.received.map(received => received.event.id)).size, 6);
  });

  it('does not let one resource wait for another', async () => {
    const customer = await addCustomer(rig.db, { uri: receiver.url });
    const [stuck, free] = [newId(), newId()];
    receiver.answer = ({ event }, response) => void response.writeHead(event.topic.endsWith(stuck) ? 500 : 200).end();
    await happen(customer, stuck);
    await happen(customer, stuck);
    await happen(customer, free);
    work({ first_retry_ms: 60_000 });
    await eventually('the free one', async () => (await rows(customer))[2]?.state === 'delivered');
    assert.deepEqual(
      (await rows(customer)).map(row => [row.state, row.attempts]),
      [
        ['pending', 1],
        ['waiting', 0],
        ['delivered', 1],
      ],
    );
  });

  it('waits longer before each further attempt', async () => {
    const customer = await addCustomer(rig.db, { uri: receiver.url });
    const times: number[] = [];
    receiver.answer = (_, response, nth) => {
      times.push(performance.now());
      response.writeHead(nth < 5 ? 500 : 200).end();
    };
    await happen(customer);
    work();
    assert.deepEqual(
      (await settled(customer)).map(row => row.attempts),
      [5],
    );
    const pauses = times.slice(1).map((time, n) => time - (times[n] ?? 0));
    [40, 80, 160, 320].forEach((least, n) => assert.ok((pauses[n] ?? 0) >= least - 2, `pause ${n}: ${pauses[n]} ms`));
    const { rows: attempts } = await rig.db.raw<{ rows: { status: number }[] }>(
      'select status from webhook_attempts a join webhook_deliveries d on d.id = a.delivery_id where customer_id = ? order by attempt',
      [customer],
    );
    assert.deepEqual(
      attempts.map(attempt => attempt.status),
      [500, 500, 500, 500, 200],
    );
  });

  it('tries again when the receiver hangs up and when it does not answer in time', async () => {
    const customer = await addCustomer(rig.db, { uri: receiver.url });
    receiver.answer = (_, response, nth) => {
      if (nth === 1) response.destroy();
      else if (nth > 2) response.end();
    };
    await happen(customer);
    work({ timeout_ms: 300 });
    const [row] = await settled(customer);
    assert.deepEqual([row?.state, row?.attempts], ['delivered', 3]);
    assert.equal(new Set(receiver.received.map(received => received.event.id)).size, 1);
  });

  it('tries again when nobody listens', async () => {
    const customer = await addCustomer(rig.db, { uri: 'http://127.0.0.1:1/' });
    await happen(customer);
    work();
    await eventually('three attempts', async () => ((await rows(customer))[0]?.attempts ?? 0) >= 3);
    const [row] = await rows(customer);
    assert.equal(row?.state, 'pending');
    assert.match(row.last_error ?? '', /ECONNREFUSED/);
  });

  for (const status of [201, 204, 400, 404, 410])
    it(`gives up at once when the receiver answers ${status}`, async () => {
      const customer = await addCustomer(rig.db, { uri: receiver.url });
      answerStatus(status);
      await happen(customer);
      work();
      const [row] = await settled(customer);
      assert.deepEqual([row?.state, row?.attempts, row?.last_status], ['dead', 1, status]);
    });

  it('gives up after three days of failures and goes on with the next event of the resource', async () => {
    const customer = await addCustomer(rig.db, { uri: receiver.url });
    const id = newId();
    await happen(customer, id);
    await happen(customer, id);
    const old = rig.db.raw("now() - interval '73 hours'");
    await rig.db('webhook_deliveries').where({ customer_id: customer, sequence: 1 }).update({ tm_first_attempt: old });
    answerStatus(500);
    work();
    assert.deepEqual(
      (await settled(customer)).map(row => row.state),
      ['dead', 'delivered'],
    );
  });

  it('follows three redirects with method and body, and not a fourth', async () => {
    const customer = await addCustomer(rig.db, { uri: `${receiver.url}/1`, method: 'PUT' });
    receiver.answer = ({ path }, response) => {
      const n = Number(path.slice(1));
      if (n < 4) response.writeHead(302, { location: `/${n + 1}` }).end();
      else response.end();
    };
    await happen(customer);
    work();
    assert.equal((await settled(customer))[0]?.state, 'delivered');
    assert.deepEqual(
      receiver.received.map(({ method, path }) => `${method} ${path}`),
      ['PUT /1', 'PUT /2', 'PUT /3', 'PUT /4'],
    );
    await rig
      .db('customers')
      .where('id', customer)
      .update({ webhook_uri: `${receiver.url}/0` });
    await happen(customer);
    const [, row] = await settled(customer);
    assert.deepEqual([row?.state, row?.attempts], ['dead', 1]);
    assert.equal(row?.last_error, 'more than 3 redirects');
  });

  it('takes an attempt up again, under the same event id, when its worker died in the middle of it', async () => {
    const customer = await addCustomer(rig.db, { uri: receiver.url });
    await happen(customer);
    const lost = rig.db.raw("now() + interval '300 milliseconds'"); // what a worker that died leaves: a lease that runs out
    await rig.db('webhook_deliveries').where('customer_id', customer).update({ attempts: 1, tm_next_attempt: lost });
    work();
    const [row] = await settled(customer);
    assert.deepEqual([row?.state, row?.attempts], ['delivered', 2]);
  });

  it('delivers each of three hundred events once with three workers at the same table', async () => {
    const customer = await addCustomer(rig.db, { uri: receiver.url });
    const ids = Array.from({ length: 10 }, () => newId());
    for (let n = 0; n < 300; n++) await happen(customer, ids[n % 10]);
    for (let n = 0; n < 3; n++) work();
    await settled(customer);
    assert.equal(receiver.received.length, 300);
    for (const id of ids) {
      const sequences = receiver.received
        .map(each => each.event)
        .filter(event => event.topic.endsWith(id))
        .map(e => e.sequence);
      assert.deepEqual(
        sequences,
        [...sequences].sort((a, b) => a - b),
      );
    }
  });

  it('forgets none and keeps the order while one resource is written and delivered at the same time', async () => {
    const customer = await addCustomer(rig.db, { uri: receiver.url });
    const id = newId();
    work();
    work();
    const writer = async (): Promise<void> => {
      for (let n = 0; n < 40; n++) await happen(customer, id);
    };
    await Promise.all([writer(), writer(), writer()]);
    await settled(customer);
    assert.deepEqual(
      receiver.received.map(received => received.event.sequence),
      Array.from({ length: 120 }, (_, n) => n + 1),
    );
  });

  it('does not let a customer whose receiver hangs hold up another', async () => {
    const [slow, quick] = [
      await addCustomer(rig.db, { uri: `${receiver.url}/slow` }),
      await addCustomer(rig.db, { uri: `${receiver.url}/quick` }),
    ];
    receiver.answer = ({ path }, response) => void (path === '/quick' && response.end());
    for (let n = 0; n < 100; n++) await happen(slow);
    work({ timeout_ms: 1000 });
    await eventually('the slow one is busy', () => receiver.received.length >= 8);
    const started = performance.now();
    await happen(quick);
    await settled(quick);
    assert.ok(performance.now() - started < 400);
  });

  it('refuses private targets, by address, by name and after a redirect, unless they are allowed', async () => {
    const guarded = new GuardedFetch({ allowPrivateTargets: false });
    const { port } = receiver.server.address() as AddressInfo;
    for (const uri of [receiver.url, `http://localhost:${port}/`, `http://2130706433:${port}/`]) {
      const customer = await addCustomer(rig.db, { uri });
      await happen(customer);
      const worker = work({ http: guarded });
      const [row] = await settled(customer);
      await worker.stop();
      assert.deepEqual([row?.state, row?.attempts], ['dead', 1]);
      assert.match(row?.last_error ?? '', /is a private address$/);
    }
    assert.deepEqual(receiver.received, []);
    await guarded.close();
  });
});
