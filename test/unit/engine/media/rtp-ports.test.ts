import { strict as assert } from 'node:assert';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { RtpPorts } from '../../../../engine/media/rtp-ports.ts';
import { host } from './leg-rig.ts';

describe('RTP ports', () => {
  it('are even, and run out with a sentence', async () => {
    const few = new RtpPorts([33_301, 33_305], host);
    const taken = [await few.acquire(), await few.acquire()];
    assert.deepEqual(taken.map(one => one.port).sort(), [33_302, 33_304]);
    await assert.rejects(few.acquire(), /no free RTP port between 33301 and 33305/);
    for (const one of taken) one.release();
    assert.equal(few.inUse, 0);
  });

  it('rest before they are used again', async () => {
    const one = new RtpPorts([33_310, 33_311], host);
    (await one.acquire()).release();
    const start = performance.now();
    (await one.acquire()).release();
    assert.ok(performance.now() - start >= 350);
  });

  it('that another program has are passed over', async () => {
    const other = createSocket('udp4').bind(33_320, host);
    await once(other, 'listening');
    const two = new RtpPorts([33_320, 33_323], host);
    const got = await two.acquire();
    assert.equal(got.port, 33_322);
    got.release();
    other.close();
  });
});
