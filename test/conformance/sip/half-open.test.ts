import { strict as assert } from 'node:assert';
import { once, type EventEmitter } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { Certificates } from '../../../engine/sip/certificates.ts';
import { silentLog } from '../../../engine/sip/log.ts';
import { selfSigned } from '../../../engine/sip/self-signed.ts';
import { TcpPeer, WsPeer, type Peer } from '../drachtio/peer.ts';
import { Rig, SHORT } from '../drachtio/rig.ts';
import { eventually } from '../../support/eventually.ts';
import { engineSuite } from '../../support/engine-only.ts';

/** As the engine has it. */
const MOST_STRANGERS = 2000;
const MOST_HALF = 8 * 2 ** 20;
const UPGRADE = 'GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: sip\r\nX-Long: ';

/** Whether by an end or by a reset. */
const closed = (one: EventEmitter): Promise<unknown> => new Promise(resolve => one.once('close', resolve));

/** What a TLS client says first. */
const clientHello = async (): Promise<Buffer> => {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connectTls({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
  client.on('error', () => undefined);
  const [socket] = (await once(server, 'connection')) as [Socket];
  const [hello] = (await once(socket, 'data')) as [Buffer];
  client.destroy();
  socket.destroy();
  server.close();
  return hello;
};

engineSuite('it floods a server of its own', 'sip: handshakes and browsers that stop halfway', () => {
  const folder = mkdtempSync(join(tmpdir(), 'half-open-test-'));
  let certificates: Certificates;
  let ca: string;
  let hello: Buffer;
  let rig: Rig;
  const flood: Socket[] = [];

  before(async () => {
    const { cert, key } = selfSigned(['127.0.0.1']);
    ca = cert;
    const files = { cert: join(folder, 'a.crt'), key: join(folder, 'a.key') };
    writeFileSync(files.cert, cert);
    writeFileSync(files.key, key);
    certificates = new Certificates({ files: [files], log: silentLog });
    hello = await clientHello();
  });
  after(() => {
    certificates.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  afterEach(async () => {
    for (const socket of flood.splice(0)) socket.destroy();
    await rig.close();
  });

  const start = async (options = {}): Promise<void> => {
    rig = await Rig.start({ ports: { tls: 0, ws: 0, wss: 0 }, certificates, ...options });
    await rig.app(client => client.options((_request, response) => response.send(200)));
  };
  const portOf = (transport: 'tls' | 'ws' | 'wss'): number => rig.server.ports[transport] ?? 0;
  const tlsPhone = () => TcpPeer.openTls(portOf('tls'), { ca });
  const answers = async (phone: Peer): Promise<void> => {
    rig.keep(phone).request('OPTIONS', rig.uri());
    await phone.expect(/ 200 /);
  };

  /** A connection that says so much and no more. */
  const begin = (port: number, text: Buffer | string, localAddress = '127.0.0.1'): Socket => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    flood.push(socket.on('error', () => undefined));
    if (text.length > 0) socket.once('connect', () => socket.write(text));
    return socket.resume();
  };

  it('of thousands of handshakes that never finish two thousand are kept, and phones on every transport are served', async () => {
    await start();
    const early = await tlsPhone();
    await answers(early);
    const kinds = [
      () => ({ port: portOf('tls'), text: hello }),
      () => ({ port: portOf('tls'), text: hello.subarray(0, 60) }),
      () => ({ port: portOf('wss'), text: hello }),
      ...Array.from({ length: 17 }, () => () => ({ port: portOf('ws'), text: UPGRADE })),
    ];
    for (let at = 0; at < MOST_STRANGERS + 200; at++) {
      const { port, text } = kinds[at % kinds.length]?.() ?? assert.fail();
      begin(port, text, `127.0.0.${2 + (at % 9)}`);
    }
    const open = (): number => flood.filter(socket => !socket.destroyed).length;
    await eventually('the end of those that are too many', open, count => count <= MOST_STRANGERS, 20_000);
    const late = [await tlsPhone(), await WsPeer.open(portOf('ws')), await WsPeer.open(portOf('wss'), ca)];
    for (const phone of [...late, early, await rig.phone()]) await answers(phone);
    assert(open() > MOST_STRANGERS / 2, `${open()} are left`);
  });

  it('of one address two hundred handshakes begin at once and no more, over TLS and secure WebSocket together', async () => {
    await start();
    const early = await tlsPhone();
    await answers(early);
    for (let at = 0; at < 300; at++) begin(portOf(at % 2 === 0 ? 'tls' : 'wss'), hello, '127.0.0.9');
    const ended = (): number => flood.filter(socket => socket.destroyed).length;
    await eventually('the end of those that are too many', ended, count => count >= 80);
    const plain = await WsPeer.open(portOf('ws'), undefined, '127.0.0.9');
    for (const phone of [plain, await tlsPhone(), await WsPeer.open(portOf('wss'), ca), early]) await answers(phone);
    assert(ended() <= 100, `${ended()} were refused`);
  });

  it('a handshake that stands still or comes byte by byte ends its connection in time', async () => {
    await start({ timers: SHORT });
    const said: [port: number, text: Buffer | string][] = [
      ...(['tls', 'wss'] as const).flatMap(one => ['', hello, hello.subarray(0, 60)].map(text => [portOf(one), text] as [number, Buffer | string])), // prettier-ignore
      [portOf('ws'), ''],
      [portOf('ws'), UPGRADE],
    ];
    const ends = said.map(([port, text]) => closed(begin(port, text)));
    for (const [port, text] of said) {
      const socket = begin(port, '');
      ends.push(closed(socket));
      let at = 0;
      const drip = setInterval(() => socket.write(text.length > 0 ? Buffer.from(text).subarray(at, ++at) : '\r\n'), 20);
      socket.once('close', () => clearInterval(drip));
    }
    await Promise.all(ends);
    await answers(await tlsPhone());
  });

  /** A masked frame's head, and the beginning of what it announces. */
  const frame = (first: number, announced: number, payload: Buffer): Buffer =>
    Buffer.concat([Buffer.from([first, 0xfe, announced >> 8, announced & 255, 0, 0, 0, 0]), payload]);
  const [TEXT, BEGINS, MORE] = [0x81, 0x01, 0x00];
  /** What is under a browser's phone. */
  const under = (phone: WsPeer): Socket => (phone.socket as unknown as { _socket: Socket })._socket;
  const browser = async (localAddress = '127.0.0.1'): Promise<WsPeer> =>
    rig.keep(await WsPeer.open(portOf('ws'), undefined, localAddress));

  it('a browser’s message that is never finished ends its connection, also after others and with pongs between', async () => {
    await start({ timers: SHORT });
    const phones = [await browser(), await browser(), await browser()];
    for (const phone of phones) await answers(phone);
    const [inFrame, between, idle] = phones as [WsPeer, WsPeer, WsPeer];
    under(inFrame).write(frame(TEXT, 1000, Buffer.from('OPT')));
    under(between).write(frame(BEGINS, 3, Buffer.from('OPT')));
    const pongs = setInterval(() => between.socket.pong(), 20);
    await Promise.all([inFrame, between].map(phone => closed(phone.socket)));
    clearInterval(pongs);
    await answers(idle);
  });

  it('half messages of browsers fill eight megabytes for each source and no more', async () => {
    await start();
    const phones = await Promise.all(Array.from({ length: 150 }, () => browser('127.0.0.9')));
    const ended = Promise.race(phones.map(phone => closed(phone.socket)));
    for (const phone of phones) under(phone).write(frame(BEGINS, 60_000, Buffer.alloc(60_000, 'x')));
    await ended;
    const open = (): number => phones.filter(one => one.socket.readyState === one.socket.OPEN).length;
    await eventually('room for the others', open, count => count <= MOST_HALF / 60_000, 20_000);
    await answers(await browser());
  });

  it('a browser that pings and never reads is answered no more than its line takes', async () => {
    await start();
    const phone = await browser();
    let pongs = 0;
    phone.socket.on('pong', () => pongs++);
    const pings = Buffer.concat(Array.from({ length: 1000 }, () => Buffer.from([0x89, 0xfd, ...Array<number>(129)])));
    under(phone).pause();
    for (let n = 0; n < 100; n++) under(phone).write(pings);
    await eventually('all that was said', () => under(phone).writableLength, length => length === 0, 20_000); // prettier-ignore
    await answers(await browser());
    under(phone).resume();
    await answers(phone);
    assert(pongs > 0 && pongs < 95_000, `${pongs} pongs`);
  });

  it('a message in thousands of pieces ends its connection', async () => {
    await start();
    const [fragments, drips] = [await browser(), await browser()];
    under(fragments).write(frame(BEGINS, 1, Buffer.from('O')));
    for (let n = 0; n < 1000; n++) under(fragments).write(frame(MORE, 1, Buffer.from('x')));
    await closed(fragments.socket);
    under(drips).write(frame(TEXT, 60_000, Buffer.from('O')));
    const drip = setInterval(() => under(drips).write('x'), 1);
    await closed(drips.socket);
    clearInterval(drip);
    await answers(await browser());
  });
});
