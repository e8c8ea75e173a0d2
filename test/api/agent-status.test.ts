import { strict as assert } from 'node:assert';
import { Redis } from 'ioredis';
import { newId } from '#contract/ids';
import { keys } from '#contract/keys';
import { timestamp } from '#contract/time';
import { apiOfTests } from '../support/api.ts';
import { addAgent } from '../support/people.ts';

type Json = Record<string, unknown>;

describe('the status of an agent whom groupcalls ring', () => {
  const api = apiOfTests();
  let redis: Redis;
  before(() => void (redis = new Redis(api.redisUrl)));
  after(() => redis.disconnect());

  /** A groupcall as media-app reports it to the stream. */
  class Ringing {
    readonly id = newId();
    readonly #agent: string;
    #version = 0;

    constructor(agent: string) {
      this.#agent = agent;
    }

    /** Reports an event; resolves with the agent's status once it is in the log. */
    async tell(event_type: string): Promise<string> {
      const { customer_id } = api.welcome;
      const [tm_create, id] = [timestamp(), newId()];
      const status = event_type === 'groupcall_hangup' ? 'hangup' : 'progressing';
      const data = { id: this.id, customer_id, owner_type: 'agent', owner_id: this.#agent, status, tm_create };
      const entry = { kind: 'groupcall', id: this.id, version: ++this.#version, customer_id, data, request_id: 'req' };
      const events = [{ id, event_type, timestamp: tm_create }];
      await redis.xadd(keys.stream, '*', 'entry', JSON.stringify({ ...entry, events }));
      while (!(await api.database.db('events').where({ id }).first<Json | undefined>()))
        await new Promise(resolve => setTimeout(resolve, 5));
      const agent = await api.database.db('agents').where('id', this.#agent).first<{ status: string }>('status');
      return agent.status;
    }
  }

  const agentWith = async (status: string): Promise<string> =>
    (await addAgent(api, api.welcome.customer_id, 16, { status })).id;

  const CASES: [before: string, events: string[], after: string][] = [
    ['available', ['groupcall_created'], 'ringing'],
    ['available', ['groupcall_created', 'groupcall_progressing'], 'busy'],
    ['available', ['groupcall_created', 'groupcall_progressing', 'groupcall_hangup'], 'busy'],
    ['available', ['groupcall_created', 'groupcall_hangup'], 'available'],
    ['away', ['groupcall_created', 'groupcall_progressing', 'groupcall_hangup'], 'away'],
    ['offline', ['groupcall_created', 'groupcall_hangup'], 'offline'],
  ];
  for (const [before, events, after] of CASES)
    it(`${before} is ${after} after ${events.map(each => each.replace('groupcall_', '')).join(', ')}`, async () => {
      const call = new Ringing(await agentWith(before));
      let status = before;
      for (const event of events) status = await call.tell(event);
      assert.equal(status, after);
    });

  it('goes on ringing while a second groupcall rings', async () => {
    const agent = await agentWith('available');
    const [first, second] = [new Ringing(agent), new Ringing(agent)];
    await first.tell('groupcall_created');
    await second.tell('groupcall_created');
    assert.equal(await first.tell('groupcall_hangup'), 'ringing');
    assert.equal(await second.tell('groupcall_hangup'), 'available');
  });

  it('is told as agent_status_updated with the agent as the API shows it', async () => {
    const agent = await agentWith('available');
    await new Ringing(agent).tell('groupcall_created');
    const event = await api.database.db('events').where('resource_id', agent).first<Json>();
    assert.equal(event['event_type'], 'agent_status_updated');
    assert.deepEqual(event['data'], (await api.request('GET', `/v1.0/agents/${agent}`)).body);
  });
});
