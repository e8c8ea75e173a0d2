import { strict as assert } from 'node:assert';
import type { RemoteInfo } from 'node:dgram';
import { MediaClock } from '../../../../engine/media/clock.ts';
import { LegMemory } from '../../../../engine/media/leg-memory.ts';
import { RtpReceiver } from '../../../../engine/media/rtp-receiver.ts';

const from: RemoteInfo = { address: '192.0.2.1', port: 4000, family: 'IPv4', size: 172 };

/** A packet of PCMU, or of comfort noise, 20 ms after the one before. */
function packet(number: number, payloadType: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(12);
  header[0] = 0x80;
  header[1] = payloadType;
  header.writeUInt16BE(number, 2);
  header.writeUInt32BE(160 * number, 4);
  header.writeUInt32BE(7, 8);
  return Buffer.concat([header, payload]);
}

describe('What a party sends', () => {
  it('falls silent at once with comfort noise (RFC 3389), of which nothing is heard and nothing made up', () => {
    const receiver = new RtpReceiver(
      new MediaClock(),
      LegMemory.take(),
      () => undefined,
      () => undefined,
    );
    receiver.setRemote({
      address: from.address,
      port: from.port,
      codec: 'PCMU',
      payloadType: 0,
      telephoneEvent: null,
      ptime: 20,
      direction: 'sendrecv',
    });
    for (const number of [1, 2, 3]) receiver.datagram(packet(number, 0, Buffer.alloc(160, 0x90)), from);
    receiver.datagram(packet(4, 13, Buffer.from([40, 120, 30])), from);
    const frame = new Int16Array(160);
    const heard = Array.from({ length: 8 }, () => (receiver.jitter.read(frame), frame[80] !== 0));
    assert.deepEqual(heard, [false, true, true, true, false, false, false, false]);
    const { concealed, lost } = receiver.jitter.stats();
    assert.deepEqual([concealed, lost, receiver.counts.noise, receiver.counts.skipped], [0, 0, 1, 0]);
  });
});
