import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fuzzSip } from '../../../scripts/bench/sip-fuzz.ts';
import { TcpPeer } from '../drachtio/peer.ts';
import { settled } from '../drachtio/line.ts';
import { Rig, SHORT } from '../drachtio/rig.ts';

const HALF_OPEN = 500;

describe('sip: the hostile', () => {
  let rig: Rig;
  before(async () => {
    rig = await Rig.start({ timers: SHORT });
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

  it('hundreds of connections that say nothing are closed in time, and phones are served meanwhile', async () => {
    const idle: Socket[] = Array.from({ length: HALF_OPEN }, () => connect(rig.server.port, '127.0.0.1'));
    for (const socket of idle) socket.on('error', () => undefined);
    await settled('the connections', () => rig.server.stats().connections === HALF_OPEN);
    await answers();
    await settled('their end', () => rig.server.stats().connections === 0);
    for (const socket of idle) socket.destroy();
  });

  it('a message that comes byte by byte for too long ends its connection, the first one and any later one', async () => {
    for (const before of [0, 1]) {
      const phone = rig.keep(await TcpPeer.open(rig.server.port));
      const closed = once(phone.socket, 'close');
      if (before > 0) {
        phone.request('OPTIONS', rig.uri());
        await phone.expect(/ 200 /);
      }
      const drip = setInterval(() => phone.socket.write('O'), 20);
      await closed;
      clearInterval(drip);
    }
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
