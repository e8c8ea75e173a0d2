import { strict as assert } from 'node:assert';
import { encapsulationOf, rtpPayload } from '../../../../media-app/audio/encapsulation.ts';
import { Frames } from '../../../../media-app/audio/frames.ts';

const samples = Buffer.from(Array.from({ length: 320 }, (_, at) => at & 0xff));
const header = (...bytes: number[]): Buffer => Buffer.from([...bytes, ...Array<number>(12 - bytes.length).fill(0)]);

describe('encapsulations of media streams', () => {
  it('rtp is 332 bytes: version 2, type 96, no marker, SSRC 0, counted from 1, 160 samples a packet', () => {
    const rtp = encapsulationOf('rtp');
    const packets = Array.from({ length: 3 }, () => rtp.encode(samples));
    for (const packet of packets) assert.equal(packet.length, 332);
    assert.deepEqual(
      packets.map(packet => [
        packet[0],
        packet[1],
        packet.readUInt16BE(2),
        packet.readUInt32BE(4),
        packet.readUInt32BE(8),
      ]),
      [
        [0x80, 96, 1, 0, 0],
        [0x80, 96, 2, 160, 0],
        [0x80, 96, 3, 320, 0],
      ],
    );
    assert.deepEqual(packets[0]?.subarray(12), samples);
  });

  it('the sequence of rtp goes on at 0 after 65535', () => {
    const rtp = encapsulationOf('rtp');
    for (let count = 1; count < 65_535; count++) rtp.encode(Buffer.alloc(0));
    assert.deepEqual(
      [rtp.encode(samples), rtp.encode(samples)].map(packet => packet.readUInt16BE(2)),
      [65_535, 0],
    );
  });

  it('sln is the samples and nothing else', () => {
    assert.deepEqual(encapsulationOf('sln').encode(samples), samples);
  });

  it('audiosocket is kind 0x10, the length in network order, and the samples', () => {
    const frame = encapsulationOf('audiosocket').encode(samples);
    assert.deepEqual([...frame.subarray(0, 3)], [0x10, 0x01, 0x40]);
    assert.deepEqual(frame.subarray(3), samples);
  });

  it('each reads what it writes', () => {
    for (const name of ['rtp', 'sln', 'audiosocket'] as const)
      assert.deepEqual(encapsulationOf(name).decode(encapsulationOf(name).encode(samples)), samples, name);
  });

  it('rtp leaves out contributing sources, extensions and padding', () => {
    const sources = Buffer.alloc(8);
    const extension = Buffer.from([0xbe, 0xde, 0, 1, 1, 2, 3, 4]);
    const packet = Buffer.concat([header(0xb2, 96), sources, extension, samples, Buffer.from([0, 2])]);
    assert.deepEqual(rtpPayload(packet, 96), samples);
  });

  const broken: [string, 'rtp' | 'sln' | 'audiosocket', Buffer][] = [
    ['a packet of another type', 'rtp', Buffer.concat([header(0x80, 0), samples])],
    ['a packet of another version', 'rtp', Buffer.concat([header(0x40, 96), samples])],
    ['a packet without a payload', 'rtp', header(0x80, 96)],
    ['half a header', 'rtp', header(0x80, 96).subarray(0, 5)],
    ['a header that promises sources it has not', 'rtp', header(0x8f, 96)],
    ['an extension longer than the packet', 'rtp', Buffer.concat([header(0x90, 96), Buffer.from([0, 0, 255, 255])])],
    ['an extension without its length', 'rtp', Buffer.concat([header(0x90, 96), Buffer.from([0, 0])])],
    ['more padding than there is', 'rtp', Buffer.concat([header(0xa0, 96), Buffer.from([1, 255])])],
    ['half a sample', 'rtp', Buffer.concat([header(0x80, 96), Buffer.from([1])])],
    ['half a sample', 'sln', Buffer.from([1, 2, 3])],
    ['nothing', 'sln', Buffer.alloc(0)],
    ['a message of another kind', 'audiosocket', Buffer.from([0x00, 0, 2, 1, 2])],
    ['a length that is not its own', 'audiosocket', Buffer.from([0x10, 0, 4, 1, 2])],
    ['half a header', 'audiosocket', Buffer.from([0x10, 0])],
    ['no samples', 'audiosocket', Buffer.from([0x10, 0, 0])],
  ];
  for (const [what, name, frame] of broken)
    it(`${name} drops ${what}`, () => assert.equal(encapsulationOf(name).decode(frame), undefined));
});

describe('cutting audio into frames', () => {
  it('loses nothing, whatever the pieces are', () => {
    const frames = new Frames(4);
    const pieces = ['ab', 'cdefghij', '', 'k', 'lmnop'].map(text => Buffer.from(text));
    const cut = pieces.flatMap(piece => frames.push(piece)).map(frame => frame.toString());
    assert.deepEqual(cut, ['abcd', 'efgh', 'ijkl', 'mnop']);
  });
});
