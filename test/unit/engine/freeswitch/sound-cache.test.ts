import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeRoom } from '../../../../engine/freeswitch/make-room.ts';
import { fetchSound } from '../../../../engine/freeswitch/sound-cache.ts';

describe('sounds that are fetched over HTTP', () => {
  let server: Server;
  let folder: string;
  let asked: IncomingMessage[];
  let answer: (response: ServerResponse, request: IncomingMessage) => void;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sound-cache-'));
    asked = [];
    server = createServer((request, response) => {
      asked.push(request);
      answer(response, request);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true, force: true });
  });

  const sound = (path = '/hello'): Promise<string> =>
    fetchSound(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, folder);
  const heard = async (path?: string): Promise<string> => readFile(await sound(path), 'utf8');
  const saying =
    (text: string, headers: Record<string, string>): typeof answer =>
    response =>
      response.writeHead(200, { 'content-type': 'audio/wav', ...headers }).end(text);

  it('are not asked for again while they are fresh, for a minute where the server says nothing', async () => {
    const said: Record<string, string>[] = [{}, { 'cache-control': 'public, max-age=600' }];
    for (const headers of said) {
      const path = `/${Object.keys(headers).length}`;
      answer = saying('one', headers);
      assert.equal(await heard(path), 'one');
      answer = saying('two', {});
      assert.equal(await heard(path), 'one');
    }
    assert.equal(asked.length, 2);
  });

  it('are asked about by their ETag, or by their date, and fetched again only when they have changed', async () => {
    for (const [path, header, question] of [
      ['/tag', { etag: '"v1"' }, ['if-none-match', '"v1"']],
      [
        '/date',
        { 'last-modified': 'Sat, 21 Nov 2026 10:00:00 GMT' },
        ['if-modified-since', 'Sat, 21 Nov 2026 10:00:00 GMT'],
      ],
    ] as [string, Record<string, string>, [string, string]][]) {
      const stale = { ...header, 'cache-control': 'no-cache' };
      answer = saying('one', stale);
      assert.equal(await heard(path), 'one');
      answer = response => response.writeHead(304, stale).end();
      assert.equal(await heard(path), 'one');
      assert.equal(asked.at(-1)?.headers[question[0]], question[1]);
      answer = saying('two', stale);
      assert.equal(await heard(path), 'two');
    }
  });

  it('are heard from the copy while their server fails', async () => {
    answer = saying('one', { 'cache-control': 'max-age=0' });
    assert.equal(await heard(), 'one');
    answer = response => response.writeHead(503).end();
    assert.equal(await heard(), 'one');
    await assert.rejects(sound('/never-heard'), /HTTP status 503/);
  });

  it('are refused when they are something else, or larger than 32 MB, and leave nothing behind', async () => {
    answer = response => response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<p>Log in</p>');
    await assert.rejects(sound('/page.wav'), /text\/html is no sound/);
    const million = Buffer.alloc(1_000_000);
    answer = response => {
      response.writeHead(200, { 'content-type': 'audio/wav' });
      const more = (left: number): void => {
        if (left > 0 && !response.destroyed) response.write(million, () => more(left - 1));
      };
      more(40);
    };
    await assert.rejects(sound('/endless.wav'), /larger than/);
    assert.deepEqual(await readdir(folder), []);
    answer = saying('one', {});
    assert.equal(await heard('/page.wav'), 'one');
  });

  it('are named after what the server says they are, else after their address', async () => {
    for (const [path, type, ending] of [
      ['/a', 'audio/mpeg', '.mp3'],
      ['/b.wav', 'audio/ogg; codecs=opus', '.ogg'],
      ['/c.flac', 'application/octet-stream', '.flac'],
      ['/d', 'audio/x-unknown', '.wav'],
    ] as const) {
      answer = saying('x', { 'content-type': type });
      assert.ok((await sound(path)).endsWith(ending), `${path} as ${type}`);
    }
  });

  it('make room, the oldest first, when they are too many or too large', async () => {
    for (const [at, bytes] of [60, 30, 30, 10, 10].entries()) {
      await writeFile(join(folder, `${at}.wav`), Buffer.alloc(bytes));
      await utimes(join(folder, `${at}.wav`), 1000 + at, 1000 + at);
    }
    await makeRoom(folder, { files: 4, bytes: 1000 });
    assert.deepEqual((await readdir(folder)).sort(), ['1.wav', '2.wav', '3.wav', '4.wav']);
    await makeRoom(folder, { files: 4, bytes: 50 });
    assert.deepEqual((await readdir(folder)).sort(), ['2.wav', '3.wav', '4.wav']);
  });
});
