import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { pino } from 'pino';
import { WebSocket } from 'ws';
import { AudioRoad } from '../../../../media-app/audio/road.ts';

describe('the audio road', () => {
  let road: AudioRoad;
  beforeEach(async () => {
    road = new AudioRoad('127.0.0.1', pino({ level: 'silent' }));
    await road.start();
  });
  afterEach(() => road.stop());

  const refusal = async (url: string): Promise<number | undefined> => {
    const socket = new WebSocket(url);
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
    response.resume();
    return response.statusCode;
  };

  it('lets in whoever was invited, once', async () => {
    const guest = road.invite(1000);
    const socket = new WebSocket(guest.url);
    const [here] = await Promise.all([guest.socket, once(socket, 'open')]);
    const heard = once(here, 'message');
    socket.send(Buffer.from([1, 2]));
    assert.deepEqual((await heard)[0], Buffer.from([1, 2]));
    assert.equal(await refusal(guest.url), 404);
    socket.close();
    await once(socket, 'close');
  });

  it('lets in nobody else: no path, another secret, an invitation that was taken back', async () => {
    const guest = road.invite(1000);
    const wrong = guest.url.replace(/[0-9a-f]{64}$/, 'a'.repeat(64));
    for (const url of [new URL('/', guest.url).href, wrong, `${guest.url}0`]) assert.equal(await refusal(url), 404);
    guest.cancel();
    assert.equal(await refusal(guest.url), 404);
    await assert.rejects(guest.socket, /nobody connected/);
  });

  it('waits for nobody for ever', async () => {
    const guest = road.invite(20);
    await assert.rejects(guest.socket, /nobody connected/);
    assert.equal(await refusal(guest.url), 404);
  });
});
