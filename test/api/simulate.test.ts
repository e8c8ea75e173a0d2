import { strict as assert } from 'node:assert';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { newId } from '#contract/ids';
import { apiOfTests, type Answer } from '../support/api.ts';

type Json = Record<string, unknown>;
const errorOf = (answer: Answer): Json => answer.body['error'] as Json;
const typesOf = (answer: Answer): unknown[] =>
  (answer.body['trace'] as { action: Json }[]).map(step => step.action['type']);
const endOf = (answer: Answer): unknown => (answer.body['ended'] as Json)['reason'];

const hello = { type: 'talk', option: { text: 'Hello ${name}' } };
const bob = { type: 'extension', target: '1001' };

describe('simulating flows', () => {
  const api = apiOfTests();

  const post = (path: string, body: Json, options = {}): Promise<Answer> =>
    api.request('POST', `/v1.0${path}`, body, options);
  const flowOf = async (actions: Json[], more: Json = {}): Promise<string> =>
    String((await post('/flows', { name: 'Simulated', actions, ...more })).body['id']);

  /** Everything a request could leave behind. */
  const traces = async (): Promise<unknown> => {
    const { db } = api.database;
    const counts = await Promise.all(
      ['flows', 'events', 'calls', 'activeflows', 'webhook_deliveries'].map(async table => {
        const row = (await db(table).count({ n: '*' }).first()) as { n: number };
        return [table, Number(row.n)];
      }),
    );
    const redis = new Redis(api.redisUrl);
    const names = (await redis.keys('*')).filter(name => !/rate|limit/.test(name)).sort();
    redis.disconnect();
    return [counts, names];
  };

  it('a stored flow runs against a script', async () => {
    const flow = await flowOf([hello, { type: 'hangup' }]);
    const answer = await post(`/flows/${flow}/simulate`, { variables: { name: 'Ann' }, script: { beep_ms: 1 } });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual([typesOf(answer), endOf(answer)], [['talk', 'hangup'], 'hangup']);
    assert.equal((answer.body['variables'] as Json)['name'], 'Ann');
  });

  it('an empty body is script enough', async () => {
    const answer = await post(`/flows/${await flowOf([hello])}/simulate`, {});
    assert.deepEqual([answer.status, endOf(answer)], [200, 'finished']);
  });

  it('inline actions run, and a flow wins over them', async () => {
    const inline = await post('/activeflows/simulate', { actions: [hello] });
    assert.deepEqual(typesOf(inline), ['talk']);
    const flow_id = await flowOf([{ type: 'answer' }]);
    assert.deepEqual(typesOf(await post('/activeflows/simulate', { flow_id, actions: [hello] })), ['answer']);
  });

  it('runs the flows that a flow fetches and the one that follows it', async () => {
    const other = await flowOf([{ type: 'beep' }]);
    const on_complete_flow_id = await flowOf([{ type: 'variable_set', option: { key: 'followed', value: 'yes' } }]);
    const first = [hello, { type: 'fetch_flow', option: { flow_id: other } }];
    const answer = await post(`/flows/${await flowOf(first, { on_complete_flow_id })}/simulate`, {});
    assert.deepEqual(typesOf(answer), ['talk', 'fetch_flow', 'beep', 'variable_set']);
    assert.equal((answer.body['variables'] as Json)['followed'], 'yes');
    assert.equal((answer.body['on_complete'] as Json[])[0]?.['flow_id'], on_complete_flow_id);
  });

  it('stores nothing, tells nobody, dials nobody and sends nothing', async () => {
    const seen: unknown[] = [];
    const server = createServer((request, response) => {
      seen.push(request.url);
      response.end('[]');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const before = await traces();
    const answer = await post('/activeflows/simulate', {
      actions: [
        { type: 'answer' },
        { type: 'webhook_send', option: { uri, sync: true } },
        { type: 'call', option: { destinations: [bob], actions: [hello] } },
        { type: 'connect', option: { destinations: [bob] } },
        { type: 'fetch', option: { event_url: uri } },
      ],
      script: { http: [{}, { body: '[{"type":"stop"}]' }] },
    });
    assert.deepEqual([typesOf(answer).at(-1), endOf(answer)], ['stop', 'stopped']);
    assert.deepEqual([await traces(), seen], [before, []]);
    server.close();
  });

  const wrong: [string, Json, string, RegExp][] = [
    [
      'keys no phone has',
      { script: { digits: [{ at_ms: 0, digits: 'x' }] } },
      'INVALID_ARGUMENT',
      /^script\.digits\[0\]\.digits:/,
    ],
    ['a moment that is no number', { script: { hangup_at_ms: 'soon' } }, 'INVALID_JSON_BODY', /^script\.hangup_at_ms:/],
    [
      'an answer that is none',
      { script: { answer: { 1001: { result: 'asleep' } } } },
      'INVALID_ARGUMENT',
      /^script\.answer\.1001\.result:/,
    ],
    ['an impossible status', { script: { http: [{ status: 1 }] } }, 'INVALID_ARGUMENT', /^script\.http\[0\]\.status:/],
    ['an unknown verdict', { script: { amd: 'dog' } }, 'INVALID_ARGUMENT', /^script\.amd:/],
    ['variables that are no text', { variables: { a: 1 } }, 'INVALID_JSON_BODY', /^variables\.a:/],
    ['no flow and no actions', {}, 'INVALID_ARGUMENT', /flow_id or actions/],
    ['an action type that is none', { actions: [{ type: 'nonsense' }] }, 'INVALID_ACTION_TYPE', /nonsense/],
  ];
  for (const [title, body, reason, message] of wrong)
    it(`${title}: ${reason}, by name`, async () => {
      const given =
        reason === 'INVALID_ACTION_TYPE' || title.startsWith('no flow') ? body : { actions: [hello], ...body };
      const answer = await post('/activeflows/simulate', given);
      assert.deepEqual([answer.status, errorOf(answer)['reason']], [400, reason], answer.text);
      assert.match(String(errorOf(answer)['message']), message);
    });

  it('a flow that is not the account’s is not found', async () => {
    const flow_id = newId();
    for (const answer of [
      await post(`/flows/${flow_id}/simulate`, {}),
      await post('/activeflows/simulate', { flow_id }),
    ])
      assert.deepEqual([answer.status, errorOf(answer)['reason']], [404, 'FLOW_NOT_FOUND']);
  });

  it('needs credentials', async () => {
    assert.equal((await post('/activeflows/simulate', { actions: [hello] }, { credentials: {} })).status, 401);
  });

  it('what looks wrong in a flow is said before it is stored', async () => {
    const actions = [{ type: 'play', option: { stream_urls: ['http://a'] } }, { type: 'stop' }, hello];
    const codes = async (more: Json): Promise<unknown[]> =>
      ((await post('/flows/validate', { actions, ...more })).body['warnings'] as Json[]).map(({ code }) => code);
    assert.deepEqual(await codes({}), ['media_before_answer', 'after_end']);
    assert.deepEqual(await codes({ direction: 'outgoing' }), ['after_end']);
    assert.equal((await post('/flows/validate', { actions: [{ type: 'nonsense' }] })).status, 400);
  });
});
