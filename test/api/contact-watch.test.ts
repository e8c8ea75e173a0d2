import { strict as assert } from 'node:assert';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import type { Notice } from '#contract/events';
import { newId } from '#contract/ids';
import { keys } from '#contract/keys';
import type { Contact } from '#contract/registration';
import { startSipServer, type SipServer } from '../../engine/drachtio/server.ts';
import { ContactWatch } from '../../media-app/sip/contact-watch.ts';
import { Contacts } from '../../media-app/sip/contacts.ts';
import { SipServers } from '../../media-app/sip/servers.ts';
import { testRedis } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { TestPhone } from '../support/phone.ts';

const EVERY_MS = 700;
const SECRET = 'cymru';
const quiet = pino({ level: 'silent' });

describe('registered phones are asked whether they are there', function () {
  this.timeout(20_000);
  let redis: Redis;
  let engine: SipServer;
  let sip: SipServers;
  let contacts: Contacts;
  let watch: ContactWatch;
  const phones: TestPhone[] = [];

  const nobody = () => undefined;
  const phone = async (options: { transport?: 'tcp' } = {}): Promise<TestPhone> => {
    const server = { host: '127.0.0.1', port: engine.port };
    const one = await TestPhone.start({ username: '1001', password: 'x', domain: '127.0.0.1', server, ...options });
    phones.push(one);
    return one;
  };
  const contactAt = (port: number, changes: Partial<Contact> = {}): Contact => ({
    customer_id: newId(),
    uri: `sip:1001@127.0.0.1:${port}`,
    path: [],
    source: { address: '127.0.0.1', port, transport: 'udp' },
    sip_server: sip.list[0]?.address ?? '',
    user_agent: 'test',
    call_id: newId(),
    cseq: 1,
    registered_at: Date.now(),
    expires_at: Date.now() + 60_000,
    ...changes,
  });
  /** Events of an extension's phones so far, in order. */
  const told = async (extensionId: string): Promise<Notice[]> => {
    const entries = await redis.xrange(keys.stream, '-', '+');
    return entries
      .map(([, fields]) => JSON.parse(fields[1] ?? '') as Notice)
      .filter(({ resource_id }) => resource_id === extensionId);
  };
  const reasons = async (extensionId: string): Promise<unknown[]> =>
    (await told(extensionId)).map(({ event_type, data }) => data['reason'] ?? event_type);
  const gone = (extensionId: string, reason: string): Promise<unknown> =>
    eventually(
      `a phone that is ${reason}`,
      () => reasons(extensionId),
      found => found.at(-1) === reason,
    );
  const seen = async (extensionId: string): Promise<number> =>
    Number(await redis.hget(keys.extensionsSeen, extensionId));

  before(async () => {
    redis = new Redis((await testRedis()).url);
    engine = await startSipServer({
      host: '127.0.0.1',
      port: 0,
      admin: { host: '127.0.0.1', port: 0, secret: SECRET },
    });
    sip = new SipServers([{ host: '127.0.0.1', port: engine.adminPort, secret: SECRET }], quiet);
    await sip.start({ invite: nobody, register: nobody, options: nobody, subscribe: nobody });
    contacts = new Contacts(redis, EVERY_MS, quiet);
    watch = new ContactWatch({ redis, contacts, sip, everyMs: EVERY_MS, serverGoneMs: 1000, log: quiet });
    watch.start();
  });
  after(async () => {
    watch.stop();
    for (const one of phones) await one.stop();
    sip.stop();
    await engine.stop();
    redis.disconnect();
  });

  it('one that answers stays, and was seen when it answered', async () => {
    const id = newId();
    const one = await phone();
    await contacts.save(id, contactAt(one.local.port));
    const registered = await seen(id);
    await one.message('OPTIONS', { direction: 'received' });
    await eventually(
      'a later sight',
      () => seen(id),
      at => at > registered,
    );
    assert.equal((await contacts.list(id)).length, 1);
    assert.deepEqual(await reasons(id), ['extension_registered']);
  });

  it('one that says nothing is not registered any more, and the other of its extension stays', async () => {
    const id = newId();
    const [silent, lively] = [await phone(), await phone()];
    silent.vanish();
    await contacts.save(id, contactAt(silent.local.port));
    await contacts.save(id, contactAt(lively.local.port));
    await gone(id, 'unreachable');
    assert.deepEqual(
      (await contacts.list(id)).map(({ uri }) => uri),
      [`sip:1001@127.0.0.1:${lively.local.port}`],
    );
    const last = (await told(id)).at(-1);
    assert.equal(last?.event_type, 'extension_unregistered');
    assert.equal(last?.data['registered'], true);
  });

  it('one that came back while it was being asked stays', async () => {
    const id = newId();
    const contact = contactAt(9);
    await contacts.save(id, contact);
    await contacts.save(id, { ...contact, cseq: 2 });
    assert.equal(await contacts.remove(id, contact, 'unreachable'), false);
    assert.equal((await contacts.list(id)).length, 1);
    await contacts.clear(id);
  });

  it('one over a connection that broke unheard cannot be asked, and goes', async () => {
    const id = newId();
    const source = { address: '127.0.0.1', port: 9, transport: 'tcp' };
    await contacts.save(id, contactAt(9, { source }));
    await gone(id, 'unreachable');
  });

  it('when a SIP server is gone everywhere, its connections are too, and phones on UDP are asked through another', async () => {
    const [dead, wired, loose] = ['192.0.2.1:9022', newId(), newId()];
    const one = await phone();
    const source = { address: '127.0.0.1', port: 9, transport: 'tls' };
    await contacts.save(wired, contactAt(9, { sip_server: dead, source }));
    await contacts.save(loose, contactAt(one.local.port, { sip_server: dead }));
    await gone(wired, 'connection_lost');
    await one.message('OPTIONS', { direction: 'received' });
    const [inherited] = await contacts.list(loose);
    assert.equal(inherited?.sip_server, sip.list[0]?.address);
    assert.deepEqual(await reasons(loose), ['extension_registered']);
    await eventually(
      'a list without the dead server',
      () => redis.sismember(keys.contactServers, dead),
      member => member === 0,
    );
  });

  it('thousands are not asked at one moment', async () => {
    const now = Date.now();
    const ids = Array.from({ length: 500 }, newId);
    const aside = 'another:1';
    await Promise.all(ids.map(id => contacts.save(id, contactAt(9, { sip_server: aside }))));
    const scores = await redis.zrange(keys.contactChecks(aside), '0', '-1', 'WITHSCORES');
    const due = scores.filter((_, at) => at % 2 === 1).map(score => Number(score) - now);
    assert.equal(due.length, 500);
    assert(Math.max(...due) - Math.min(...due) > EVERY_MS / 3, 'they are spread');
    assert(Math.min(...due) >= EVERY_MS * 0.7, 'none at once');
  });

  it('whichever of several changes of an extension comes first, none is lost and each is told once', async () => {
    const id = newId();
    await Promise.all([1, 2, 3, 4, 5, 6].map(port => contacts.save(id, contactAt(port, { sip_server: 'none:1' }))));
    const events = (await told(id)).map(({ event_type }) => event_type);
    assert.equal(events.filter(type => type === 'extension_registered').length, 6);
    assert.equal(events.filter(type => type === 'extension_unregistered').length, 3);
    assert.equal((await contacts.list(id)).length, 3);
    await contacts.clear(id);
    assert.deepEqual(await redis.hgetall(keys.contacts(id)), {});
    assert.equal(await seen(id), 0);
    assert.deepEqual((await reasons(id)).slice(-3), Array(3).fill('extension_deleted'));
  });
});
