import { strict as assert } from 'node:assert';
import { Afterlife } from '../../../../engine/sip/transactions/afterlife.ts';
import { heldMb } from '../../../support/held-memory.ts';

const hop = { transport: 'udp', host: '192.0.2.1', port: 5060 } as const;

describe('sip: what is left of a transaction', () => {
  let past: Afterlife;
  beforeEach(() => (past = new Afterlife()));
  afterEach(() => past.clear());

  const keep = (key: string, answer?: Buffer, ms = 60_000): void => past.keep(key, { answer, hop, ms });

  it('a repeated request finds the answer byte by byte, and one that was acknowledged is swallowed', () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    keep('said', bytes);
    keep('mute');
    assert.deepEqual(past.answer('said'), { data: bytes, hop });
    assert.deepEqual([past.has('mute'), past.answer('mute')], [true, undefined]);
    assert.deepEqual([past.has('none'), past.answer('none')], [false, undefined]);
  });

  it('it is gone when its time is over', async () => {
    keep('short', undefined, 1);
    await new Promise(resolve => setTimeout(resolve, 20));
    assert.deepEqual([past.has('short'), past.size], [false, 0]);
  });

  it('thousands of answers take no more memory than their text', () => {
    const before = heldMb();
    // Of ten messages that are written one is kept, as in a call: each lies in eight kilobytes of Node's pool.
    for (let n = 0; n < 20_000; n++) {
      const answer = Buffer.from(`${n} `.padEnd(700, '-'));
      if (n % 10 === 0) keep(String(n), answer);
    }
    const grown = heldMb() - before;
    assert(grown < 4, `${grown} MB`);
  });

  it('a flood of what is answered fills it and no more; the latest are known', () => {
    for (let n = 0; n < 50_100; n++) keep(String(n));
    assert.deepEqual([past.size, past.has('99'), past.has('100'), past.has('50099')], [50_000, false, true, true]);
  });

  it('long answers take 64 MB and no more, however often one is given', () => {
    const long = Buffer.alloc(60_000, 'x');
    for (let n = 0; n < 1200; n++) keep(`${n % 1150}`, long);
    const most = Math.floor((64 * 2 ** 20) / 60_004);
    assert(past.size <= most && past.size >= most - 2, String(past.size));
    past.clear();
    for (let n = 0; n < 1000; n++) keep(`${n}`, long);
    assert.equal(past.size, 1000); // nothing that is gone was counted
  });
});
