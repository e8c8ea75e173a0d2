import { strict as assert } from 'node:assert';
import fc from 'fast-check';
import { StreamResampler } from '../../../../engine/media/stream-resampler.ts';

function tone(hz: number, rate: number, count: number): Int16Array {
  return Int16Array.from({ length: count }, (_, i) => Math.round(8000 * Math.sin((2 * Math.PI * hz * i) / rate)));
}

function amplitude(samples: Int16Array, hz: number, rate: number): number {
  let re = 0;
  let im = 0;
  samples.forEach((sample, i) => {
    re += sample * Math.cos((2 * Math.PI * hz * i) / rate);
    im += sample * Math.sin((2 * Math.PI * hz * i) / rate);
  });
  return (2 * Math.hypot(re, im)) / samples.length;
}

/** All of a stream, cut into pieces of these sizes over and over. */
function inPieces(resampler: StreamResampler, samples: Int16Array, sizes: number[]): Int16Array {
  const out: number[] = [];
  for (let at = 0, i = 0; at < samples.length; i += 1) {
    const size = sizes[i % sizes.length] ?? 1;
    out.push(...resampler.push(samples.subarray(at, at + size)));
    at += size;
  }
  return Int16Array.from(out);
}

describe('resampling of a stream', () => {
  for (const [from, to] of [
    [8000, 16_000],
    [8000, 24_000],
    [8000, 48_000],
    [8000, 11_025],
    [16_000, 8000],
    [24_000, 8000],
    [44_100, 8000],
    [48_000, 8000],
  ] as const)
    it(`keeps a 1 kHz tone from ${from} to ${to}, with nothing beside it`, () => {
      const out = inPieces(new StreamResampler(from, to), tone(1000, from, from / 2), [from / 50]);
      const steady = out.subarray(to / 10, to / 10 + Math.floor(to / 5));
      assert.ok(Math.abs(amplitude(steady, 1000, to) - 8000) < 150);
      const power = steady.reduce((sum, sample) => sum + sample * sample, 0) / steady.length;
      assert.ok(power < (8000 * 8000) / 2 + 400_000, 'something else is in it');
    });

  it('lets nothing above 4 kHz fold back into the telephone band', () => {
    const out = inPieces(new StreamResampler(16_000, 8000), tone(5000, 16_000, 8000), [320]).subarray(800);
    assert.ok(Math.max(...out.map(Math.abs)) < 80);
  });

  it('gives the same samples however the stream is cut', () => {
    const whole = tone(700, 16_000, 3200);
    const expected = new StreamResampler(16_000, 8000).push(whole);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 20 }), sizes => {
        assert.deepEqual(inPieces(new StreamResampler(16_000, 8000), whole, sizes), expected);
      }),
      { numRuns: 30 },
    );
  });

  it('gives ceil(n × to / from) samples for every n, so frames keep their size', () => {
    fc.assert(
      fc.property(fc.integer({ min: 8000, max: 64_000 }), fc.integer({ min: 1, max: 40 }), (to, frames) => {
        const resampler = new StreamResampler(8000, to);
        let given = 0;
        for (let i = 0; i < frames; i += 1) given += resampler.push(new Int16Array(160)).length;
        assert.equal(given, Math.ceil((frames * 160 * to) / 8000));
      }),
      { numRuns: 50 },
    );
  });

  it('stays within 16 bits at full scale', () => {
    const square = Int16Array.from({ length: 1600 }, (_, i) => (i % 20 < 10 ? 32767 : -32768));
    const out = new StreamResampler(8000, 48_000).push(square);
    assert.ok(out.some(sample => sample === 32767) && out.some(sample => sample === -32768));
  });

  it('hands samples through at equal rates', () => {
    const samples = tone(440, 8000, 160);
    assert.equal(new StreamResampler(8000, 8000).push(samples), samples);
  });
});
