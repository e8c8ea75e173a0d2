import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { GuardedFetch, isPrivateAddress, TargetRefused } from '#outbound/guarded-fetch';

describe('the guard of outbound requests', () => {
  for (const address of [
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.2.1',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:8.8.8.8',
    '::ffff:127.0.0.1',
    '64:ff9b::7f00:1',
    'fc00::1',
    'fd12::1',
    'fe80::1',
    'ff02::1',
    '2001:db8::1',
    '2002:7f00:1::',
    'not an address',
  ])
    it(`takes ${address} for private`, () => assert.equal(isPrivateAddress(address), true));

  for (const address of [
    '1.1.1.1',
    '8.8.8.8',
    '172.15.0.1',
    '172.32.0.1',
    '192.167.1.1',
    '2606:4700::1111',
    '2a00:1450::1',
  ])
    it(`takes ${address} for public`, () => assert.equal(isPrivateAddress(address), false));

  const request = { method: 'POST', headers: {}, body: '{}', timeout_ms: 2000 } as const;

  for (const uri of [
    'http://127.0.0.1/',
    'http://127.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0177.0.0.1/',
    'http://127.0.0.1./',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://localhost/',
    'http://169.254.169.254/latest/meta-data',
    'ftp://example.org/',
    'file:///etc/passwd',
    'not a url',
  ])
    it(`refuses ${uri}`, async () => {
      const guarded = new GuardedFetch({ allowPrivateTargets: false });
      await assert.rejects(guarded.send({ ...request, uri }), TargetRefused);
      await guarded.close();
    });

  it('sends the name and password of a URL as basic credentials and not in the request line', async () => {
    const seen: (string | undefined)[] = [];
    const server = createServer((incoming, response) => {
      seen.push(incoming.url, incoming.headers.authorization);
      response.end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const open = new GuardedFetch({ allowPrivateTargets: true });
    const uri = `http://us%40er:pass@127.0.0.1:${(server.address() as AddressInfo).port}/x`;
    assert.equal(await open.send({ ...request, uri }), 200);
    assert.deepEqual(seen, ['/x', `Basic ${Buffer.from('us@er:pass').toString('base64')}`]);
    await open.close();
    server.close();
  });

  it('reports the status of an answer whose body never ends, in time', async () => {
    const server = createServer((_, response) => {
      response.write('x'.repeat(1000));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const open = new GuardedFetch({ allowPrivateTargets: true });
    const uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    assert.equal(await open.send({ ...request, uri, timeout_ms: 1000 }), 200);
    await open.close();
    server.closeAllConnections();
    server.close();
  });

  describe('that keep the answer', () => {
    const open = new GuardedFetch({ allowPrivateTargets: true });
    after(() => open.close());

    const answering = async (status: number, body: string) => {
      const seen: [string | undefined, string][] = [];
      const server = createServer((incoming, response) => {
        let text = '';
        incoming.on('data', chunk => (text += String(chunk)));
        incoming.on('end', () => {
          seen.push([incoming.method, text]);
          response.writeHead(status).end(body);
        });
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      return { server, seen, uri: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
    };

    it('carry status and body, whatever the status', async () => {
      const { server, seen, uri } = await answering(404, 'gone');
      const { status, body } = await open.exchange({ ...request, uri }, 100);
      assert.deepEqual([status, body.toString(), seen], [404, 'gone', [['POST', '{}']]]);
      server.close();
    });

    it('fail when the body is larger than wanted', async () => {
      const { server, uri } = await answering(200, 'x'.repeat(101));
      await assert.rejects(open.exchange({ ...request, uri }, 100), /more than 100 bytes/);
      server.close();
    });

    it('are refused from the metadata address of a cloud, even where private targets are allowed', async () => {
      await assert.rejects(open.exchange({ ...request, uri: 'http://169.254.169.254/' }, 100), TargetRefused);
      await assert.rejects(open.exchange({ ...request, uri: 'http://[fe80::1]/' }, 100), TargetRefused);
    });

    it('are refused where the target is private', async () => {
      const guarded = new GuardedFetch({ allowPrivateTargets: false });
      await assert.rejects(guarded.exchange({ ...request, uri: 'http://127.0.0.1/' }, 100), TargetRefused);
      await guarded.close();
    });
  });

  describe('that download a file', () => {
    const open = new GuardedFetch({ allowPrivateTargets: true });
    after(() => open.close());

    /** How a download of at most 100 bytes in 300 ms ends where bytes come like this. */
    const outcome = async (send: (response: ServerResponse) => void): Promise<string> => {
      const server = createServer((_, response) => send(response)).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      let text = '';
      try {
        for await (const piece of open.download(uri, { timeout_ms: 300, mostBytes: 100 })) text += String(piece);
      } catch (error) {
        text += `! ${String(error)}`;
      } finally {
        server.closeAllConnections();
        server.close();
      }
      return text;
    };

    it('give it piece by piece, and fail where it is none, too large or too slow', async () => {
      const drip = (response: ServerResponse): void => {
        const timer = setInterval(() => response.write('x'), 50);
        response.on('close', () => clearInterval(timer));
      };
      const [whole, missing, large, slow] = await Promise.all([
        outcome(response => response.end('sound')),
        outcome(response => response.writeHead(404).end('no')),
        outcome(response => response.end('x'.repeat(101))),
        outcome(drip),
      ]);
      assert.equal(whole, 'sound');
      assert.match(missing, /^! Error: .* answered 404$/);
      assert.match(large, /^! Error: the body has more than 100 bytes$/);
      assert.match(slow, /^x+! TimeoutError/);
    });
  });

  it('resolves a host for other connections than HTTP, and refuses a private one by name and by number', async () => {
    const strict = new GuardedFetch({ allowPrivateTargets: false });
    const lax = new GuardedFetch({ allowPrivateTargets: true });
    for (const host of ['localhost', '127.0.0.1', '[::1]', '10.0.0.1', '2130706433'])
      await assert.rejects(strict.resolve(host), TargetRefused, host);
    assert.deepEqual(await strict.resolve('8.8.8.8'), { address: '8.8.8.8', family: 4 });
    assert.deepEqual(await lax.resolve('[::1]'), { address: '::1', family: 6 });
    await assert.rejects(lax.resolve('169.254.169.254'), TargetRefused);
    await Promise.all([strict.close(), lax.close()]);
  });
});
