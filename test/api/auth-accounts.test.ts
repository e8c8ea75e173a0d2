import { strict as assert } from 'node:assert';
import { fromDate } from '#contract/time';
import { deleteFrozen, expireUnverified, forgetSpent, startAccountJobs } from '../../control-api/jobs/accounts.ts';
import { reasonOf, apiOfTests, type Answer, type ApiRequest } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { Mailbox } from '../support/mailbox.ts';

const seen = (answer: Answer): unknown[] => [answer.status, answer.text];
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const UNKNOWN = 'a'.repeat(64);

describe('accounts: signup, verification, passwords, closing', () => {
  const api = apiOfTests();
  let mailbox: Mailbox;
  let made = 0;
  before(() => void (mailbox = new Mailbox(api.dataDir)));

  const freshEmail = (): string => `owner${++made}@example.org`;
  const post = (path: string, body: unknown, options: ApiRequest = {}): Promise<Answer> =>
    api.request('POST', path, body, { credentials: {}, ...options });
  const raw = (path: string, text: string): Promise<Answer> => post(path, undefined, { raw: text });
  const signup = (email: string, more: Record<string, unknown> = {}): Promise<Answer> =>
    post('/auth/signup', { email, accepted_tos: true, ...more });
  const form = async (
    path: string,
    fields: Record<string, string>,
  ): Promise<{ status: number; html: string; policy: string }> => {
    const response = await fetch(api.url + path, { method: 'POST', body: new URLSearchParams(fields) });
    return {
      status: response.status,
      html: await response.text(),
      policy: response.headers.get('content-security-policy') ?? '',
    };
  };
  const page = async (path: string) => {
    const response = await fetch(api.url + path);
    return { status: response.status, headers: response.headers, html: await response.text() };
  };
  /** A customer whose address is verified, and its first accesskey. */
  const account = async (): Promise<{ email: string; accesskey: string; id: string }> => {
    const email = freshEmail();
    const { customer, accesskey } = (await signup(email)).body as {
      customer: { id: string };
      accesskey: { token: string };
    };
    const { token } = await mailbox.one(email, /confirm/);
    assert.equal((await post('/auth/email-verify', { token })).status, 200);
    return { email, accesskey: accesskey.token, id: customer.id };
  };
  const statusOf = async (id: string): Promise<string> =>
    (await api.database.db('customers').where({ id }).first<{ status: string }>('status')).status;
  const eventsOf = async (id: string): Promise<string[]> =>
    (
      await api.database
        .db('events')
        .where({ customer_id: id, resource: 'customer' })
        .orderBy('sequence')
        .select<{ event_type: string }[]>('event_type')
    ).map(event => event.event_type);

  describe('signup (8.1)', () => {
    it('opens an account that can be used at once, and sends a letter to confirm the address', async () => {
      const email = freshEmail();
      const answer = await signup(email, {
        name: 'Acme',
        webhook_method: 'POST',
        webhook_uri: 'https://example.org/h',
      });
      const { customer, accesskey } = answer.body as Record<string, Record<string, unknown>>;
      assert.deepEqual(
        [
          customer?.['email'],
          customer?.['status'],
          customer?.['email_verified'],
          customer?.['identity_verification_status'],
        ],
        [email, 'initial', false, 'none'],
      );
      assert.equal('webhook_secret' in (customer ?? {}), false);
      assert.deepEqual([accesskey?.['name'], accesskey?.['detail']], ['default', 'Auto-provisioned API key']);
      const key = String(accesskey?.['token']);
      assert.equal(
        (await api.request('GET', '/v1.0/flows', undefined, { credentials: { accesskey: key } })).status,
        200,
      );
      const agents = await api.request('GET', '/v1.0/agents', undefined, { credentials: { accesskey: key } });
      const [admin] = agents.body['result'] as Record<string, unknown>[];
      assert.deepEqual(
        [
          admin?.['username'],
          admin?.['name'],
          admin?.['permission'],
          admin?.['ring_method'],
          admin?.['status'],
          admin?.['addresses'],
        ],
        [email, 'default admin', 32, 'ringall', 'offline', []],
      );
      const mail = await mailbox.one(email, /confirm/);
      assert.match(mail.link, /^\/auth\/email-verify\?token=[0-9a-f]{64}$/);
      assert.ok(
        mail.text.split('\n').every(line => line.length < 78 || line.includes('http')),
        'letters fit a screen',
      );
      const row = await api.database
        .db('customers')
        .where({ id: customer?.['id'] as string })
        .first<Record<string, string>>();
      assert.deepEqual([row['terms_agreed_ip'], row['terms_agreed_version'] !== ''], ['127.0.0.1', true]);
      const config = await api.database
        .db('outbound_configs')
        .where({ customer_id: customer?.['id'] as string })
        .first<object | undefined>('id');
      assert.ok(config, 'nothing may be called yet');
      assert.deepEqual(await eventsOf(String(customer?.['id'])), ['customer_created']);
    });

    const bare: [string, string][] = [
      ['no email', '{"accepted_tos":true}'],
      ['terms not accepted', '{"email":"x@example.org","accepted_tos":false}'],
      ['terms left out', '{"email":"x@example.org"}'],
      ['no JSON', '{'],
      ['nothing', ''],
      ['an email that is a number', '{"email":5,"accepted_tos":true}'],
    ];
    for (const [name, text] of bare)
      it(`${name} is a bare 400`, async () => assert.deepEqual(seen(await raw('/auth/signup', text)), [400, '']));

    it('an address that is none, a customer’s or an agent’s already gets an empty object, and opens nothing', async () => {
      const taken = freshEmail();
      await signup(taken);
      const count = async () => Number((await api.database.db('customers').count<{ count: number }[]>('id'))[0]?.count);
      const before_ = await count();
      const quiet = ['nonsense', `${'x'.repeat(250)}@example.org`, taken, taken.toUpperCase(), api.welcome.username];
      for (const email of quiet) assert.deepEqual(seen(await signup(email)), [200, '{}'], email);
      assert.equal(await count(), before_);
    });

    it('of two at once with one address, one opens the account', async () => {
      const email = freshEmail();
      const answers = await Promise.all([signup(email), signup(email), signup(email)]);
      assert.deepEqual(answers.map(answer => 'customer' in answer.body).sort(), [false, false, true]);
    });
  });

  describe('email-verify (8.2)', () => {
    it('a link works once: the account is active, and the owner is sent a link to choose a password', async () => {
      const email = freshEmail();
      await signup(email);
      const { token, link } = await mailbox.one(email, /confirm/);
      assert.match((await page(link)).html, /Confirm my e-mail address/);
      const answer = await post('/auth/email-verify', { token });
      const { customer } = answer.body as { customer: Record<string, unknown> };
      assert.deepEqual([customer['status'], customer['email_verified']], ['active', true]);
      assert.deepEqual(await eventsOf(String(customer['id'])), ['customer_created', 'customer_updated']);
      assert.deepEqual(seen(await post('/auth/email-verify', { token })), [400, '']);
      const { token: choose } = await mailbox.one(email, /Welcome/);
      assert.deepEqual(seen(await post('/auth/password-reset', { token: choose, password: 'correct horse' })), [
        200,
        '{}',
      ]);
      assert.equal((await post('/auth/login', { username: email, password: 'correct horse' })).status, 200);
    });

    const wrong: [string, string][] = [
      ['no token', '{}'],
      ['a short token', '{"token":"abc"}'],
      ['a token in capitals', JSON.stringify({ token: 'A'.repeat(64) })],
      ['an unknown token', JSON.stringify({ token: UNKNOWN })],
      ['no JSON', '{'],
    ];
    for (const [name, text] of wrong)
      it(`${name} is a bare 400`, async () => assert.deepEqual(seen(await raw('/auth/email-verify', text)), [400, '']));

    for (const query of ['', '?token=', '?token=abc', `?token=${'A'.repeat(64)}`, '?token=%3Cscript%3E'])
      it(`the page at ${query || 'no token'} is a bare 400`, async () => {
        const answer = await page(`/auth/email-verify${query}`);
        assert.deepEqual([answer.status, answer.html], [400, '']);
      });

    it('a link older than 24 hours is refused, and its page offers a new one', async () => {
      const email = freshEmail();
      const id = String((((await signup(email)).body['customer'] ?? {}) as Record<string, unknown>)['id']);
      const { token, link } = await mailbox.one(email, /confirm/);
      await api.database
        .db('link_tokens')
        .where({ customer_id: id })
        .update({ tm_expire: '2026-01-01 00:00:00.000000' });
      assert.deepEqual(seen(await post('/auth/email-verify', { token })), [400, '']);
      const answer = await page(link);
      assert.equal(answer.status, 200);
      assert.match(answer.html, /action="\/auth\/email-verify-resend"/);
      assert.equal(
        (await page(`/auth/email-verify?token=${UNKNOWN}`)).html,
        answer.html,
        'an unknown one looks the same',
      );
    });

    const states: [status: string, outcome: number][] = [
      ['initial', 200],
      ['expired', 200],
      ['frozen', 400],
      ['deleted', 400],
    ];
    for (const [status, outcome] of states)
      it(`verifying an account that is ${status} answers ${outcome}`, async () => {
        const email = freshEmail();
        const id = String((((await signup(email)).body['customer'] ?? {}) as Record<string, unknown>)['id']);
        const { token } = await mailbox.one(email, /confirm/);
        await api.database.db('customers').where({ id }).update({ status });
        assert.equal((await post('/auth/email-verify', { token })).status, outcome);
        assert.equal(await statusOf(id), outcome === 200 ? 'active' : status);
      });
  });

  describe('email-verify-resend (8.3)', () => {
    const again = (email: string) => mailbox.to(email, /confirm/);
    const posted = async (email: string): Promise<number> =>
      (await api.database.db('mails').where({ recipient: email, kind: 'verify_again' })).length;

    it('sends one letter a minute and five a day, each good, to an account that is not verified', async () => {
      const email = freshEmail();
      await signup(email);
      for (let n = 0; n < 7; n++) {
        assert.deepEqual(seen(await post('/auth/email-verify-resend', { email })), [200, '{}']);
        assert.equal(await posted(email), Math.min(n + 1, 5));
        await post('/auth/email-verify-resend', { email });
        assert.equal(await posted(email), Math.min(n + 1, 5), 'not twice a minute');
        await api.database.db.raw(
          "update mails set tm_create = tm_create - interval '61 seconds' where recipient = ?",
          [email],
        );
      }
      await mailbox.one(email, /confirm/);
      const [oldest] = await again(email);
      assert.equal((await post('/auth/email-verify', { token: oldest?.token })).status, 200, 'old tokens stay good');
    });

    for (const text of ['', '{', '{}', '{"email":5}', '{"email":"nobody@example.org"}', '[]'])
      it(`answers ${JSON.stringify(text)} with an empty object`, async () =>
        assert.deepEqual(seen(await raw('/auth/email-verify-resend', text)), [200, '{}']));

    it('sends nothing to an account that is verified', async () => {
      const { email } = await account();
      await post('/auth/email-verify-resend', { email });
      assert.equal(await posted(email), 0);
    });
  });

  describe('passwords (8.6, 8.7)', () => {
    for (const text of ['', '{', '{}', '{"username":5}', '{"username":"nobody@example.org"}'])
      it(`password-forgot answers ${JSON.stringify(text)} with an empty object`, async () =>
        assert.deepEqual(seen(await raw('/auth/password-forgot', text)), [200, '{}']));

    it('a forgotten password is chosen anew through a form without scripts, once', async () => {
      const { email } = await account();
      await post('/auth/password-forgot', { username: email.toUpperCase() });
      const { link, token } = await mailbox.one(email, /new password/);
      for (let n = 0; n < 2; n++) assert.match((await page(link)).html, /name="password"/, 'looking uses nothing up');
      const short = await form('/auth/password-reset', { token, password: '1234567' });
      assert.deepEqual([short.status, /was not set/.test(short.html)], [400, true]);
      const done = await form('/auth/password-reset', { token, password: 'twelve chars' });
      assert.deepEqual([done.status, /Your password is set/.test(done.html)], [200, true]);
      assert.equal((await post('/auth/login', { username: email, password: 'twelve chars' })).status, 200);
      assert.deepEqual(seen(await post('/auth/password-reset', { token, password: 'another one' })), [400, '']);
      assert.match((await page(link)).html, /action="\/auth\/password-forgot"/);
    });

    const wrong: [string, unknown][] = [
      ['an unknown token', { token: UNKNOWN, password: 'long enough' }],
      ['a malformed token', { token: 'abc', password: 'long enough' }],
      ['no password', { token: UNKNOWN }],
      ['a password of 73 bytes', { token: UNKNOWN, password: 'x'.repeat(73) }],
    ];
    for (const [name, body] of wrong)
      it(`${name} is a bare 400`, async () =>
        assert.deepEqual(seen(await post('/auth/password-reset', body)), [400, '']));

    it('nobody fills a mailbox: five letters an hour', async () => {
      const { email } = await account();
      for (let n = 0; n < 7; n++) await post('/auth/password-forgot', { username: email });
      assert.equal((await api.database.db('mails').where({ recipient: email, kind: 'password' })).length, 5);
    });
  });

  describe('pages', () => {
    it('are whole, labelled, without scripts, and may neither be framed nor load anything', async () => {
      const { email } = await account();
      await post('/auth/password-forgot', { username: email });
      const { link } = await mailbox.one(email, /new password/);
      for (const path of [link, `/auth/email-verify?token=${UNKNOWN}`, `/auth/password-reset?token=${UNKNOWN}`]) {
        const { headers, html } = await page(path);
        assert.match(headers.get('content-type') ?? '', /^text\/html; charset=utf-8/);
        assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'.*frame-ancestors 'none'/);
        assert.deepEqual([headers.get('cache-control'), headers.get('referrer-policy')], ['no-store', 'no-referrer']);
        assert.match(html, /^<!doctype html>\n<html lang="en">[\s\S]*<title>[^<]+<\/title>[\s\S]*<h1>/);
        assert.doesNotMatch(html, /<script|\son\w+=|(src|href)=|style=/);
        for (const [, id] of html.matchAll(/<input id="(\w+)"/g)) assert.match(html, new RegExp(`<label for="${id}">`));
      }
    });

    it('a browser that confirms or asks again without scripts sees what became of it', async () => {
      const email = freshEmail();
      await signup(email);
      const { token } = await mailbox.one(email, /confirm/);
      assert.match((await form('/auth/email-verify-resend', { email })).html, /Look into your mailbox/);
      assert.match((await form('/auth/email-verify', { token })).html, /is confirmed/);
      const again = await form('/auth/email-verify', { token });
      assert.deepEqual([again.status, /no longer good/.test(again.html)], [400, true]);
    });
  });

  describe('unregister (8.9)', () => {
    const close = (accesskey: string, body: unknown): Promise<Answer> =>
      post('/auth/unregister', body, { credentials: { accesskey } });
    const recover = (accesskey: string): Promise<Answer> =>
      api.request('DELETE', '/auth/unregister', undefined, { credentials: { accesskey } });
    const phrase = { confirmation_phrase: 'DELETE' };

    it('freezes the account for 30 days, says so in a letter, and lets its owner come back', async () => {
      const { accesskey, id, email } = await account();
      const frozen = await close(accesskey, phrase);
      const scheduled = frozen.body['tm_deletion_scheduled'];
      assert.deepEqual([frozen.status, frozen.body['status'], typeof scheduled], [200, 'frozen', 'string']);
      const refused = await api.request('GET', '/v1.0/flows', undefined, { credentials: { accesskey } });
      assert.deepEqual([refused.status, reasonOf(refused)], [403, 'ACCOUNT_FROZEN']);
      assert.equal((await close(accesskey, phrase)).body['tm_deletion_scheduled'], scheduled, 'the schedule stays');
      assert.match((await mailbox.one(email, /closed/)).text, /DELETE \/auth\/unregister/);
      const back = await recover(accesskey);
      assert.deepEqual([back.body['status'], back.body['tm_deletion_scheduled']], ['active', null]);
      assert.deepEqual(seen(await recover(accesskey)), [400, '']);
      assert.deepEqual((await eventsOf(id)).slice(-2), ['customer_frozen', 'customer_recovered']);
    });

    const wrong: [string, unknown][] = [
      ['neither field', {}],
      ['both fields', { password: 'x', ...phrase }],
      ['another phrase', { confirmation_phrase: 'delete' }],
      ['a password, from an accesskey', { password: 'x' }],
      ['immediate that is text', { ...phrase, immediate: 'yes' }],
    ];
    let victim = '';
    for (const [name, body] of wrong)
      it(`${name} is a bare 400`, async () => {
        victim ||= (await account()).accesskey;
        assert.deepEqual(seen(await close(victim, body)), [400, '']);
      });

    it('an agent confirms with its own password; who is no admin gets a bare 403, who is nobody an envelope', async () => {
      const { email, id } = await account();
      const { token: choose } = await mailbox.one(email, /Welcome/);
      await post('/auth/password-reset', { token: choose, password: 'correct horse' });
      const token = String((await post('/auth/login', { username: email, password: 'correct horse' })).body['token']);
      const ask = (body: unknown) => post('/auth/unregister', body, { credentials: { token } });
      assert.deepEqual(seen(await ask({ password: 'wrong' })), [400, '']);
      await api.database.db('agents').where({ customer_id: id }).update({ permission: 64 });
      assert.deepEqual(seen(await ask({ password: 'correct horse' })), [403, '']);
      await api.database.db('agents').where({ customer_id: id }).update({ permission: 32 });
      assert.equal((await ask({ password: 'correct horse' })).status, 200);
      const nobody = await post('/auth/unregister', phrase);
      assert.deepEqual([nobody.status, reasonOf(nobody)], [401, 'AUTHENTICATION_REQUIRED']);
    });

    it('at once: everything goes, the owner is forgotten, the address is free again', async () => {
      const { accesskey, id, email } = await account();
      const own = { credentials: { accesskey } };
      await api.request('POST', '/v1.0/flows', { name: 'f', actions: [] }, own);
      await api.request('POST', '/v1.0/extensions', { extension: '5001', password: 'secret' }, own);
      const gone = await close(accesskey, { ...phrase, immediate: true });
      assert.deepEqual(
        [gone.body['status'], gone.body['name'], gone.body['email']],
        ['deleted', `deleted_user_${id.slice(0, 8)}`, `deleted_${id.slice(0, 8)}@removed.trunkline.localhost`],
      );
      assert.equal(reasonOf(await api.request('GET', '/v1.0/flows', undefined, own)), 'INVALID_CREDENTIALS');
      const { db } = api.database;
      for (const table of ['agents', 'accesskeys', 'flows', 'extensions'])
        assert.equal(await db(table).where({ customer_id: id }).whereNull('tm_delete').first('id'), undefined, table);
      assert.equal(await db('directs').where({ customer_id: id }).first('id'), undefined);
      assert.deepEqual((await eventsOf(id)).slice(-1), ['customer_deleted']);
      await mailbox.one(email, /is deleted/);
      assert.ok('customer' in (await signup(email)).body);
    });

    it('an account that was never verified is initial again when it comes back', async () => {
      const { customer, accesskey } = (await signup(freshEmail())).body as Record<string, Record<string, unknown>>;
      await close(String(accesskey?.['token']), phrase);
      await recover(String(accesskey?.['token']));
      assert.equal(await statusOf(String(customer?.['id'])), 'initial');
    });
  });

  describe('jobs (31)', () => {
    /** What the jobs reach: the database of the running API, and nothing that is up. */
    const later = (milliseconds: number): Date => new Date(Date.now() + milliseconds);

    it('an account that nobody verified for 72 hours expires, and comes back through resend and verify', async () => {
      const email = freshEmail();
      const id = String((((await signup(email)).body['customer'] ?? {}) as Record<string, unknown>)['id']);
      await expireUnverified(api.app.context, later(71 * HOUR_MS));
      assert.equal(await statusOf(id), 'initial');
      await expireUnverified(api.app.context, later(73 * HOUR_MS));
      assert.equal(await statusOf(id), 'expired');
      await post('/auth/email-verify-resend', { email });
      const { token } = await mailbox.one(email, /confirm/);
      assert.equal((await post('/auth/email-verify', { token })).status, 200);
      assert.equal(await statusOf(id), 'active');
    });

    it('an account that was frozen for 30 days is deleted', async () => {
      const { accesskey, id } = await account();
      await post('/auth/unregister', { confirmation_phrase: 'DELETE' }, { credentials: { accesskey } });
      await deleteFrozen(api.app.context, later(30 * DAY_MS - HOUR_MS));
      assert.equal(await statusOf(id), 'frozen');
      await deleteFrozen(api.app.context, later(30 * DAY_MS + HOUR_MS));
      assert.equal(await statusOf(id), 'deleted');
    });

    it('a control-api that starts deletes what it missed at 04:00 UTC, and leaves the rest to the next night', async () => {
      const night = new Date();
      night.setUTCHours(4, 0, 0, 0);
      if (night > new Date()) night.setUTCDate(night.getUTCDate() - 1);
      const frozen = async (from: number): Promise<string> => {
        const { id } = await account();
        const tm_deletion_scheduled = fromDate(new Date(night.getTime() - 30 * DAY_MS + from));
        await api.database.db('customers').where({ id }).update({ status: 'frozen', tm_deletion_scheduled });
        return id;
      };
      const [missed, next] = [await frozen(-1000), await frozen(1000)];
      const jobs = startAccountJobs(api.app.context);
      await eventually(
        'what was missed is made up for',
        () => statusOf(missed),
        status => status === 'deleted',
      );
      jobs.stop();
      assert.equal(await statusOf(next), 'frozen');
    });

    it('an account that cannot be deleted holds up no other', async () => {
      const { db } = api.database;
      const [stuck, other] = [await account(), await account()];
      const ids = [stuck.id, other.id];
      await db('customers').whereIn('id', ids).update({ status: 'frozen', tm_deletion_scheduled: '2020-01-01' });
      await db.raw(`create function refuse() returns trigger language plpgsql as $$ begin raise 'no'; end $$;
        create trigger refuse before update on customers for each row when (old.id = '${stuck.id}') execute function refuse()`);
      await deleteFrozen(api.app.context);
      await db.raw('drop function refuse cascade');
      assert.deepEqual([await statusOf(stuck.id), await statusOf(other.id)], ['frozen', 'deleted']);
      await deleteFrozen(api.app.context);
      assert.equal(await statusOf(stuck.id), 'deleted', 'the next night tries again');
    });

    it('links are forgotten a week after they expired; what was sent holds no link any more', async () => {
      const { id, email } = await account();
      await mailbox.one(email, /Welcome/);
      const links = () => api.database.db('link_tokens').where({ customer_id: id });
      await forgetSpent(api.app.context, later(2 * DAY_MS));
      assert.equal((await links()).length, 2);
      await forgetSpent(api.app.context, later(9 * DAY_MS));
      assert.equal((await links()).length, 0);
      const sent = await api.database
        .db('mails')
        .whereNotNull('tm_sent')
        .whereNot('body', '')
        .first<{ id: string } | undefined>('id');
      assert.equal(sent, undefined);
    });
  });
});
