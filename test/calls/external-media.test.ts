import { strict as assert } from 'node:assert';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { encapsulationOf, rtpPackets, rtpPayload } from '../../media-app/audio/encapsulation.ts';
import { decodeG711, encodeG711 } from '../../media-app/audio/g711.ts';
import { toneFrames } from '../support/media-client.ts';
import { eventually } from '../support/eventually.ts';
import { Office } from '../support/office.ts';
import type { PhoneCall } from '../support/phone-call.ts';
import { sharedStack } from '../support/stack.ts';
import { samplesOf, tonesIn } from '../support/tones.ts';

const waiting = { type: 'sleep', option: { duration: 60_000 } };
const HEARD_HZ = 500;
const SAID_HZ = 1300;

const hearsTone = (frames: Buffer[], hz: number): boolean => tonesIn(samplesOf(frames)).includes(hz);

describe('external media of a call', function () {
  this.timeout(60_000);
  let office: Office;
  let server: WebSocketServer;
  let udp: Socket;

  before(async () => {
    office = new Office(await sharedStack());
  });
  beforeEach(async () => {
    server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    udp = createSocket('udp4');
    await Promise.all([once(server, 'listening'), new Promise<void>(bound => udp.bind(0, '127.0.0.1', bound))]);
  });
  afterEach(async () => {
    await office.close();
    for (const client of server.clients) client.terminate();
    server.close();
    udp.close();
    await office.nothingLeft();
    office = new Office(office.stack);
  });

  const url = (): string => `ws://127.0.0.1:${(server.address() as AddressInfo).port}/audio`;

  const called = async (actions: unknown[], tone = HEARD_HZ): Promise<{ id: string; incoming: PhoneCall }> => {
    const phone = await office.registered('1001', { tone });
    const { id } = await office.ring('1001', actions);
    const incoming = await phone.waitForCall();
    incoming.answer();
    return { id, incoming };
  };

  /** The server's side of the next connection, and what it hears. */
  const connection = async (): Promise<{ socket: WebSocket; frames: Buffer[] }> => {
    const [socket] = (await once(server, 'connection')) as [WebSocket];
    const frames: Buffer[] = [];
    socket.on('message', (data: Buffer) => frames.push(data));
    return { socket, frames };
  };

  const every20Ms = (frames: Buffer[], send: (frame: Buffer) => void): (() => void) => {
    let at = 0;
    const timer = setInterval(() => (frames[at] ? send(frames[at++] ?? Buffer.alloc(0)) : clearInterval(timer)), 20);
    return () => clearInterval(timer);
  };

  for (const encapsulation of ['rtp', 'sln', 'audiosocket'] as const)
    it(`over a WebSocket in ${encapsulation} hears the phone and is heard by it, and ends with the call`, async () => {
      const wrapping = encapsulationOf(encapsulation);
      const connected = connection();
      const { incoming } = await called([
        { type: 'external_media_start', option: { url: url(), encapsulation } },
        waiting,
      ]);
      const { socket, frames } = await connected;
      await eventually(
        'half a second',
        () => frames.length,
        length => length >= 40,
      );
      const samples = frames.slice(15).flatMap(frame => wrapping.decode(frame) ?? []);
      assert.ok(hearsTone(samples, HEARD_HZ));
      const stop = every20Ms(toneFrames(SAID_HZ, 3000), frame => socket.send(wrapping.encode(frame)));
      await incoming.hears(SAID_HZ);
      stop();
      await incoming.hangup();
      await eventually(
        'the end of the connection',
        () => socket.readyState,
        state => state === socket.CLOSED,
      );
    });

  it('over UDP as RTP in ulaw hears the phone and is heard by it', async () => {
    const { port } = udp.address();
    const frames: Buffer[] = [];
    let from = 0;
    udp.on('message', (packet, { port: sender }) => {
      from = sender;
      const payload = rtpPayload(packet, 0);
      if (payload) frames.push(decodeG711('ulaw', payload));
    });
    const option = { external_host: `127.0.0.1:${port}` };
    const { incoming } = await called([{ type: 'external_media_start', option }, waiting]);
    await eventually(
      'half a second',
      () => frames.length,
      length => length >= 40,
    );
    assert.ok(frames.every(frame => frame.length === 320));
    assert.ok(hearsTone(frames.slice(15), HEARD_HZ));
    const packet = rtpPackets(0, 160);
    const stop = every20Ms(toneFrames(SAID_HZ, 3000), frame => udp.send(packet(encodeG711('ulaw', frame)), from));
    await incoming.hears(SAID_HZ);
    stop();
    await incoming.hangup();
  });

  it('hears only what the party hears where direction_listen says so', async () => {
    const connected = connection();
    const option = { external_host: url(), transport: 'websocket', encapsulation: 'none', format: 'slin' };
    const { incoming } = await called([
      { type: 'external_media_start', option: { ...option, direction_listen: 'out' } },
      { type: 'play', option: { stream_urls: [`tone_stream://%(20000,0,${SAID_HZ})`] } },
    ]);
    const { frames } = await connected;
    await incoming.hears(SAID_HZ);
    await eventually(
      'half a second',
      () => frames.length,
      length => length >= 50,
    );
    assert.ok(hearsTone(frames.slice(-25), SAID_HZ) && !hearsTone(frames.slice(-25), HEARD_HZ));
    await incoming.hangup();
  });

  it('is stopped by external_media_stop, and the call goes on', async () => {
    const connected = connection();
    const { id, incoming } = await called([
      { type: 'external_media_start', option: { url: url(), encapsulation: 'sln' } },
      { type: 'sleep', option: { duration: 500 } },
      { type: 'external_media_stop' },
      waiting,
    ]);
    const { socket } = await connected;
    await eventually(
      'the end of the connection',
      () => socket.readyState,
      state => state === socket.CLOSED,
    );
    assert.equal((await office.call(id)).status, 'progressing');
    await incoming.hangup();
  });

  it('is five times at most; the sixth and an address where nobody listens fail, and the flow goes on', async () => {
    const start = { type: 'external_media_start', option: { url: url(), encapsulation: 'sln' } };
    const gone = { type: 'external_media_start', option: { url: 'ws://127.0.0.1:1/', encapsulation: 'sln' } };
    const { id, incoming } = await called([
      gone,
      ...Array.from({ length: 6 }, () => start),
      { type: 'play', option: { stream_urls: [`tone_stream://%(3000,0,${SAID_HZ})`] } },
    ]);
    await incoming.hears(SAID_HZ);
    assert.equal(server.clients.size, 5);
    await incoming.hangup();
    await office.ended(id);
    await eventually(
      'the end of the connections',
      () => server.clients.size,
      size => size === 0,
    );
  });
});
