import { strict as assert } from 'node:assert';
import { createRequire } from 'node:module';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { PNG } from 'pngjs';
import { SaxesParser } from 'saxes';
import { newId } from '#contract/ids';
import { lpconfig } from '../../control-api/provisioning/formats/lpconfig.ts';
import { findLine } from '../../control-api/provisioning/line.ts';
import { LIFETIME_MS, ProvisioningTokens } from '../../control-api/provisioning/tokens.ts';
import { startTestApi, type Answer, type ApiRequest, type TestApi } from '../support/api.ts';
import { testRedis } from '../support/database.ts';
import { addAgent, tokenOf } from '../support/people.ts';

type Seen = { data: string } | null;
// CommonJS whose types say that it has a default export.
const jsQr = createRequire(import.meta.url)('jsqr') as (data: Uint8ClampedArray, width: number, height: number) => Seen;

interface Tag {
  name: string;
  attributes: Record<string, string>;
  text: string;
}

/** Every element of a document, in order, with its own text. A document that is not well formed throws. */
const readXml = (xml: string): Tag[] => {
  const tags: Tag[] = [];
  const open: Tag[] = [];
  const parser = new SaxesParser();
  parser.on('error', error => {
    throw error;
  });
  parser.on('opentag', ({ name, attributes }) => {
    const tag = { name, attributes: attributes as Record<string, string>, text: '' };
    tags.push(tag);
    open.push(tag);
  });
  parser.on('text', text => {
    const tag = open.at(-1);
    if (tag) tag.text += text;
  });
  parser.on('closetag', () => void open.pop());
  parser.write(xml).close();
  return tags;
};

const byName = (tags: Tag[]): Record<string, string> => Object.fromEntries(tags.map(({ name, text }) => [name, text]));

/** The sections of a lpconfig document. */
const readLpconfig = (xml: string): Record<string, Record<string, string>> => {
  const sections: Record<string, Record<string, string>> = {};
  let entries: Record<string, string> = {};
  for (const { name, attributes, text } of readXml(xml)) {
    if (name === 'section') entries = sections[attributes['name'] ?? ''] = {};
    if (name !== 'entry') continue;
    assert.equal(attributes['overwrite'], 'true');
    entries[attributes['name'] ?? ''] = text;
  }
  return sections;
};

/** `name = value` to the end of each line; a name that comes twice is a mistake. */
const readSettings = (text: string): Record<string, string> => {
  const [first, ...lines] = text.split('\n');
  assert.equal(first, '#!version:1.0.0.1');
  const pairs = lines.filter(Boolean).map(line => {
    const at = line.indexOf(' = ');
    assert.ok(at > 0, `not a setting: ${line}`);
    return [line.slice(0, at), line.slice(at + 3)] as const;
  });
  assert.equal(new Set(pairs.map(([name]) => name)).size, pairs.length);
  return Object.fromEntries(pairs);
};

const readQr = (file: Buffer): string | undefined => {
  const { data, width, height } = PNG.sync.read(file);
  return jsQr(new Uint8ClampedArray(data), width, height)?.data;
};

/** Draws the one path of dark modules of a QR code in SVG, four pixels a module. */
const paintSvg = (svg: string): Buffer => {
  const modules = Number(/viewBox="0 0 (\d+) /.exec(svg)?.[1]);
  const png = new PNG({ width: modules * 4, height: modules * 4 });
  png.data.fill(255);
  let [x, y] = [0, 0];
  const path = /stroke="#000000" d="([^"]+)"/.exec(svg)?.[1] ?? '';
  for (const [, letter, a = '0', b = '0'] of path.matchAll(/([Mmh])(-?[\d.]+)(?:[ ,]?(-?[\d.]+))?/g)) {
    if (letter === 'M') [x, y] = [Number(a), Math.floor(Number(b))];
    else if (letter === 'm') [x, y] = [x + Number(a), Math.floor(y + Number(b))];
    else {
      for (let row = y * 4; row < y * 4 + 4; row++)
        for (let column = x * 4; column < (x + Number(a)) * 4; column++)
          png.data.fill(0, (row * png.width + column) * 4, (row * png.width + column) * 4 + 3);
      x += Number(a);
    }
  }
  return PNG.sync.write(png);
};

const HOSTILE = {
  name: '"Ann" <b>&\'\\</entry>\r\naccount.1.password = owned ]]>',
  password: `p"'&<>]]>\\ = #;%{x}é`,
};
/** The same name in one line, as phones show it. */
const SHOWN = HOSTILE.name.replace('\r\n', '  ');

const BROWSER = { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0', Accept: 'text/html,*/*;q=0.8' };

describe('provisioning: a phone sets itself up', () => {
  let api: TestApi;
  const log: string[] = [];
  before(async function () {
    this.timeout(60_000);
    api = await startTestApi(
      { PHONE_SERVER: 'phone.example.org:5070', PHONE_TRANSPORT: 'tcp', TRUST_PROXY: '127.0.0.1', RATE_AUTH: '0.01/8' },
      pino({ level: 'debug' }, { write: line => void log.push(line) }),
    );
  });
  after(() => api.stop());

  let made = 0;
  const newExtension = async (body: Record<string, unknown> = {}): Promise<Record<string, string>> => {
    const answer = await api.request('POST', '/v1.0/extensions', {
      extension: `desk${++made}`,
      password: 'secret',
      ...body,
    });
    assert.equal(answer.status, 200, answer.text);
    return answer.body as Record<string, string>;
  };
  const issue = (id: string, options: ApiRequest = {}): Promise<Answer> =>
    api.request('POST', `/v1.0/extensions/${id}/provisioning-token`, undefined, options);
  const urlFor = async (id: string): Promise<string> => String((await issue(id)).body['url']);
  let visitors = 0;
  /** What a phone at an address of its own gets. */
  const get = async (url: string, headers: Record<string, string> = {}, method = 'GET') => {
    const address = `198.51.100.${++visitors}`;
    const response = await fetch(url, { method, headers: { 'X-Forwarded-For': address, ...headers } });
    const file = Buffer.from(await response.arrayBuffer());
    return { status: response.status, headers: response.headers, file, text: file.toString() };
  };

  describe('the token', () => {
    it('is 64 hex digits, with the whole address to fetch and the moment it ends, ten minutes on', async () => {
      const { id = '' } = await newExtension();
      const from = Date.now();
      const { status, body } = await issue(id);
      assert.equal(status, 200);
      assert.match(String(body['token']), /^[0-9a-f]{64}$/);
      assert.equal(body['url'], `${api.url}/provisioning/${String(body['token'])}`);
      const left = Date.parse(String(body['expire'])) - from;
      assert.ok(left >= 599_000 && left <= 630_000, `${left} ms`);
    });

    it('may be used again, and a newer one does not end it', async () => {
      const { id = '' } = await newExtension();
      const [older, newer] = [await urlFor(id), await urlFor(id)];
      assert.notEqual(older, newer);
      for (const url of [older, older, newer]) assert.equal((await get(url)).status, 200);
    });

    it('is good for ten minutes on the clock, not a moment longer, and Redis forgets it then', async () => {
      const redis = new Redis((await testRedis()).url);
      let now = Date.now();
      const tokens = new ProvisioningTokens(redis, () => now);
      const { token } = await tokens.issue('some extension');
      now += LIFETIME_MS - 1;
      assert.equal((await tokens.holder(token))?.extension_id, 'some extension');
      now += 1;
      assert.equal(await tokens.holder(token), undefined);
      const kept = await redis.keys('*');
      assert.equal(kept.length, 1);
      const left = await redis.pttl(kept[0] ?? '');
      assert.ok(left > 0 && left <= LIFETIME_MS, `${left} ms`);
      redis.disconnect();
    });

    it('is kept nowhere: Redis holds its hash, and no line of the log holds it', async () => {
      const { id = '' } = await newExtension();
      const { token, url } = (await issue(id)).body as Record<string, string>;
      await get(String(url));
      await get(`${url}/001565aabbcc.cfg`);
      const redis = new Redis(api.redisUrl);
      const all = await redis.keys('*');
      const values = await Promise.all(all.filter(key => key.startsWith('tl:prov')).map(key => redis.get(key)));
      redis.disconnect();
      assert.ok(values.length > 0);
      assert.ok(!JSON.stringify([all, values]).includes(String(token)));
      const lines = log.filter(line => line.includes('/provisioning/'));
      assert.ok(lines.length >= 2);
      assert.ok(!log.some(line => line.includes(String(token))));
    });

    it('is given for no unknown extension, to no stranger and to no plain agent', async () => {
      const { id = '', customer_id = '' } = await newExtension();
      const reason = (answer: Answer): unknown =>
        [answer.status, (answer.body['error'] as Record<string, unknown>)['reason']].join(' ');
      assert.equal(reason(await issue(newId())), '404 EXTENSION_NOT_FOUND');
      assert.equal(reason(await issue(id, { credentials: {} })), '401 AUTHENTICATION_REQUIRED');
      const plain = await addAgent(api, customer_id, 16);
      const token = await tokenOf(api, plain.username, plain.password);
      assert.equal(reason(await issue(id, { credentials: { token } })), '403 PERMISSION_DENIED');
    });
  });

  describe('who gets nothing', () => {
    const bare = async (url: string, headers?: Record<string, string>): Promise<void> => {
      const { status, text } = await get(url, headers);
      assert.deepEqual([status, text], [400, '']);
    };

    it('an unknown or malformed token, and a format that nobody knows, is a bare 400', async () => {
      const { id = '' } = await newExtension();
      for (const token of ['0'.repeat(64), 'x', 'A'.repeat(64), 'f'.repeat(4000), '%00'])
        await bare(`${api.url}/provisioning/${token}`);
      await bare(`${await urlFor(id)}?format=doc`);
    });

    it('the phone of a deleted extension', async () => {
      const { id = '' } = await newExtension();
      const url = await urlFor(id);
      await api.request('DELETE', `/v1.0/extensions/${id}`);
      await bare(url);
      await bare(`${url}/qr.png`);
    });

    for (const status of ['initial', 'frozen', 'expired', 'deleted'])
      it(`the phone of a customer who is ${status}`, async () => {
        const { id = '', customer_id = '' } = await newExtension();
        const url = await urlFor(id);
        const customers = api.database.db('customers').where({ id: customer_id });
        await customers.clone().update({ status });
        try {
          await bare(url);
        } finally {
          await customers.clone().update({ status: 'active' });
        }
        assert.equal((await get(url)).status, 200);
      });

    it('methods other than GET and HEAD find nothing; HEAD tells the same without the file', async () => {
      const { id = '' } = await newExtension();
      const url = await urlFor(id);
      for (const method of ['POST', 'PUT', 'DELETE']) assert.equal((await get(url, {}, method)).status, 404, method);
      const head = await get(url, {}, 'HEAD');
      assert.deepEqual([head.status, head.text], [200, '']);
      assert.equal(head.headers.get('content-type'), 'application/xml; charset=utf-8');
    });

    it('an address that asks too fast shares the limit of /auth', async () => {
      const url = `${api.url}/provisioning/${'0'.repeat(64)}`;
      const headers = { 'X-Forwarded-For': '203.0.113.9' };
      const statuses: number[] = [];
      for (let n = 0; n < 9; n++) statuses.push((await get(url, headers)).status);
      assert.deepEqual(statuses, [...Array<number>(8).fill(400), 429]);
      assert.equal((await get(`${api.url}/auth/nothing`, headers)).status, 429);
    });
  });

  it('a softphone gets all of lpconfig, and nobody may keep it', async () => {
    const { id = '', username = '', domain_name = '' } = await newExtension({ name: 'Ann' });
    const { status, headers, text } = await get(await urlFor(id));
    assert.deepEqual(
      [status, headers.get('content-type'), headers.get('cache-control')],
      [200, 'application/xml; charset=utf-8', 'no-store'],
    );
    assert.deepEqual({ ...readXml(text)[0]?.attributes }, { xmlns: 'http://www.linphone.org/xsds/lpconfig.xsd' });
    assert.deepEqual(readLpconfig(text), {
      sip: { default_proxy: '0', register_only_when_network_is_up: '1' },
      auth_info_0: {
        ...{ username, userid: username, passwd: 'secret', realm: domain_name, domain: domain_name, algorithm: 'MD5' },
      },
      proxy_0: {
        reg_proxy: '<sip:phone.example.org:5070;transport=tcp>',
        reg_route: '<sip:phone.example.org:5070;transport=tcp>',
        reg_identity: `"Ann" <sip:${username}@${domain_name}>`,
        reg_expires: '3600',
        reg_sendregister: '1',
        realm: domain_name,
        publish: '0',
      },
    });
  });

  it('without a server of its own an installation sends phones to the domain over TLS', async () => {
    const { id = '', domain_name } = await newExtension();
    const line = await findLine(api.database.db, id, { server: '', transport: 'tls' });
    assert.deepEqual(line?.server, { host: domain_name, port: 5061, outbound: false });
    const { proxy_0 } = readLpconfig(line ? lpconfig.write(line) : '');
    const uri = `<sip:${domain_name};transport=tls>`;
    assert.deepEqual([proxy_0?.['reg_proxy'], proxy_0?.['reg_route']], [uri, uri]);
    const v6 = await findLine(api.database.db, id, { server: '[2001:db8::1]:5080', transport: 'udp' });
    assert.deepEqual(v6?.server, { host: '[2001:db8::1]', port: 5080, outbound: true });
    assert.equal((await findLine(api.database.db, id, { server: '192.0.2.1', transport: 'udp' }))?.server.port, 5060);
  });

  describe('names and passwords stay what they are in every format', () => {
    type Read = (text: string) => { name: string | undefined; password: string | undefined; server: unknown };
    const READERS: [format: string, read: Read][] = [
      [
        'xml',
        text => {
          const { auth_info_0, proxy_0 } = readLpconfig(text);
          const [, quoted = ''] = /^"((?:[^"\\]|\\.)*)" <sip:[^<>]*>$/.exec(proxy_0?.['reg_identity'] ?? '') ?? [];
          const name = quoted.replace(/\\(.)/g, '$1');
          return { name, password: auth_info_0?.['passwd'], server: proxy_0?.['reg_route'] };
        },
      ],
      [
        'json',
        text => {
          const { display_name, password, proxy } = JSON.parse(text) as Record<string, string>;
          return { name: display_name, password, server: proxy };
        },
      ],
      [
        'yealink',
        text => {
          const settings = readSettings(text);
          const server = settings['account.1.outbound_proxy.1.address'];
          return { name: settings['account.1.display_name'], password: settings['account.1.password'], server };
        },
      ],
      [
        'grandstream',
        text => {
          const { P3, P34, P48 } = byName(readXml(text));
          return { name: P3, password: P34, server: P48 };
        },
      ],
      [
        'snom',
        text => {
          const { user_realname, user_pass, user_outbound } = byName(readXml(text));
          return { name: user_realname, password: user_pass, server: user_outbound };
        },
      ],
      [
        'cisco',
        text => {
          const read = byName(readXml(text));
          return { name: read['Display_Name_1_'], password: read['Password_1_'], server: read['Outbound_Proxy_1_'] };
        },
      ],
    ];
    let url = '';
    before(async () => (url = await urlFor((await newExtension(HOSTILE))['id'] ?? '')));

    for (const [format, read] of READERS)
      it(format, async () => {
        const { status, text } = await get(`${url}?format=${format}`);
        assert.equal(status, 200);
        const { name, password, server } = read(text);
        assert.deepEqual([name, password], [SHOWN, HOSTILE.password]);
        assert.match(String(server), /phone\.example\.org/);
      });
  });

  describe('who asks gets what it reads', () => {
    const XML = 'application/xml; charset=utf-8';
    const AGENTS: [agent: string, type: string, first: RegExp][] = [
      ['LinphoneAndroid/5.2.5 (Pixel) LinphoneSDK/5.3', XML, /<config xmlns/],
      ['curl/8.5.0', XML, /<config xmlns/],
      ['Yealink SIP-T46S 66.86.0.15 00:15:65:aa:bb:cc', 'text/plain; charset=utf-8', /^#!version:1\.0\.0\.1\n/],
      ['Grandstream Model HW GXP2160 SW 1.0.9.26 DevId 000b82aabbcc', XML, /<gs_provision version="1">/],
      ['Mozilla/4.0 (compatible; snom720-SIP 8.7.3.19 1.1.3-s)', XML, /<settings>\n<phone-settings>/],
      ['Cisco/SPA504G-7.4.9c (CCQ1)(0123456789ab)', XML, /<flat-profile>/],
      ['Linksys/SPA942-6.1.5(a)', XML, /<flat-profile>/],
    ];
    const FILES: [name: string, first: RegExp][] = [
      ['linphone.xml', /<config xmlns/],
      ['001565AABBCC.cfg', /^#!version/],
      ['y000000000028.cfg', /^#!version/],
      ['cfg000b82aabbcc.xml', /<gs_provision/],
      ['cfggxp2160.xml', /<gs_provision/],
      ['cfg.xml', /<gs_provision/],
      ['snom720-000413AABBCC.htm', /<phone-settings>/],
      ['spa504G.cfg', /<flat-profile>/],
    ];
    let url = '';
    before(async () => (url = await urlFor((await newExtension())['id'] ?? '')));

    for (const [agent, type, first] of AGENTS)
      it(`by User-Agent: ${agent}`, async () => {
        const { status, headers, text } = await get(url, { 'User-Agent': agent, Accept: 'text/html, */*' });
        const expected = agent.startsWith('curl') ? 'text/html; charset=utf-8' : type;
        assert.deepEqual([status, headers.get('content-type')], [200, expected]);
        if (expected === type) assert.match(text, first);
        const plain = await get(url, { 'User-Agent': agent });
        assert.equal(plain.headers.get('content-type'), type);
        assert.match(plain.text, first);
      });

    for (const [name, first] of FILES)
      it(`by the name of the file: ${name}`, async () => {
        const { status, text } = await get(`${url}/${name}`, { 'User-Agent': 'Yealink SIP-T46S' });
        assert.equal(status, 200);
        assert.match(text, first);
      });

    it('names that lead to nothing are a bare 404, so that the phone tries its next one', async () => {
      for (const name of ['001565aabbcc.boot', 'cfg000b82aabbcc', 'constructor', 'qr.gif']) {
        const { status, text } = await get(`${url}/${name}`);
        assert.deepEqual([name, status, text], [name, 404, '']);
      }
    });
  });

  describe('people', () => {
    it('the code, as PNG and as SVG, decodes to the very address', async () => {
      const url = await urlFor((await newExtension())['id'] ?? '');
      const png = await get(`${url}/qr.png`);
      assert.equal(png.headers.get('content-type'), 'image/png');
      assert.equal(readQr(png.file), url);
      const svg = await get(`${url}/qr.svg`);
      assert.equal(svg.headers.get('content-type'), 'image/svg+xml');
      assert.equal(readQr(paintSvg(svg.text)), url);
    });

    it('a browser gets a page that explains, with the code and without the password, that loads nothing', async () => {
      const { id = '', username } = await newExtension({ password: 'unspoken' });
      const url = await urlFor(id);
      const { status, headers, text } = await get(url, BROWSER);
      assert.deepEqual([status, headers.get('content-type')], [200, 'text/html; charset=utf-8']);
      assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/);
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.match(text, new RegExp(`<html lang="en">[^]*<h1>Set up extension ${username} on a phone</h1>`));
      assert.match(text, /meant for a phone, not for a browser/);
      assert.match(text, /<svg role="img" aria-label="QR code of the address /);
      assert.equal(readQr(paintSvg(text)), url);
      assert.ok(!text.includes('unspoken'));
      assert.doesNotMatch(text, /<(script|img|link|iframe)\b|\bsrc=|@import|url\(/);
    });

    it('a browser that comes too late is told so in words, still with 400', async () => {
      const { status, headers, text } = await get(`${api.url}/provisioning/${'0'.repeat(64)}`, BROWSER);
      assert.deepEqual([status, headers.get('content-type')], [400, 'text/html; charset=utf-8']);
      assert.match(text, /<h1>This address is no longer good<\/h1>/);
    });
  });
});
