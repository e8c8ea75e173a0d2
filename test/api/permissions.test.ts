import { strict as assert } from 'node:assert';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { EMPTY_ID, newId } from '#contract/ids';
import { keys } from '#contract/keys';
import { timestamp } from '#contract/time';
import { signDelegateToken, signDirectToken } from '../../control-api/auth/token.ts';
import type { Route } from '../../control-api/http/route.ts';
import { routes } from '../../control-api/routes.ts';
import { tokenSecret } from '../../control-api/settings.ts';
import { apiOfTests, reasonOf, type Answer } from '../support/api.ts';
import { addAccesskey, addAgent, addCustomer, tokenOf } from '../support/people.ts';

type Json = Record<string, unknown>;
const ROLES = ['super', 'admin', 'manager', 'agent', 'nothing', 'accesskey', 'delegate', 'direct'] as const;
type Role = (typeof ROLES)[number];

/** Who may, of super admin, admin, manager and agent, as in the specification. `login`: any agent, and nobody else. */
type Rule = 'yyyy' | 'yyy-' | 'yy--' | 'y---' | 'login';

/** The matrix of accounts-and-plumbing 6.3, of what exists. The first row that fits counts. */
const MATRIX: [pattern: RegExp, rule: Rule][] = [
  [/ \/accesskeys/, 'yy--'],
  [/ \/(activeflows|flows)/, 'yyy-'],
  [/ \/agents/, 'yyy-'],
  [/ \/me$/, 'login'],
  [/ \/numbers\/renew$/, 'y---'],
  [/ \/(available_numbers$|numbers)/, 'yyy-'],
  [/ \/billing_accounts/, 'y---'],
  [/^get \/billing-accounts/, 'yy--'],
  [/ \/billing-accounts/, 'y---'],
  [/ \/(billing_account|billings)/, 'yy--'],
  [/ \/(calls|groupcalls|recordings|recordingfiles)/, 'yyy-'],
  [/ \/(conferences|conferencecalls)/, 'yyy-'],
  [/ \/(contacts|contact_addresses|contact_interactions|contact_peer_events)/, 'yyy-'],
  [/^get \/customer$/, 'yyy-'],
  [/^put \/customer/, 'yy--'],
  [/ \/customers/, 'y---'],
  [/ \/extensions/, 'yyy-'],
  [/ \/bans/, 'y---'],
  [/ \/(providers|providercalls|routes)/, 'y---'],
  [/ \/(outbound_config|outbound_configs|trunks)/, 'yy--'],
  [/ \/directs/, 'yyy-'],
  [/ \/tags/, 'yyy-'],
  [/ \/(timelines|aggregated-events)/, 'yyy-'],
  [/ \/(ais|teams|queues|campaigns|outdials|outplans)/, 'yyy-'],
  [/ \/(conversation_accounts|conversation-accounts|webchat_widgets)/, 'yyy-'],
  [/ \/rags/, 'yy--'],
  [/^get \/storage_files(\/\{id\})?$/, 'yyyy'],
  [/ \/storage_files/, 'yyy-'],
  [/^get \/storage_account$/, 'yyy-'],
  [/^get \/storage[-_]accounts\/\{id\}/, 'yyy-'],
  [/ \/storage[-_]accounts/, 'y---'],
  [/ \/webhook/, 'yyy-'],
  [/ \/(transfers|transcribes|transcripts|speakings|schedules)/, 'yyy-'],
  [/ \/service_agents\//, 'login'],
];

const nameOf = (route: Route): string => `${route.method} ${route.path}`;
const ruleOf = (route: Route): Rule | undefined => MATRIX.find(([pattern]) => pattern.test(nameOf(route)))?.[1];
const guarded = routes.filter(route => route.surface === 'versioned' && route.permission !== 'public');

/** What a request of a role is answered with: nothing means that it is let in. */
const refusalOf = (rule: Rule, role: Role): string | undefined => {
  if (role === 'direct') return 'DIRECT_ACCESS_NOT_SUPPORTED';
  if (rule === 'login') return ['accesskey', 'delegate'].includes(role) ? 'DIRECT_ACCESS_NOT_SUPPORTED' : undefined;
  if (role === 'nothing') return rule === 'yyyy' ? undefined : 'PERMISSION_DENIED';
  const like = role === 'accesskey' || role === 'delegate' ? 'admin' : role;
  return rule[ROLES.indexOf(like)] === 'y' ? undefined : 'PERMISSION_DENIED';
};

/** Values that a schema alone does not tell. */
const NAMED: Record<string, () => unknown> = {
  email: () => `${newId()}@example.com`,
  username: () => `${newId()}@example.com`,
  number: () => '+899123456789',
  extension: () => `x${newId().slice(0, 8)}`,
  actions: () => [{ type: 'answer' }],
  target: () => 'all',
  engine_model: () => 'openai.x',
  address: () => '192.0.2.1',
};

/** A value that a schema takes. It names flows that are not there, so that nothing is dialled. */
const sample = (given: Json, name: string, parts: Json): unknown => {
  const named = /^#\/\$defs\/(.+)$/.exec(String(given['$ref']))?.[1];
  const schema = named === undefined ? given : (parts[named] as Json);
  if (NAMED[name]) return NAMED[name]();
  if (name.startsWith('tm_')) return timestamp();
  if (/_id$/.test(name) || schema['format'] === 'uuid') return newId();
  const [choice] = (schema['enum'] ?? []) as unknown[];
  const [variant] = (schema['anyOf'] ?? schema['oneOf'] ?? []) as Json[];
  if (choice !== undefined) return choice;
  if (variant) return sample(variant, name, parts);
  switch (schema['type']) {
    case 'object': {
      const required = (schema['required'] ?? []) as string[];
      const fields = Object.entries((schema['properties'] ?? {}) as Record<string, Json>);
      const wanted = fields.filter(([field]) => required.includes(field) || field.endsWith('flow_id'));
      return Object.fromEntries(wanted.map(([field, part]) => [field, sample(part, field, parts)]));
    }
    case 'array':
      return Number(schema['minItems'] ?? 0) > 0 ? [sample(schema['items'] as Json, '', parts)] : [];
    case 'integer':
    case 'number':
      return schema['minimum'] ?? 1;
    case 'boolean':
      return true;
    default:
      return 'x1';
  }
};

const bodyOf = (route: Route): unknown => {
  if (!route.body) return undefined;
  const schema = z.toJSONSchema(route.body, { io: 'input', unrepresentable: 'any' }) as Json;
  return sample(schema, '', (schema['$defs'] ?? {}) as Json);
};

/** Not listed yet: what lists show is judged by OpenAPI, and these rows are hollow. */
const LATER = '2999-01-01 00:00:00.000000';

const insertBan = async (redisUrl: string): Promise<string> => {
  const redis = new Redis(redisUrl);
  const ban = { id: newId(), source: '192.0.2.1', reason: 'manual', detail: '', count: 1, tm_create: timestamp() };
  await redis.hset(keys.bans, ban.source, JSON.stringify({ ...ban, ends_at: Date.now() + 60_000 }));
  redis.disconnect();
  return ban.id;
};

describe('who may do what', () => {
  const api = apiOfTests();
  const credentials = {} as Record<Role, { token?: string; accesskey?: string }>;
  /** A record of every collection, by the first word of its path. */
  const existing = new Map<string, string>();

  const insert = async (table: string, row: Json): Promise<void> => {
    const id = newId();
    await api.database.db(table).insert({ id, tm_create: timestamp(), ...row });
    existing.set(table, id);
  };

  const fill = async (customer_id: string): Promise<void> => {
    const db = api.database.db;
    for (const table of ['calls', 'groupcalls', 'activeflows', 'conferences', 'conferencecalls', 'recordings'])
      await insert(table, { customer_id, version: 1, tm_create: LATER, data: { customer_id, tm_delete: null } });
    existing.set('bans', await insertBan(api.redisUrl));
    existing.set('recordingfiles', existing.get('recordings') ?? '');
    const words = { customer_id, name: '', detail: '' };
    const address = { type: 'email', target: 'a@example.com' };
    await insert('tags', words);
    await insert('flows', { ...words, actions: '[]' });
    await insert('numbers', { ...words, number: '+899987654321', type: 'virtual', status: 'active' });
    const sip = { username: '1', password: '1', domain_name: 'x', direct_hash: 'direct.0' };
    await insert('extensions', { ...words, extension: '1', ...sip });
    const later = { tm_create: LATER, name: '', detail: '' };
    const empty = { tech_prefix: '', tech_postfix: '', tech_headers: '{}', codecs: '', username: '', password: '' };
    const limits = { register: false, allowed_ips: '[]', max_calls: 0, max_calls_per_second: 0 };
    await insert('providers', { ...later, type: 'sip', hostname: 'example.com', ...empty, ...limits });
    const provider_id = existing.get('providers');
    await insert('routes', { ...later, customer_id, provider_id, priority: 0, target: 'all' });
    const order = { source: '{}', destinations: '[]', anonymous: '', call_ids: '[]', groupcall_ids: '[]' };
    await insert('providercalls', { tm_create: LATER, customer_id, provider_id, flow_id: newId(), ...order });
    await insert('outbound_configs', { ...later, customer_id });
    const trunk = { domain_name: 'x', auth_types: '[]', username: '', password: '', allowed_ips: '[]' };
    await insert('trunks', { ...later, customer_id, ...trunk });
    const names = { first_name: '', last_name: '', display_name: '', company: '', job_title: '' };
    await insert('contacts', { customer_id, ...names, source: 'manual', external_id: '', notes: '' });
    await insert('contact_addresses', { customer_id, ...address });
    const event = { event_type: 'flow_created', topic: '', resource: 'flow', resource_id: newId(), data: {} };
    const happened = { customer_id, sequence: 0, request_id: '' };
    await db('events').insert({ id: event.resource_id, timestamp: LATER, ...event, ...happened });
    const target = { event_id: event.resource_id, target: 'customer', order_key: '', uri: '', method: 'POST' };
    await insert('webhook_deliveries', { tm_create: LATER, customer_id, sequence: 0, state: 'dead', ...target });
    await fillRecords(customer_id);
    await insert('storage_files', { customer_id, type: 'rag', filename: 'a.txt', filesize: 1, tm_create: LATER });
    existing.set('customers', customer_id);
    for (const table of ['accesskeys', 'directs', 'storage_accounts', 'billing_accounts', 'billings']) {
      const row = await db(table).where({ customer_id }).first<{ id: string } | undefined>('id');
      existing.set(table, row?.id ?? '');
    }
    existing.set('storage-accounts', existing.get('storage_accounts') ?? '');
    existing.set('billing-accounts', existing.get('billing_accounts') ?? '');
  };

  /** Records of the contact centre, of messaging and of AI. */
  const fillRecords = async (customer_id: string): Promise<void> => {
    const own = { customer_id, tm_create: LATER, name: '' };
    const words = { ...own, detail: '' };
    const hash = () => ({ direct_hash: `direct.${newId()}` });
    const none = { wait_flow_id: EMPTY_ID, wait_timeout: 0, service_timeout: 0 };
    await insert('queues', { ...words, ...hash(), ...none, routing_method: 'random', tag_ids: '[]' });
    const tries = {
      max_try_count_0: 1,
      max_try_count_1: 0,
      max_try_count_2: 0,
      max_try_count_3: 0,
      max_try_count_4: 0,
    };
    await insert('outplans', { ...words, ...tries, source: '{}', dial_timeout: 0, try_interval: 0 });
    await insert('outdials', { ...words, data: '' });
    const ids = { outplan_id: EMPTY_ID, outdial_id: EMPTY_ID, queue_id: EMPTY_ID, next_campaign_id: EMPTY_ID };
    const plan = { type: 'flow', service_level: 0, end_handle: 'stop', actions: '[]' };
    await insert('campaigns', { ...words, ...ids, ...plan });
    const account = { type: 'sms', secret: '', token: '', message_flow_id: EMPTY_ID };
    await insert('conversation_accounts', { ...words, ...account });
    existing.set('conversation-accounts', existing.get('conversation_accounts') ?? '');
    const window = { status: 'active', session_flow_id: EMPTY_ID, message_flow_id: EMPTY_ID, session_idle_timeout: 60 };
    await insert('webchat_widgets', { ...own, ...hash(), ...window });
    const speech = { tts_type: '', tts_voice_id: '', stt_type: '', stt_language: '', auto_aicall_audit_enabled: false };
    const model = { engine_model: 'openai.x', parameter: '{}', engine_key: '', rag_id: EMPTY_ID, init_prompt: '' };
    await insert('ais', { ...words, ...hash(), ...speech, ...model, type: 'normal', tool_names: '[]' });
    await insert('teams', { ...words, ...hash(), start_member_id: newId(), members: '[]', parameter: '{}' });
    await insert('rags', { ...own, description: '' });
  };

  before(async () => {
    const customer_id = await addCustomer(api);
    const bits = { super: 1, admin: 32, manager: 64, agent: 16, nothing: 0 };
    const superAgent = await addAgent(api, customer_id, bits.super);
    for (const [role, permission] of Object.entries(bits)) {
      const agent = role === 'super' ? superAgent : await addAgent(api, customer_id, permission);
      credentials[role as Role] = { token: await tokenOf(api, agent.username, agent.password) };
    }
    credentials.accesskey = { accesskey: await addAccesskey(api, customer_id) };
    const secret = await tokenSecret(api.database.db);
    const delegate = await signDelegateToken(secret, { sub: superAgent.id, jti: newId(), customer_id });
    credentials.delegate = { token: delegate.token };
    const bound = { resource_type: 'ai', resource_id: newId(), allowed_resource_types: ['aicall'] };
    const rest = { allowed_resource_id: newId(), scope_version: 1, hash_digest: 'x' };
    credentials.direct = { token: (await signDirectToken(secret, { customer_id, ...bound, ...rest })).token };
    await fill(customer_id);
    existing.set('agents', superAgent.id);
  });

  const ask = (route: Route, role: Role, id: string): Promise<Answer> => {
    const path = route.path
      .replace('{id}', id)
      .replace('{resource_type}', 'calls')
      .replace(/\{\w+\}/g, newId);
    const query = route.path.endsWith('/aggregated-events') ? `?call_id=${newId()}` : '';
    const options = { credentials: credentials[role] };
    return api.request(route.method.toUpperCase(), `/v1.0${path}${query}`, bodyOf(route), options);
  };

  it('every operation has a row', () => {
    assert.deepEqual(guarded.filter(route => !ruleOf(route)).map(nameOf), []);
  });

  it('every operation on one record can tell what is missing from what is forbidden', () => {
    const blind = guarded.filter(
      route => route.path.includes('/{id}') && route.permission !== 'login' && !('find' in route),
    );
    assert.deepEqual(blind.map(nameOf), []);
  });

  for (const route of guarded)
    it(`${nameOf(route)}: ${ruleOf(route) ?? 'no rule'}`, async () => {
      const rule = ruleOf(route) ?? assert.fail('no rule');
      const collection = route.path.split('/')[1] ?? '';
      const single = route.path.includes('{id}') && rule !== 'login';
      await Promise.all(
        ROLES.map(async role => {
          const refusal = refusalOf(rule, role);
          const known = existing.get(collection) ?? newId();
          const answer = await ask(route, role, refusal && single ? known : newId());
          const reason = reasonOf(answer);
          const seen = `${role}: ${answer.status} ${answer.text.slice(0, 200)}`;
          if (refusal) assert.equal(reason, refusal, seen);
          else assert.ok(![401, 500].includes(answer.status) && reason !== 'PERMISSION_DENIED', seen);
          if (!refusal) assert.notEqual(reason, 'DIRECT_ACCESS_NOT_SUPPORTED', seen);
          if (refusal !== 'PERMISSION_DENIED' || !single) return;
          const missing = await ask(route, role, newId());
          assert.equal(missing.status, 404, `${role} hears of a record that is not there: ${missing.text}`);
        }),
      );
    });
});
