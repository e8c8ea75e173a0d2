import { strict as assert } from 'node:assert';
import fc from 'fast-check';
import { decode, encode, silenceByte } from '../../../../engine/media/codecs/g711.ts';
import {
  emptyHeader,
  OutgoingStream,
  parseRtp,
  sequenceDistance,
  timestampDistance,
  writeRtpHeader,
} from '../../../../engine/media/rtp.ts';

describe('G.711', () => {
  for (const codec of ['PCMU', 'PCMA'] as const) {
    it(`${codec}: every byte survives decoding and encoding, except the second zero`, () => {
      const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
      const samples = new Int16Array(256);
      const again = new Uint8Array(256);
      decode(codec, bytes, 0, 256, samples);
      encode(codec, samples, 0, 256, again);
      const changed = [...bytes].filter((byte, i) => byte !== again[i]);
      assert.deepEqual(changed, codec === 'PCMU' ? [0x7f] : []);
    });

    it(`${codec}: every sample comes back within the step of its segment, its sign kept`, () => {
      const sample = new Int16Array(1);
      const byte = new Uint8Array(1);
      for (let value = -32768; value <= 32767; value += 7) {
        sample[0] = value;
        encode(codec, sample, 0, 1, byte);
        decode(codec, byte, 0, 1, sample);
        assert.ok(
          Math.abs((sample[0] ?? 0) - value) <= Math.max(16, Math.abs(value) / 25),
          `${value} became ${sample[0]}`,
        );
      }
    });

    it(`${codec}: silence is the byte that telephones send`, () => {
      const byte = new Uint8Array(1);
      encode(codec, new Int16Array(1), 0, 1, byte);
      assert.equal(byte[0], silenceByte[codec]);
    });
  }

  it('knows the reference values of the recommendation', () => {
    const samples = new Int16Array(4);
    decode('PCMU', Uint8Array.of(0x00, 0x80, 0xff, 0x8f), 0, 4, samples);
    assert.deepEqual([...samples], [-32124, 32124, 0, 16764]);
    decode('PCMA', Uint8Array.of(0x2a, 0xaa, 0xd5, 0x55), 0, 4, samples);
    assert.deepEqual([...samples], [-32256, 32256, 8, -8]);
  });
});

describe('RTP packets', () => {
  const header = emptyHeader();

  it('are read as they were written', () => {
    const stream = new OutgoingStream();
    const packet = Buffer.alloc(172);
    writeRtpHeader(packet, 101, true, stream, stream.timestamp);
    assert.ok(parseRtp(packet, header));
    const { sequence, timestamp, ssrc } = stream;
    assert.deepEqual(header, {
      payloadType: 101,
      marker: true,
      sequence,
      timestamp,
      ssrc,
      payloadStart: 12,
      payloadEnd: 172,
    });
  });

  it('may carry CSRCs, an extension and padding', () => {
    const packet = Buffer.alloc(12 + 8 + 4 + 4 + 160 + 4);
    packet[0] = 0x80 | 0x20 | 0x10 | 2;
    packet.writeUInt16BE(1, 22);
    packet[packet.length - 1] = 4;
    assert.ok(parseRtp(packet, header));
    assert.deepEqual([header.payloadStart, header.payloadEnd], [28, 188]);
  });

  it('never crash the reader, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), bytes => {
        const ok = parseRtp(Buffer.from(bytes), header);
        if (ok) assert.ok(header.payloadStart <= header.payloadEnd && header.payloadEnd <= bytes.length);
      }),
      { numRuns: 3000 },
    );
  });

  it('RTCP on the media port is not taken for audio', () => {
    const report = Buffer.alloc(28);
    report[0] = 0x80;
    report[1] = 200;
    assert.equal(parseRtp(report, header), false);
  });

  it('sequence numbers and timestamps are compared across their wrap', () => {
    assert.equal(sequenceDistance(2, 65535), 3);
    assert.equal(sequenceDistance(65535, 2), -3);
    assert.equal(timestampDistance(80, 0xffffffff - 79), 160);
  });
});
