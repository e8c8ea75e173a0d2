import { strict as assert } from 'node:assert';
import { Punctuality } from '../../../scripts/bench/punctuality.ts';

/** A stream whose timestamps wrap; each number is by how many ms a packet is late. */
const stream = (late: readonly number[]): Punctuality => {
  const heard = new Punctuality();
  late.forEach((ms, n) => heard.came(1000 + 20 * n + ms, (0xffffff00 + 160 * n) >>> 0));
  return heard;
};

describe('how punctual a stream is', () => {
  for (const [what, late, onTime] of [
    ['in step', [0, 0, 0, 0, 0], 5],
    ['with a slow beginning', [40, 30, 0, 0, 0, 0, 0], 5],
    ['with one packet 6 ms late and one 4 ms', [0, 6, 0, 4, 0], 4],
    ['with one that is early', [0, 0, -9, 0, 0], 4],
  ] as const)
    it(`${what}: ${onTime} of ${late.length} packets are within 5 ms of their time`, () => {
      assert.deepEqual(stream(late).judge(), { packets: late.length, onTime });
    });

  it('what came before is forgotten when it begins anew', () => {
    const heard = stream([0, 90, 0]);
    heard.restart();
    heard.came(0, 0);
    assert.deepEqual(heard.judge(), { packets: 1, onTime: 1 });
  });
});
