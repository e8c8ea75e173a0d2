import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { WebSocket } from 'ws';
import type { EventMessage } from '#contract/events';
import { newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { apiOfTests, reasonOf, type Answer } from '../support/api.ts';
import { addAccesskey, addCustomer } from '../support/people.ts';

type Json = Record<string, unknown>;

interface Tenant {
  customer_id: string;
  accesskey: string;
  socket: WebSocket;
  /** Events that the socket has heard, and those that the webhook was sent. */
  heard: EventMessage[];
  posted: EventMessage[];
  /** `collection/id` of all it has made. */
  own: Set<string>;
}

let serial = 0;
const hex = (): string => newId().slice(0, 8);

/** What a tenant makes, with a filter that finds it, when there is one. */
const KINDS: Record<string, { body: () => Json; filter?: (made: Json) => string }> = {
  accesskeys: { body: () => ({ name: hex() }) },
  flows: { body: () => ({ name: hex(), actions: [{ type: 'answer' }] }) },
  extensions: { body: () => ({ extension: `e${hex()}`, password: 'geheim' }), filter: of('extension') },
  numbers: { body: () => ({ number: `+899${String(200_000_000 + ++serial)}` }), filter: of('number') },
  tags: { body: () => ({ name: hex(), detail: '' }), filter: of('name') },
  contacts: { body: () => ({ display_name: hex(), external_id: hex() }), filter: of('external_id') },
  contact_addresses: {
    body: () => ({ type: 'email', target: `${hex()}@example.com` }),
    filter: of('target'),
  },
  queues: {
    body: () => ({
      ...{ name: hex(), detail: '', routing_method: 'random', tag_ids: [] },
      ...{ wait_flow_id: '', wait_timeout: 0, service_timeout: 0 },
    }),
    filter: of('name'),
  },
  outdials: { body: () => ({ campaign_id: '', name: hex(), detail: '', data: '' }), filter: of('campaign_id') },
  outplans: {
    body: () => ({
      ...{ name: hex(), detail: '', source: { type: 'tel', target: '+899' }, dial_timeout: 0, try_interval: 0 },
      ...{ max_try_count_0: 1, max_try_count_1: 0, max_try_count_2: 0, max_try_count_3: 0, max_try_count_4: 0 },
    }),
  },
  campaigns: {
    body: () => ({
      ...{ name: hex(), detail: '', type: 'flow', service_level: 0, end_handle: 'stop', actions: [] },
      ...{ outplan_id: '', outdial_id: '', queue_id: '', next_campaign_id: '' },
    }),
    filter: of('status'),
  },
  conversation_accounts: {
    body: () => ({ type: 'sms', name: hex(), detail: '', secret: '', token: '' }),
    filter: of('type'),
  },
  webchat_widgets: { body: () => ({ name: hex(), session_flow_id: '' }), filter: of('status') },
  ais: {
    body: () => ({
      ...{ name: hex(), detail: '', engine_model: 'openai.x', parameter: {}, engine_key: '', init_prompt: hex() },
      ...{ tts_type: '', tts_voice_id: '', stt_type: '' },
    }),
    filter: of('type'),
  },
  rags: { body: () => ({ name: hex() }) },
};
const NAMES = Object.keys(KINDS);

function of(field: string): (made: Json) => string {
  return made => `${field}=${encodeURIComponent(String(made[field]))}`;
}

describe('what belongs to one customer', () => {
  const api = apiOfTests();
  let hook: Server;
  let tenants: Tenant[];
  before(async () => {
    hook = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const event = JSON.parse(Buffer.concat(chunks).toString()) as EventMessage;
        tenants.find(({ customer_id }) => request.url === `/${customer_id}`)?.posted.push(event);
        response.end();
      });
    });
    await once(hook.listen(0, '127.0.0.1'), 'listening');
    tenants = [await tenant(), await tenant()];
  });
  after(async () => {
    for (const { socket } of tenants) socket.terminate();
    hook.close();
  });

  const connect = async (accesskey: string): Promise<WebSocket> => {
    const socket = new WebSocket(`${api.url.replace('http', 'ws')}/v1.0/ws?accesskey=${accesskey}`);
    await once(socket, 'open');
    return socket;
  };
  const subscribe = (socket: WebSocket, topic: string): void =>
    socket.send(JSON.stringify({ type: 'subscribe', topics: [topic] }));

  const tenant = async (): Promise<Tenant> => {
    const { port } = hook.address() as AddressInfo;
    const id = newId();
    const webhook_uri = `http://127.0.0.1:${port}/${id}`;
    const customer_id = await addCustomer(api, { id, webhook_uri, webhook_method: 'POST' });
    const accesskey = await addAccesskey(api, customer_id);
    const socket = await connect(accesskey);
    const heard: EventMessage[] = [];
    socket.on('message', (data: Buffer) => heard.push(JSON.parse(data.toString()) as EventMessage));
    subscribe(socket, `customer_id:${customer_id}`);
    const keys = await api.database.db<{ id: string; customer_id: string }>('accesskeys').where({ customer_id });
    const own = new Set(keys.map(key => `accesskeys/${key.id}`));
    return { customer_id, accesskey, socket, heard, posted: [], own };
  };

  const as = ({ accesskey }: Tenant, method: string, path: string, body?: Json): Promise<Answer> =>
    api.request(method, `/v1.0/${path}`, body, { credentials: { accesskey } });

  /** A recording that ended, as the projector leaves it. */
  const makeRecording = async (owner: Tenant): Promise<string> => {
    const id = newId();
    const { customer_id } = owner;
    const tm_create = timestamp();
    await api.database
      .db('recordings')
      .insert({ id, customer_id, version: 1, data: JSON.stringify(recording(id, customer_id, tm_create)), tm_create });
    owner.own.add(`recordings/${id}`);
    return id;
  };
  const recording = (id: string, customer_id: string, tm_create: string): Json => ({
    ...{ id, customer_id, owner_type: '', owner_id: newId(), activeflow_id: newId(), reference_type: 'call' },
    ...{ reference_id: newId(), status: 'ended', format: 'wav', on_end_flow_id: newId(), tm_start: null },
    ...{ tm_end: null, tm_create, tm_update: null, tm_delete: null },
  });

  /** The other customer is told the same of a record as of one that never was. */
  const isHidden = async (stranger: Tenant, collection: string, id: string): Promise<void> => {
    for (const [method, body] of [
      ['GET', undefined],
      ['PUT', {}],
      ['DELETE', undefined],
    ] as const) {
      if (collection === 'recordings' && method === 'PUT') continue;
      const [real, none] = [
        await as(stranger, method, `${collection}/${id}`, body),
        await as(stranger, method, `${collection}/${newId()}`, body),
      ];
      assert.equal(real.status, 404, `${method} ${collection}: ${real.text}`);
      assert.deepEqual([real.status, reasonOf(real)], [none.status, reasonOf(none)]);
    }
  };

  const idsOf = (answer: Answer, collection: string): string[] =>
    (answer.body['result'] as Json[]).map(({ id }) => `${collection}/${String(id)}`);

  it('is in no answer, list, filter, event or webhook of another one', async function () {
    this.timeout(60_000);
    const step = fc.record({ who: fc.nat(1), kind: fc.constantFrom(...NAMES, 'recordings') });
    const steps = fc.array(step, { minLength: 3, maxLength: 6 });
    const property = fc.asyncProperty(steps, async chosen => {
      for (const { who, kind } of chosen) {
        const [owner, stranger] = [tenants[who], tenants[1 - who]] as [Tenant, Tenant];
        const given = KINDS[kind];
        const made = given ? (await as(owner, 'POST', kind, given.body())).body : { id: await makeRecording(owner) };
        owner.own.add(`${kind}/${String(made['id'])}`);
        await isHidden(stranger, kind, String(made['id']));
        const query = `?page_size=100&${given?.filter?.(made) ?? ''}`;
        const [mine, theirs] = [await as(owner, 'GET', kind + query), await as(stranger, 'GET', kind + query)];
        assert.ok(idsOf(mine, kind).includes(`${kind}/${String(made['id'])}`), `${kind}${query} finds it`);
        for (const id of idsOf(theirs, kind)) assert.ok(stranger.own.has(id), `${kind}${query} shows ${id}`);
      }
    });
    await fc.assert(property, { numRuns: 8 });
    await told();
  });

  /** Every event of a customer has reached its own socket and webhook, and nobody else's. */
  const told = async (): Promise<void> => {
    for (const { customer_id, heard, posted } of tenants) {
      const events = api.database.db('events').where({ customer_id });
      const ids = (await events.select<{ id: string }[]>('id')).map(({ id }) => id).sort();
      assert.ok(ids.length > 0);
      for (const channel of [heard, posted]) {
        while (channel.length < ids.length) await new Promise(resolve => setTimeout(resolve, 20));
        assert.deepEqual(channel.map(({ id }) => id).sort(), ids);
        for (const { topic, data } of channel) {
          assert.ok(topic.startsWith(`customer_id:${customer_id}:`), topic);
          assert.equal(data['customer_id'], customer_id);
        }
      }
    }
  };

  it('is on no topic that another one may listen to', async () => {
    const [one, two] = tenants as [Tenant, Tenant];
    const id = `customer_id:${two.customer_id}`;
    for (const topic of [id, `${id}:flow`, `${id}:flow:*`, `${id}:flow:${newId()}`, `agent_id:${newId()}`]) {
      const socket = await connect(one.accesskey);
      const closed = once(socket, 'close');
      subscribe(socket, topic);
      assert.equal((await closed)[0], 1008, topic);
    }
  });
});
