import { strict as assert } from 'node:assert';
import { Handshakes } from '../../../../engine/sip/transports/handshakes.ts';

describe('sip: how many TLS handshakes begin', () => {
  let now: number;
  const clock = (): number => now;
  beforeEach(() => (now = 0));

  /** How many of so many begin. */
  const begun = (handshakes: Handshakes, tried: number, from: string | ((at: number) => string), known = false) => {
    const source = (at: number): string => (typeof from === 'string' ? from : from(at));
    return Array.from({ length: tried }).filter((_, at) => handshakes.begin(source(at), known)).length;
  };

  it('an office of 200 phones comes back at once, one that comes again and again at 20 a second', () => {
    const handshakes = new Handshakes(true, clock);
    assert.equal(begun(handshakes, 1000, 'office'), 200);
    for (let second = 1; second <= 5; second++) {
      now = second * 1000;
      assert.equal(begun(handshakes, 100, 'office'), 20);
    }
    assert.equal(begun(handshakes, 10, 'elsewhere'), 10);
    now += 3_600_000;
    assert.equal(begun(handshakes, 1000, 'office'), 200);
  });

  it('a flood from everywhere gets 200 a second, and where a phone is known others come in beside it', () => {
    const handshakes = new Handshakes(true, clock);
    const everywhere = (at: number): string => `${now} ${at}`;
    assert.equal(begun(handshakes, 5000, everywhere), 1000);
    now = 1000;
    assert.equal(begun(handshakes, 5000, everywhere), 200);
    assert.equal(begun(handshakes, 10, 'home'), 0);
    assert.equal(begun(handshakes, 10, 'home', true), 10);
  });

  it('who only tried is not remembered, and who has been quiet is forgotten', () => {
    const handshakes = new Handshakes(true, clock);
    for (; now < 100_000; now += 1000) begun(handshakes, 500, at => `${now} ${at}`);
    assert(handshakes.size <= 5001, `${handshakes.size} are remembered`);
    begun(handshakes, 100_000, at => `late ${at}`);
    assert(handshakes.size <= 5001, `${handshakes.size} are remembered`);
  });

  it('without a bound for sources one may have all there are', () => {
    assert.equal(begun(new Handshakes(false, clock), 5000, 'proxy'), 1000);
  });
});
