import { strict as assert } from 'node:assert';
import { createHash } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { startSipServer, type SipServer } from '../../engine/drachtio/server.ts';
import { CarrierRegistrations } from '../../media-app/carrier/registration.ts';
import { Directory } from '../../media-app/directory.ts';
import { parseAuthorization } from '../../media-app/sip/digest.ts';
import { SipServers } from '../../media-app/sip/servers.ts';
import { testDatabase, testRedis, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

const SECRET = 'cymru';
const quiet = pino({ level: 'silent' });
const nobody = () => undefined;

/** One REGISTER that a carrier took, its digest right. */
interface Taken {
  expires: number;
  callId: string;
  cseq: number;
}

/** How a carrier asks and what it grants. */
interface Manner {
  algorithms: string[];
  qop?: boolean;
  granted?: number;
  least?: number;
  /** Calls its first nonce stale when it is answered. */
  stale?: boolean;
}

/** A carrier's registrar. */
class Registrar {
  readonly taken: Taken[] = [];
  readonly refused: string[] = [];
  readonly #socket: Socket;
  readonly #manner: Manner;
  #nonces = 0;

  static async start(manner: Manner): Promise<Registrar> {
    const socket = createSocket('udp4');
    await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve));
    return new Registrar(socket, manner);
  }

  private constructor(socket: Socket, manner: Manner) {
    this.#socket = socket;
    this.#manner = manner;
    socket.on('message', (data, { port }) => this.#hear(data.toString('utf8'), port));
  }

  get hostname(): string {
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  stop(): void {
    this.#socket.close();
  }

  #hear(text: string, port: number): void {
    const value = (name: string): string => new RegExp(`^${name}: *(.*)$`, 'im').exec(text)?.[1]?.trim() ?? '';
    const { granted = 600, least = 0, stale = false } = this.#manner;
    const expires = Number(value('expires'));
    const fields = parseAuthorization(value('authorization'));
    if (!fields) return this.#answer(text, port, '401 Unauthorized', this.#challenges(''));
    if (stale && fields['nonce'] === 'nonce1')
      return this.#answer(text, port, '401 Unauthorized', this.#challenges(', stale=true'));
    const right = this.#expected(fields) === fields['response'];
    if (!right) this.refused.push(text);
    if (!right) return this.#answer(text, port, '403 Forbidden', []);
    if (expires > 0 && expires < least)
      return this.#answer(text, port, '423 Interval Too Brief', [`Min-Expires: ${least}`]);
    this.taken.push({ expires, callId: value('call-id'), cseq: Number.parseInt(value('cseq'), 10) });
    this.#answer(
      text,
      port,
      '200 OK',
      expires ? [`Contact: ${value('contact')};expires=${Math.max(granted, least)}`] : [],
    );
  }

  #challenges(more: string): string[] {
    this.#nonces += 1;
    const { algorithms, qop = true } = this.#manner;
    const asked = `nonce="nonce${this.#nonces}"${qop ? ', qop="auth,auth-int"' : ''}, opaque="o p"${more}`;
    return algorithms.map(algorithm => `WWW-Authenticate: Digest realm="carrier", ${asked}, algorithm=${algorithm}`);
  }

  /** RFC 7616 section 3.4.1, with the algorithm that the carrier likes best of those anybody knows. */
  #expected(fields: Record<string, string>): string {
    const known = this.#manner.algorithms.find(algorithm => algorithm in ALGORITHMS) ?? '';
    assert.equal(fields['algorithm'], known);
    assert.equal(fields['opaque'], 'o p');
    const hash = (text: string) =>
      createHash(ALGORITHMS[known] ?? '')
        .update(text)
        .digest('hex');
    const counted = fields['qop'] ? `${fields['nc']}:${fields['cnonce']}:${fields['qop']}:` : '';
    return hash(`${hash('us:carrier:secret')}:${fields['nonce']}:${counted}${hash(`REGISTER:${fields['uri']}`)}`);
  }

  #answer(request: string, port: number, status: string, lines: string[]): void {
    const copied = request.split('\r\n').filter(line => /^(via|from|to|call-id|cseq):/i.test(line));
    const headers = copied.map(line => (/^to:/i.test(line) ? `${line};tag=c` : line));
    this.#socket.send(
      [`SIP/2.0 ${status}`, ...headers, ...lines, 'Content-Length: 0', '', ''].join('\r\n'),
      port,
      '127.0.0.1',
    );
  }
}

const ALGORITHMS: Record<string, string> = { MD5: 'md5', 'SHA-256': 'sha256', 'SHA-512-256': 'sha512-256' };

/** One media-app, as far as it registers at carriers. */
interface Node {
  registrations: CarrierRegistrations;
  redis: Redis;
  sip: SipServers;
}

describe('we register at carriers', function () {
  this.timeout(20_000);
  let database: TestDatabase;
  let redisUrl: string;
  let engine: SipServer;
  let directory: Directory;
  const nodes: Node[] = [];
  const carriers: Registrar[] = [];

  const start = async (): Promise<Node> => {
    const redis = new Redis(redisUrl);
    const sip = new SipServers([{ host: '127.0.0.1', port: engine.adminPort, secret: SECRET }], quiet);
    await sip.start({ invite: nobody, register: nobody, options: nobody, subscribe: nobody });
    const given = { redis, node: newId(), directory, sip, leaseMs: 1500, log: quiet };
    const registrations = new CarrierRegistrations(given);
    registrations.start();
    const node = { registrations, redis, sip };
    nodes.push(node);
    return node;
  };
  /** A carrier with this manner, and the provider that leads there. */
  const carrier = async (manner: Manner): Promise<Registrar & { id: string }> => {
    const one = await Registrar.start(manner);
    carriers.push(one);
    const id = newId();
    const tech = { tech_prefix: '', tech_postfix: '', tech_headers: '{}', codecs: '', detail: '' };
    const limits = { allowed_ips: '[]', max_calls: 0, max_calls_per_second: 0 };
    const login = { ...tech, ...limits, username: 'us', password: 'secret', register: true, hostname: one.hostname };
    await database.db('providers').insert({ id, type: 'sip', name: 'Carrier', ...login, tm_create: timestamp() });
    return Object.assign(one, { id });
  };
  const takes = (one: Registrar, count: number): Promise<Taken[]> =>
    eventually(
      `${count} registrations`,
      () => one.taken,
      taken => taken.length >= count,
      10_000,
    );

  before(async () => {
    database = await testDatabase();
    redisUrl = (await testRedis()).url;
    engine = await startSipServer({
      host: '127.0.0.1',
      port: 0,
      admin: { host: '127.0.0.1', port: 0, secret: SECRET },
    });
    directory = new Directory(database.url);
  });
  after(async () => {
    for (const { registrations, redis, sip } of nodes) {
      await registrations.stop();
      redis.disconnect();
      sip.stop();
    }
    for (const one of carriers) one.stop();
    await directory.stop();
    await engine.stop();
    await database.drop();
  });

  it('with every kind of challenge, within the time they grant, and take our contact back when the provider goes', async () => {
    const asking: [title: string, manner: Manner][] = [
      ['MD5', { algorithms: ['MD5'] }],
      ['SHA-256 alone', { algorithms: ['SHA-256'] }],
      ['the one they like better of both', { algorithms: ['SHA-256', 'MD5'] }],
      ['the rarest', { algorithms: ['SHA-512-256', 'MD5'] }],
      ['one that nobody knows first', { algorithms: ['SHA3-256', 'MD5'] }],
      ['without quality of protection', { algorithms: ['MD5'], qop: false }],
      ['a nonce that is stale at once', { algorithms: ['MD5'], stale: true }],
    ];
    const asked = await Promise.all(asking.map(([, manner]) => carrier(manner)));
    const brief = await carrier({ algorithms: ['MD5'], least: 900 });
    const short = await carrier({ algorithms: ['MD5'], granted: 2 });
    await start();
    for (const [at, one] of asked.entries()) {
      const [title] = asking[at] ?? [];
      const [taken] = await takes(one, 1);
      assert.equal(taken?.expires, 600, title);
      assert.deepEqual(one.refused, [], title);
    }
    assert.equal((await takes(brief, 1))[0]?.expires, 900, 'as long as it wants');
    const [first, second] = await takes(short, 2);
    assert(first && second);
    assert.equal(first.callId, second.callId, 'a refresh is the same registration');
    assert(second.cseq > first.cseq);
    await database.db('providers').where('id', short.id).update({ tm_delete: timestamp() });
    const all = await eventually(
      'the end of the registration',
      () => short.taken,
      taken => taken.at(-1)?.expires === 0,
    );
    assert.equal(all.at(-1)?.callId, first.callId);
  });

  it('by one node, and another takes over when that one dies', async () => {
    const [holder] = nodes;
    assert(holder);
    const one = await carrier({ algorithms: ['SHA-256'] });
    const [first] = await takes(one, 1);
    await start();
    holder.redis.disconnect(); // dead: it says nothing any more, to Redis nor to carriers
    holder.sip.stop();
    nodes.splice(nodes.indexOf(holder), 1);
    const [, second] = await takes(one, 2);
    assert.notEqual(second?.callId, first?.callId, 'another one registered');
    assert.equal(one.refused.length, 0);
  });
});
