import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fuzzSip } from '../../../scripts/bench/sip-fuzz.ts';
import { TcpPeer, WsPeer } from '../drachtio/peer.ts';
import { settled } from '../drachtio/line.ts';
import { Rig, SHORT } from '../drachtio/rig.ts';
import { engineSuite } from '../../support/engine-only.ts';

const HALF_OPEN = 2200;
/** As the engine has it. */
const MOST_STRANGERS = 2000;

/** A connection that begins a message and leaves it at that. */
function begin(port: number, localAddress: string, text: string): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  socket.on('error', () => undefined);
  socket.once('connect', () => socket.write(text));
  return socket.resume();
}

engineSuite('it floods a server and looks inside for what is kept', 'sip: the hostile', () => {
  let rig: Rig;
  before(async () => {
    rig = await Rig.start({ timers: SHORT, ports: { ws: 0 } });
    await rig.app(client => client.options((_request, response) => response.send(200)));
  });
  after(() => rig.close());

  const answers = async (): Promise<void> => {
    const phone = await rig.phone();
    phone.request('OPTIONS', rig.uri());
    await phone.expect(/ 200 /);
  };

  it('a flood of headers is not answered, and the next request is', async () => {
    const phone = await rig.phone();
    phone.request('OPTIONS', rig.uri(), Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`X-${i}`, 'y'])));
    phone.request('OPTIONS', rig.uri(), { 'X-Long': 'y'.repeat(9000) });
    await answers();
    assert.deepEqual(phone.heard, []);
  });

  it('of thousands of half-open connections two thousand are kept, and the floods pay for it, not the phones', async () => {
    const busy = await Rig.start({ ports: { ws: 0 } });
    await busy.app(client => client.options((_request, response) => response.send(200)));
    const early = busy.keep(await TcpPeer.open(busy.server.port));
    const flood: Socket[] = [];
    for (let at = 0; at < HALF_OPEN; at++)
      flood.push(begin(busy.server.port, `127.0.0.${2 + (at % 3)}`, 'REGISTER sip:127.0.0.1 SIP/2.0\r\nVia: '));
    const open = (): number => flood.filter(socket => !socket.destroyed).length;
    await settled('the end of those that are too many', () => open() <= MOST_STRANGERS);
    const late = [await TcpPeer.open(busy.server.port), await WsPeer.open(busy.server.ports.ws ?? 0), early];
    for (const phone of late) {
      busy.keep(phone).request('OPTIONS', busy.uri());
      await phone.expect(/ 200 /);
    }
    for (const socket of flood) socket.destroy();
    await settled('the end of the flood', () => busy.server.stats().connections === late.length);
    await busy.close();
  });

  it('connections that say nothing are closed in time', async () => {
    const plain = once(begin(rig.server.port, '127.0.0.1', ''), 'close');
    const [silent, speaking] = [
      await WsPeer.open(rig.server.ports.ws ?? 0),
      await WsPeer.open(rig.server.ports.ws ?? 0),
    ];
    rig.keep(speaking).request('OPTIONS', rig.uri());
    await Promise.all([plain, once(rig.keep(silent).socket, 'close')]);
    await speaking.expect(/ 200 /);
    assert.equal(speaking.socket.readyState, speaking.socket.OPEN);
  });

  it('half messages of one source fill eight megabytes and no more, and whole ones are read all the same', async () => {
    const half = `MESSAGE sip:127.0.0.1 SIP/2.0\r\nContent-Length: 60000\r\n\r\n${'x'.repeat(59_000)}`;
    const sockets = Array.from({ length: 200 }, () => begin(rig.server.port, '127.0.0.9', half));
    await Promise.race(sockets.map(socket => once(socket, 'close')));
    const phone = rig.keep(await TcpPeer.open(rig.server.port));
    phone.request('OPTIONS', rig.uri());
    await phone.expect(/ 200 /);
    for (const socket of sockets) socket.destroy();
  });

  it('one source has no more connections than it may, and another one is let in', async () => {
    const strict = await Rig.start({ timers: SHORT, connectionsPerSource: 2 });
    await strict.app(client => client.options((_request, response) => response.send(200)));
    const phones = [await TcpPeer.open(strict.server.port), await TcpPeer.open(strict.server.port)];
    for (const phone of phones) {
      strict.keep(phone).request('OPTIONS', strict.uri());
      await phone.expect(/ 200 /);
    }
    await once(connect(strict.server.port, '127.0.0.1').resume(), 'close');
    const other = connect({ port: strict.server.port, host: '127.0.0.1', localAddress: '127.0.0.8' });
    await once(other, 'connect');
    const next = strict.keep(new TcpPeer(other, 'TCP'));
    next.request('OPTIONS', strict.uri());
    await next.expect(/ 200 /);
    await strict.close();
  });

  it('a message that comes byte by byte for too long ends its connection, the first one and any later one', async () => {
    const drips = [0, 1].map(async before => {
      const phone = rig.keep(await TcpPeer.open(rig.server.port));
      phone.socket.on('error', () => undefined); // a reset answers a byte that crosses the end
      const closed = new Promise(resolve => phone.socket.once('close', resolve));
      if (before > 0) {
        phone.request('OPTIONS', rig.uri());
        await phone.expect(/ 200 /);
      }
      const drip = setInterval(() => phone.socket.write('O'), 20);
      await closed;
      clearInterval(drip);
    });
    await Promise.all(drips);
  });

  it('a connection that is used now and then stays', async () => {
    const phone = rig.keep(await TcpPeer.open(rig.server.port));
    for (let i = 0; i < 2; i++) {
      phone.request('OPTIONS', rig.uri());
      await phone.expect(/ 200 /);
      await new Promise(resolve => setTimeout(resolve, 70 * SHORT.T1));
    }
    assert.equal(phone.socket.destroyed, false);
  });

  it('whatever is sent, it goes on answering and keeps nothing', async () => {
    const seed = Date.now() % 2 ** 31;
    const { left, grown_mb } = await fuzzSip(600, seed);
    assert.deepEqual(left, { ...left, transactions: 0 }, `seed ${seed}`);
    assert(grown_mb < 100, `${grown_mb} MB, seed ${seed}`);
  });
});
