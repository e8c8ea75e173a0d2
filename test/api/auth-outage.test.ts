import { strict as assert } from 'node:assert';
import { pino } from 'pino';
import { newId } from '#contract/ids';
import { apiOfTests, reasonOf, type Answer, type ApiRequest } from '../support/api.ts';
import { addAccesskey, addAgent, addCustomer, tokenOf } from '../support/people.ts';

type Json = Record<string, unknown>;

const NOBODY: ApiRequest = { credentials: {} };
const TOKEN = 'ab'.repeat(32);

describe('when accounts cannot be looked at', () => {
  const lines: Json[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line) as Json) });
  const api = apiOfTests({}, log);

  /** While these tables are gone, every look at them fails. */
  const without = async <T>(tables: string[], work: () => Promise<T>): Promise<T> => {
    const rename = (from: string, to: string) =>
      Promise.all(tables.map(table => api.database.db.raw(`alter table ${table}${from} rename to ${table}${to}`)));
    await rename('', '_away');
    try {
      return await work();
    } finally {
      await rename('_away', '');
    }
  };
  const tenant = async (status: string) => {
    const customer = await addCustomer(api, { status });
    return { customer, accesskey: await addAccesskey(api, customer), agent: await addAgent(api, customer, 32) };
  };

  type Row = [method: string, path: string, body: () => unknown, status: number, answer: '' | '{}' | 'INTERNAL'];
  const email = () => `${newId()}@example.com`;
  const ROWS: Row[] = [
    // Closed: nobody logs in of whom nothing is known (section 5, 8.4).
    ['POST', '/auth/login', () => ({ username: api.welcome.username, password: api.welcome.password }), 400, ''],
    // Quiet: the answer never tells what went on (platform-api, Errors).
    ['POST', '/auth/signup', () => ({ email: email(), accepted_tos: true }), 200, '{}'],
    ['POST', '/auth/email-verify-resend', () => ({ email: email() }), 200, '{}'],
    ['POST', '/auth/password-forgot', () => ({ username: email() }), 200, '{}'],
    // Bare: a status and no body.
    ['POST', '/auth/email-verify', () => ({ token: TOKEN }), 500, ''],
    ['GET', `/auth/email-verify?token=${TOKEN}`, () => undefined, 500, ''],
    ['POST', '/auth/password-reset', () => ({ token: TOKEN, password: 'a new password' }), 500, ''],
    ['GET', `/auth/password-reset?token=${TOKEN}`, () => undefined, 500, ''],
    ['POST', '/auth/boot', () => ({ direct_hash: 'direct.0123456789ab' }), 500, ''],
    // What the middleware refuses carries the envelope.
    ['POST', '/auth/unregister', () => ({ confirmation_phrase: 'DELETE' }), 500, 'INTERNAL'],
    ['DELETE', '/auth/unregister', () => undefined, 500, 'INTERNAL'],
    ['POST', '/auth/delegate', () => ({ customer_id: newId(), reason: 'a good reason' }), 500, 'INTERNAL'],
    ['GET', '/v1.0/flows', () => undefined, 500, 'INTERNAL'],
  ];
  const told = (answer: Answer): unknown[] => [answer.status, reasonOf(answer) ?? answer.text];

  it('each operation answers in its own way, and the log says why under the id of the request', async () => {
    const answers = await without(['customers', 'agents', 'directs', 'link_tokens'], () =>
      Promise.all(
        ROWS.map(([method, path, body]) => {
          const open = path.startsWith('/v1.0') || /unregister|delegate/.test(path);
          return api.request(method, path, body(), open ? {} : NOBODY);
        }),
      ),
    );
    const seen = answers.map((answer, at) => [ROWS[at]?.[0], ROWS[at]?.[1], ...told(answer)]);
    assert.deepEqual(
      seen,
      ROWS.map(([method, path, , status, answer]) => [method, path, status, answer]),
    );
    for (const [at, answer] of answers.entries()) {
      const id = answer.headers.get('x-request-id');
      const line = lines.find(each => each['request_id'] === id && each['err']);
      assert.match(JSON.stringify(line?.['err']), /does not exist/, ROWS[at]?.[1]);
    }
  });

  it('unregister answers a bare 400 when the account cannot be closed, which then stays open', async () => {
    const { customer, accesskey } = await tenant('active');
    const body = { confirmation_phrase: 'DELETE' };
    const answer = await without(['mails'], () =>
      api.request('POST', '/auth/unregister', body, { credentials: { accesskey } }),
    );
    assert.deepEqual(told(answer), [400, '']);
    const { status } = await api.database.db('customers').where({ id: customer }).first<{ status: string }>('status');
    assert.equal(status, 'active');
  });

  it('an account without a status passes the versioned API (open), and its agents cannot log in (closed)', async () => {
    const { customer, accesskey, agent } = await tenant('active');
    const token = await tokenOf(api, agent.username, agent.password);
    await api.database.db.transaction(async trx => {
      // Foreign keys hold everywhere else: this is what a look-up that finds nothing looks like.
      await trx.raw('set local session_replication_role = replica');
      await trx('customers').where({ id: customer }).delete();
    });
    for (const credentials of [{ accesskey }, { token }])
      assert.equal((await api.request('GET', '/v1.0/flows', undefined, { credentials })).status, 200);
    const { username, password } = agent;
    assert.deepEqual(told(await api.request('POST', '/auth/login', { username, password }, NOBODY)), [400, '']);
  });
});
