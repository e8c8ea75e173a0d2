import { strict as assert } from 'node:assert';
import { LIVE_EVENTS, topicOf, type EventMessage } from '#contract/events';
import { newId } from '#contract/ids';
import { keysOf, parseTopic } from '../../../control-api/events/topic.ts';
import type { Identity } from '../../../control-api/http/authenticate.ts';
import { PERMISSION } from '../../../control-api/http/permit.ts';

// Fixed ones: they are in titles.
const CUSTOMER = 'c0000000-0000-4000-8000-000000000001';
const OTHER = 'c0000000-0000-4000-8000-000000000002';
const AGENT = 'a0000000-0000-4000-8000-000000000001';
const CHILD = 'd0000000-0000-4000-8000-000000000001';
const ID = 'e0000000-0000-4000-8000-000000000001';
const identity = (kind: Identity['kind'], permission: number, agent_id = ''): Identity => ({
  kind,
  customer_id: CUSTOMER,
  customer_status: 'active',
  permission,
  agent_id,
});
const WHO = {
  super: identity('agent', PERMISSION.super_admin, newId()),
  admin: identity('agent', PERMISSION.admin, newId()),
  manager: identity('agent', PERMISSION.manager, newId()),
  agent: identity('agent', PERMISSION.agent, AGENT),
  accesskey: identity('accesskey', PERMISSION.admin),
  direct: {
    ...identity('direct', 0),
    direct: {
      customer_id: CUSTOMER,
      resource_type: 'ai',
      resource_id: newId(),
      allowed_resource_types: ['aicall'],
      allowed_resource_id: CHILD,
      scope_version: 1,
      hash_digest: 'x',
    },
  },
};
type Who = keyof typeof WHO;
const everybody = Object.keys(WHO) as Who[];
const leaders: Who[] = ['super', 'admin', 'manager', 'accesskey'];

/** accounts-and-plumbing 26.3 and 26.4: who may listen to what. */
const TOPICS: [topic: string, allowed: Who[]][] = [
  [`customer_id:${CUSTOMER}`, leaders],
  [`customer_id:${CUSTOMER}:call`, leaders],
  [`customer_id:${CUSTOMER}:call:*`, leaders],
  [`customer_id:${CUSTOMER}:call:${ID}`, leaders],
  [`customer_id:${CUSTOMER}:aicall:${CHILD}`, [...leaders, 'direct']],
  [`customer_id:${CUSTOMER}:aicall:${ID}`, leaders],
  [`customer_id:${CUSTOMER}:aicall:*`, leaders],
  [`customer_id:${CUSTOMER}:call:${CHILD}`, leaders],
  [`customer_id:${CUSTOMER.toUpperCase()}:call`, leaders],
  [`customer_id:${OTHER}`, ['super']],
  [`customer_id:${OTHER}:call:${ID}`, ['super']],
  [`customer_id:${OTHER}:aicall:${CHILD}`, ['super']],
  [`agent_id:${AGENT}`, ['agent']],
  [`agent_id:${AGENT}:call`, ['agent']],
  [`agent_id:${AGENT}:call:*`, ['agent']],
  [`agent_id:${AGENT}:call:${ID}`, ['agent']],
  ['agent_id:a0000000-0000-4000-8000-000000000002', []],
  // Malformed (26.3).
  ['', []],
  ['customer_id', []],
  [`customer_id:`, []],
  [`customer_id:${CUSTOMER}:`, []],
  [`customer_id:${CUSTOMER}::${ID}`, []],
  [`customer_id:${CUSTOMER}:*`, []],
  [`customer_id:${CUSTOMER}:call:`, []],
  [`customer_id:${CUSTOMER}:call:17`, []],
  [`customer_id:${CUSTOMER}:call:${ID}:more`, []],
  [`customer_id:17:call`, []],
  [`user_id:${CUSTOMER}`, []],
  [`${CUSTOMER}:call`, []],
];

const event = (given: Partial<EventMessage>): EventMessage => ({
  id: newId(),
  sequence: 1,
  event_type: 'call_created',
  timestamp: '2026-11-21T00:00:00.000000Z',
  topic: topicOf(CUSTOMER, 'call', ID),
  request_id: '',
  data: { id: ID },
  ...given,
});

describe('topics', () => {
  for (const [topic, allowed] of TOPICS)
    it(`${topic || 'nothing'} is for ${allowed.join(', ') || 'nobody'}`, () => {
      const may = everybody.filter(who => parseTopic(topic, WHO[who]) !== undefined);
      assert.deepEqual(may.sort(), [...allowed].sort());
    });

  it('an event answers to topics of two, three and four parts and the star, and to nothing else', () => {
    const own = `customer_id:${CUSTOMER}`;
    assert.deepEqual(keysOf(event({})), [own, `${own}:call`, `${own}:call:*`, `${own}:call:${ID}`]);
  });

  it('an event of a resource that an agent owns answers to the same topics of that agent', () => {
    const keys = keysOf(event({ data: { id: ID, owner_id: AGENT } }));
    const own = `agent_id:${AGENT}`;
    assert.deepEqual(keys.slice(4), [own, `${own}:call`, `${own}:call:*`, `${own}:call:${ID}`]);
  });

  it('an empty owner is no agent', () => {
    const unset = '00000000-0000-0000-0000-000000000000';
    for (const owner_id of ['', unset]) assert.equal(keysOf(event({ data: { id: ID, owner_id } })).length, 4);
  });

  it("the resource of a live event's topic is the part of its type before the first underscore", () => {
    for (const [kind, types] of Object.entries(LIVE_EVENTS))
      for (const type of types) assert.equal(type.split('_')[0], kind);
  });
});
