import { strict as assert } from 'node:assert';
import { pino } from 'pino';
import { newId } from '#contract/ids';
import { fromDate, timestamp } from '#contract/time';
import { startApp, type App } from '../../control-api/app.ts';
import { readConfig } from '../../control-api/config.ts';
import { mailTransport, type Mail } from '../../control-api/mail/transport.ts';
import { selfSigned } from '../../engine/sip/self-signed.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { startMailServer, type TestMailServer } from '../support/mail-server.ts';
import { NO_LIMITS } from '../support/no-limits.ts';
import { eventually } from './events-rig.ts';

type Json = Record<string, unknown>;

const DAY_MS = 86_400_000;
/** While a letter is being sent, its next try lies a little further off than any of the first pauses. */
const LEASE_S = 280;

describe('letters by a mail server', function () {
  this.timeout(30_000);
  let server: TestMailServer;
  let api: TestApi;
  /** The control-api that sends: the first, or the one that was started after it. */
  let app: App;
  const lines: Json[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line) as Json) });

  before(async function () {
    this.timeout(60_000);
    server = await startMailServer();
    const settings = { SMTP_URL: `smtp://127.0.0.1:${server.port}`, MAIL_FROM: 'Phones <phones@example.org>' };
    api = await startTestApi(settings, log);
    app = api.app;
  });
  after(async () => {
    if (app !== api.app) await app.stop();
    await api.stop();
    await server.stop();
  });

  let made = 0;
  /** Opens an account, which posts a letter. */
  const signup = async (): Promise<string> => {
    const email = `owner${++made}@example.com`;
    const url = `http://127.0.0.1:${app.port}/auth/signup`;
    const headers = { 'Content-Type': 'application/json' };
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ email, accepted_tos: true }) });
    assert.equal(answer.status, 200);
    return email;
  };
  const rowOf = async (recipient: string): Promise<Json> =>
    (await api.database.db('mails').where({ recipient }).first()) as Json;
  const lettersTo = (recipient: string) => server.received.filter(({ to }) => to.includes(recipient));
  const triesOf = (recipient: string): number => server.tries.filter(each => each === recipient).length;
  const settled = (recipient: string, column: string) =>
    eventually(`${column} of the letter to ${recipient}`, async () => Boolean((await rowOf(recipient))[column]));
  const linesAbout = (row: Json, msg: RegExp) =>
    lines.filter(line => line['mail_id'] === row['id'] && msg.test(String(line['msg'])));
  /** Waits until a try failed, and the next is due after a pause; resolves with its seconds. */
  const paused = async (recipient: string, attempts: number): Promise<number> => {
    let pause_s = Infinity;
    await eventually(`try ${attempts} to ${recipient} is over`, async () => {
      const row = await rowOf(recipient);
      pause_s = (Date.parse(`${String(row['tm_next'])}Z`) - Date.now()) / 1000;
      return row['attempts'] === attempts && pause_s > 0 && pause_s < LEASE_S;
    });
    return pause_s;
  };
  /** Time passes: the letter is due now, and was posted `age_ms` ago. */
  const later = async (recipient: string, age_ms = 0): Promise<void> => {
    const tm_create = fromDate(new Date(Date.now() - age_ms));
    await api.database.db('mails').where({ recipient }).update({ tm_next: timestamp(), tm_create });
    app.context.mail.wake();
  };

  it('are delivered as people and other mail servers expect them', async () => {
    const email = await signup();
    await settled(email, 'tm_sent');
    const [letter, ...more] = lettersTo(email);
    assert.deepEqual([letter?.from, letter?.to, more], ['phones@example.org', [email], []]);
    const row = await rowOf(email);
    for (const header of [
      /^From: Phones <phones@example\.org>$/m,
      /^Subject: Please confirm your e-mail address$/m,
      new RegExp(`^Message-ID: <${String(row['id'])}@example\\.org>$`, 'm'),
      /^Auto-Submitted: auto-generated$/m,
    ])
      assert.match(letter?.text ?? '', header);
    const token = /\/auth\/email-verify\?token=([0-9a-f]{64})/.exec(letter?.text ?? '')?.[1];
    const answer = await api.request('POST', '/auth/email-verify', { token }, { credentials: {} });
    assert.equal(answer.status, 200, 'the link in it works');
    assert.equal(row['body'], '', 'what it said is not kept');
  });

  const TEMPORARY: [code: number, text: string][] = [
    [450, '4.2.1 greylisted, come again'],
    [451, '4.3.0 not now'],
    [421, '4.3.2 shutting down'],
  ];
  for (const [code, text] of TEMPORARY)
    it(`that are answered with ${code} come again after a pause, once`, async () => {
      server.judge = recipient => (triesOf(recipient) < 3 ? { code, text } : undefined);
      const email = await signup();
      const first_s = await paused(email, 1);
      assert.ok(first_s > 25 && first_s <= 30, `${first_s} s`);
      assert.ok(String((await rowOf(email))['error']).includes(text));
      await later(email);
      const second_s = await paused(email, 2);
      assert.ok(second_s > 55 && second_s <= 60, `${second_s} s`);
      await later(email);
      await settled(email, 'tm_sent');
      assert.deepEqual([lettersTo(email).length, triesOf(email)], [1, 3]);
    });

  it('to nobody are given up at once, with a line in the log', async () => {
    server.judge = () => ({ code: 550, text: '5.1.1 no such user here' });
    const email = await signup();
    await settled(email, 'error');
    const row = await rowOf(email);
    assert.deepEqual([row['tm_next'], row['tm_sent'], triesOf(email)], [null, null, 1]);
    const [line] = linesAbout(row, /given up/);
    assert.deepEqual([line?.['level'], line?.['kind']], [50, 'verify']);
  });

  it('are given up after three days, with a line in the log, and not before', async () => {
    server.judge = () => ({ code: 451, text: '4.3.0 never' });
    const email = await signup();
    await paused(email, 1);
    await later(email, 3 * DAY_MS - 60_000);
    await paused(email, 2);
    const row = await rowOf(email);
    assert.deepEqual(linesAbout(row, /given up/), []);
    await later(email, 3 * DAY_MS + 60_000);
    await eventually('the end', async () => (await rowOf(email))['tm_next'] === null);
    assert.deepEqual(
      linesAbout(row, /given up/).map(({ level, attempts }) => [level, attempts]),
      [[50, 3]],
    );
  });

  it('wait for a mail server that is away, over a restart of control-api, and arrive once', async () => {
    const { port } = server;
    await server.stop();
    const email = await signup();
    await paused(email, 1);
    const url = `smtp://127.0.0.1:${port}`;
    await app.stop();
    server = await startMailServer({}, port);
    const stores = { DATABASE_URL: api.database.url, REDIS_URL: api.redisUrl, DATA_DIR: api.dataDir };
    app = await startApp(
      readConfig({ HTTP_PORT: '0', LOG_LEVEL: 'silent', ...NO_LIMITS, ...stores, SMTP_URL: url }),
      log,
    );
    await later(email);
    await settled(email, 'tm_sent');
    assert.equal(lettersTo(email).length, 1);
  });
});

const letter = (): Mail => ({
  id: newId(),
  kind: 'verify',
  recipient: 'someone@example.com',
  subject: 'Hello',
  body: 'Hello,\n\nnothing.\n',
  tm_create: timestamp(),
});

describe('the address of a mail server', () => {
  const USER = 'phones@example.org';
  const PASSWORD = 'sécret/with:all@';
  const LOGIN = `${encodeURIComponent(USER)}:${encodeURIComponent(PASSWORD)}@`;
  const ANY_CERTIFICATE = '?tls.rejectUnauthorized=false';
  /** A server that wants a login, by TLS from the start, by STARTTLS, or in the clear. */
  const KINDS = { tls: { secure: true }, starttls: { disabledCommands: [] }, clear: { allowInsecureAuth: true } };
  const servers = {} as Record<keyof typeof KINDS, TestMailServer>;
  before(async () => {
    for (const kind of ['tls', 'starttls', 'clear'] as const)
      servers[kind] = await startMailServer({
        authOptional: false,
        ...selfSigned(['127.0.0.1']),
        ...KINDS[kind],
        onAuth: ({ username, password }, _session, done) =>
          username === USER && password === PASSWORD ? done(null, { user: USER }) : done(new Error('Invalid')),
      });
  });
  after(() => Promise.all(Object.values(servers).map(server => server.stop())));

  type Row = [name: string, kind: keyof typeof KINDS, url: (port: number) => string, refusal?: RegExp];
  const ROWS: Row[] = [
    ['smtps: with user and password', 'tls', port => `smtps://${LOGIN}127.0.0.1:${port}${ANY_CERTIFICATE}`],
    ['smtp: takes TLS where it is offered', 'starttls', port => `smtp://${LOGIN}127.0.0.1:${port}${ANY_CERTIFICATE}`],
    ['smtp: in the clear where it is not', 'clear', port => `smtp://${LOGIN}127.0.0.1:${port}`],
    ['a wrong password', 'tls', port => `smtps://phones:wrong@127.0.0.1:${port}${ANY_CERTIFICATE}`, /Invalid|login/],
    ['no login', 'tls', port => `smtps://127.0.0.1:${port}${ANY_CERTIFICATE}`, /authentication|530/i],
    ['a certificate nobody vouches for', 'tls', port => `smtps://${LOGIN}127.0.0.1:${port}`, /certificate|self-signed/],
    ['the same by STARTTLS', 'starttls', port => `smtp://${LOGIN}127.0.0.1:${port}`, /certificate|self-signed/],
    [
      'TLS that must be, and is not',
      'clear',
      port => `smtp://${LOGIN}127.0.0.1:${port}?requireTLS=true`,
      /STARTTLS|TLS/,
    ],
  ];
  for (const [name, kind, url, refusal] of ROWS)
    it(`${name}: ${refusal ? 'nothing is sent, and the password stays secret' : 'the letter arrives'}`, async () => {
      const server = servers[kind];
      const settings = { smtp_url: url(server.port), folder: '', from: 'phones@example.org' };
      assert.equal(
        readConfig({ DATABASE_URL: 'postgres://x/y', REDIS_URL: 'redis://x', SMTP_URL: settings.smtp_url }).SMTP_URL,
        settings.smtp_url,
      );
      server.received.length = 0;
      const sent = mailTransport(settings)(letter());
      if (!refusal) {
        await sent;
        assert.deepEqual(
          server.received.map(({ user, secure }) => [user, secure]),
          [[USER, kind !== 'clear']],
        );
        return;
      }
      await assert.rejects(sent, (error: Error) => {
        assert.match(error.message, refusal);
        assert.ok(!JSON.stringify({ ...error, message: error.message, stack: error.stack }).includes('with:all'));
        return true;
      });
      assert.deepEqual(server.received, []);
    });
});
