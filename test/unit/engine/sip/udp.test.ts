import { strict as assert } from 'node:assert';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { UdpTransport } from '../../../../engine/sip/transports/udp.ts';
import type { Ears } from '../../../../engine/sip/transports/sip-transport.ts';
import { eventually } from '../../../support/eventually.ts';

const MESSAGE = [
  ...['OPTIONS sip:b SIP/2.0', 'Via: SIP/2.0/UDP a;branch=z9hG4bK1', 'From: <sip:a@a>;tag=1', 'To: <sip:b@b>'],
  ...['Call-ID: 1', 'CSeq: 1 OPTIONS', 'Content-Length: 0', '', ''],
].join('\r\n');

describe('sip over udp', () => {
  const sockets: Socket[] = [];
  const heard: number[] = [];
  let transport: UdpTransport;

  const hears = { receive: (_parsed: unknown, source: { port: number }) => heard.push(source.port) };
  const ears = { ...hears, closed: () => undefined, localAddress: () => '127.0.0.1' } as unknown as Ears;
  /** Somebody who sends to the transport without waiting for anything. */
  const sender = async (): Promise<Socket> => {
    const socket = createSocket('udp4');
    sockets.push(socket);
    socket.connect(transport.port, '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  };
  const count = (socket: Socket): number => heard.filter(port => port === socket.address().port).length;

  beforeEach(async () => {
    heard.length = 0;
    transport = new UdpTransport({ host: '127.0.0.1', port: 0 }, ears);
    await transport.start();
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.close();
    await transport.stop();
  });

  it('what a peer with a line of its own sends is not lost in a flood that fills the common one', async () => {
    const [friend, stranger] = [await sender(), await sender()];
    transport.openLine({ transport: 'udp', host: '127.0.0.1', port: friend.address().port });
    friend.send(MESSAGE);
    await eventually('the line', () => count(friend), heardOnce => heardOnce === 1); // prettier-ignore
    const flood = Buffer.concat([Buffer.from(MESSAGE), Buffer.alloc(50_000, 'x')]);
    const FLOOD = 1000;
    for (let n = 0; n < FLOOD; n++) stranger.send(flood);
    for (let n = 0; n < 50; n++) friend.send(MESSAGE);
    await eventually('every message of the friend', () => count(friend), all => all === 51); // prettier-ignore
    assert(count(stranger) < FLOOD, 'the flood was too small to lose anything');
  });

  it('a second transport cannot have its port, whatever lines share it', async () => {
    transport.openLine({ transport: 'udp', host: '127.0.0.1', port: 9 });
    const second = new UdpTransport({ host: '127.0.0.1', port: transport.port }, ears);
    await assert.rejects(second.start(), new RegExp(`cannot listen on udp 127.0.0.1:${transport.port}`));
  });
});
