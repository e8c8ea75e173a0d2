import { strict as assert } from 'node:assert';
import { FrameWatch } from '../../../../engine/sip/transports/frame-watch.ts';

/** A masked frame as a browser sends it. */
const frame = (first: number, payload: number): Buffer => {
  const length =
    payload < 126 ? [payload] : payload < 65_536 ? [126, payload >> 8, payload & 255] : [127, 0, 0, 0, 0, payload >>> 24, (payload >> 16) & 255, (payload >> 8) & 255, payload & 255]; // prettier-ignore
  length[0] = (length[0] ?? 0) | 0x80;
  return Buffer.concat([Buffer.from([first, ...length, 1, 2, 3, 4]), Buffer.alloc(payload, 0x81)]);
};

const [TEXT, MORE, LAST, BEGINS, PING] = [0x81, 0x00, 0x80, 0x01, 0x89];

describe('sip: the frames of a WebSocket', () => {
  const cases: [what: string, frames: Buffer[], left: number[], whole: boolean[]][] = [
    ['whole messages leave nothing', [frame(TEXT, 5), frame(TEXT, 0), frame(0x82, 300)], [0, 0, 0], [true, true, true]],
    ['a long message has eight bytes of length', [frame(TEXT, 70_000)], [0], [true]],
    [
      'fragments are held until the last one',
      [frame(BEGINS, 100), frame(MORE, 100), frame(LAST, 0)],
      [106, 212, 0],
      [false, false, true],
    ],
    [
      'a ping between fragments is no part of the message, and no message',
      [frame(PING, 4), frame(BEGINS, 10), frame(PING, 0), frame(LAST, 10)],
      [0, 16, 16, 0],
      [false, false, false, true],
    ],
  ];
  for (const [what, frames, left, whole] of cases)
    it(`${what}, in whatever pieces it comes`, () => {
      for (const piece of [1, 2, 7, 100_000]) {
        const watch = new FrameWatch();
        frames.forEach((one, n) => {
          const ended: boolean[] = [];
          for (let at = 0; at < one.length; at += piece) ended.push(watch.pass(one.subarray(at, at + piece)));
          assert.deepEqual(
            [ended.includes(true), watch.bytes],
            [whole[n], left[n]],
            `frame ${n} in pieces of ${piece}`,
          );
        });
      }
    });

  it('what is half there counts, from its first byte on', () => {
    const watch = new FrameWatch();
    const held = [1, 3, 100, 294, 1].map(length => {
      const from = watch.bytes;
      watch.pass(frame(TEXT, 500).subarray(from, from + length));
      return watch.bytes;
    });
    assert.deepEqual(held, [1, 4, 104, 398, 399]);
  });

  it('several messages in one piece, and the beginning of another', () => {
    const watch = new FrameWatch();
    const piece = Buffer.concat([frame(TEXT, 3), frame(TEXT, 400), frame(BEGINS, 9), frame(TEXT, 50).subarray(0, 20)]);
    assert.equal(watch.pass(piece), true);
    assert.equal(watch.bytes, 15 + 20);
  });
});
