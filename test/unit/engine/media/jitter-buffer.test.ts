import { strict as assert } from 'node:assert';
import fc from 'fast-check';
import { JitterBuffer } from '../../../../engine/media/jitter-buffer.ts';

/** Packet `n` of a stream holds 160 samples of the value n + 1. */
function packet(n: number): Int16Array {
  return new Int16Array(160).fill(n + 1);
}

class Line {
  readonly buffer = new JitterBuffer();
  readonly frame = new Int16Array(160);
  sequence = 1000;
  timestamp = 5000;
  ssrc = 7;

  send(n: number, count = 160): boolean {
    return this.buffer.push(
      (this.sequence + n) & 0xffff,
      (this.timestamp + n * 160) >>> 0,
      this.ssrc,
      packet(n),
      count,
    );
  }

  /** A sample out of the middle of each of the next frames. */
  hear(frames: number): number[] {
    return Array.from({ length: frames }, () => {
      this.buffer.read(this.frame);
      return this.frame[80] ?? 0;
    });
  }
}

describe('The jitter buffer', () => {
  it('hands audio out in order, 20 ms after it came', () => {
    const line = new Line();
    for (let n = 0; n < 3; n++) line.send(n);
    assert.deepEqual(line.hear(4), [0, 1, 2, 3]);
    assert.equal(line.buffer.stats().concealed, 0);
  });

  it('puts reordered packets right', () => {
    const line = new Line();
    for (const n of [0, 2, 1, 4, 3]) line.send(n);
    assert.deepEqual(line.hear(6), [0, 1, 2, 3, 4, 5]);
  });

  it('plays a doubled packet once', () => {
    const line = new Line();
    for (const n of [0, 1, 1, 1, 2]) line.send(n);
    assert.deepEqual(line.hear(4), [0, 1, 2, 3]);
    assert.equal(line.buffer.stats().duplicate, 2);
  });

  it('covers a lost packet by going on as before, until it fades', () => {
    const line = new Line();
    line.buffer.push(1, 0, 7, new Int16Array(160).fill(6000), 160);
    line.buffer.push(3, 320, 7, new Int16Array(160).fill(100), 160);
    assert.deepEqual(line.hear(4), [0, 6000, 6000, 100]);
    assert.deepEqual([line.buffer.stats().concealed, line.buffer.stats().lost], [1, 1]);
  });

  it('fades to silence within 60 ms when the party falls silent', () => {
    const line = new Line();
    line.buffer.push(1, 0, 7, new Int16Array(160).fill(6000), 160);
    assert.deepEqual(line.hear(6), [0, 6000, 6000, 3600, 1200, 0]);
  });

  it('is silent at once, and has lost nothing, when the party says that it falls silent', () => {
    const line = new Line();
    for (const n of [0, 1, 2]) line.buffer.push(n, n * 160, 7, new Int16Array(160).fill(6000), 160);
    line.buffer.note(3);
    line.buffer.rest(480);
    assert.deepEqual(line.hear(7), [0, 6000, 6000, 6000, 0, 0, 0]);
    for (let n = 0; n < 50; n++) line.hear(1); // a second of it
    const { concealed, lost } = line.buffer.stats();
    assert.deepEqual([concealed, lost], [0, 0]);
    line.buffer.push(4, 57 * 160, 7, new Int16Array(160).fill(3000), 160);
    assert.deepEqual(line.hear(3), [0, 3000, 3000]); // heard in its time; what is missing behind it is covered again
  });

  it('plays a packet that comes after its turn later, and waits longer from then on', () => {
    const line = new Line();
    line.send(0);
    line.hear(3); // packet 1 should have been heard now
    assert.equal(line.send(1, 160), true); // its turn is taken back: 20 ms more depth
    line.send(2);
    assert.deepEqual(line.hear(2), [2, 3]);
    line.hear(5);
    assert.equal(line.send(3), true);
    assert.deepEqual(line.hear(1), [4]);
  });

  it('plays all that comes after a stall of 140 ms, later', () => {
    const line = new Line();
    line.send(0);
    line.hear(9);
    for (let n = 1; n < 9; n++) assert.equal(line.send(n), true, `packet ${n}`);
    assert.deepEqual(line.hear(8), [2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('goes on through the wrap of sequence number and timestamp', () => {
    const line = new Line();
    line.sequence = 65534;
    line.timestamp = 0xffffffff - 200;
    for (let n = 0; n < 5; n++) line.send(n);
    assert.deepEqual(line.hear(6), [0, 1, 2, 3, 4, 5]);
    assert.deepEqual([line.buffer.stats().lost, line.buffer.stats().resets], [0, 0]);
  });

  it('begins anew when the stream changes', () => {
    const line = new Line();
    line.send(0);
    line.hear(2);
    Object.assign(line, { ssrc: 8, sequence: 9, timestamp: 77 });
    line.send(4);
    assert.deepEqual(line.hear(2), [1, 5]); // the old one fades out first
  });

  it('follows a party whose timestamps jump, but no single stray packet', () => {
    const line = new Line();
    for (let n = 0; n < 3; n++) line.send(n);
    assert.equal(line.buffer.push(40_000, 3_000_000_000, 7, packet(90), 160), false);
    line.hear(2);
    line.send(3);
    assert.deepEqual(line.hear(3), [2, 3, 4]);
    assert.equal(line.buffer.push(1004, 3_000_000_000, 7, packet(50), 160), true);
    assert.deepEqual(line.hear(2), [4, 51]); // the old stream fades out first
  });

  it('plays packets of 10, 30 and 60 ms alike', () => {
    for (const samples of [80, 240, 480]) {
      const line = new Line();
      for (let n = 0; n * samples < 1280; n++)
        line.buffer.push(n, n * samples, 7, new Int16Array(samples).fill(9), samples);
      assert.deepEqual(line.hear(7).slice(1), [9, 9, 9, 9, 9, 9], `${samples} samples`);
    }
  });

  it('catches up after a burst: never more than 240 ms behind', () => {
    const line = new Line();
    for (let n = 0; n < 24; n++) line.send(n);
    line.hear(1);
    assert.ok(line.buffer.stats().depth_ms <= 40, `${line.buffer.stats().depth_ms} ms`);
  });

  for (const ppm of [200, -200])
    it(`follows a party whose clock is ${Math.abs(ppm)} ppm ${ppm > 0 ? 'fast' : 'slow'} for five minutes, with a handful of frames touched`, () => {
      const line = new Line();
      let [sent, deepest] = [0, 0];
      for (let tick = 0; tick < 15_000; tick++) {
        for (; sent * (1 - ppm / 1e6) <= tick; sent++) line.send(sent);
        line.hear(1);
        deepest = Math.max(deepest, line.buffer.stats().depth_ms);
      }
      assert.ok(deepest <= 80, `${deepest} ms behind`);
      assert.ok(line.buffer.stats().concealed <= 12, `${line.buffer.stats().concealed} frames made up`);
    });

  for (const [loud, within] of [
    [0, 40],
    [9000, 80],
  ] as const) {
    it(`returns to ${within - 20} ms when the network has calmed down, ${loud === 0 ? 'in a silence' : 'in the middle of speech'}`, () => {
      const line = new Line();
      const samples = new Int16Array(160).fill(loud);
      for (let n = 0; n < 9; n++) line.buffer.push(n, n * 160, 7, samples, 160);
      for (let n = 9; n < 3000; n++) {
        line.buffer.push(n, n * 160, 7, samples, 160);
        line.hear(1);
      }
      assert.ok(line.buffer.stats().depth_ms <= within, `${line.buffer.stats().depth_ms} ms`);
      assert.equal(line.frame[0], loud);
    });
  }

  it('gives the delay of a single stall back within two and a half seconds, but 40 ms of it', () => {
    const line = new Line();
    const samples = new Int16Array(160);
    const push = (n: number): boolean => line.buffer.push(n, n * 160, 7, samples, 160);
    for (let n = 0; n < 235; n++) {
      if (n < 100 || n > 109) push(n);
      if (n === 109) for (let late = 100; late <= n; late++) push(late);
      line.hear(1);
      if (n === 110) assert.ok(line.buffer.stats().depth_ms >= 160, 'all of it is heard');
    }
    assert.ok(line.buffer.stats().depth_ms <= 80, `${line.buffer.stats().depth_ms} ms`);
  });

  it('grows with the jitter of the network, shrinks when it calms down, and does so again, with a handful of frames made up', () => {
    const line = new Line();
    const due: number[][] = [];
    /** Sends a packet a tick for so many ticks, each late by up to `frames`, in no order; the greatest depth of the last four seconds. */
    const network = (ticks: number, frames: number): number => {
      let deepest = 0;
      for (const end = now + ticks; now < end; now++) {
        (due[now + ((now * 5) % (frames + 1))] ??= []).push(now);
        for (const one of due[now] ?? []) line.send(one);
        line.hear(1);
        if (now >= end - 200) deepest = Math.max(deepest, line.buffer.stats().depth_ms);
      }
      return deepest;
    };
    let now = 0;
    const calm = network(500, 0);
    const restless = network(1500, 3);
    const worse = network(1500, 6);
    const better = network(6000, 1);
    const again = network(1500, 6);
    assert.ok(calm <= 40 && restless >= 60 && worse >= 120, `${calm}, ${restless}, ${worse} ms`);
    assert.ok(better <= 80 && again >= 120, `${better}, ${again} ms`);
    const { late, concealed } = line.buffer.stats();
    assert.ok(late === 0 && concealed <= 10, `${late} packets late, ${concealed} frames of 11 000 made up`);
  });

  it('dares less on a network that hiccups again and again: six times in a minute cost two frames', () => {
    const line = new Line();
    for (let n = 0; n < 3000; n++) {
      const late = n % 500 === 499 || n % 500 === 498; // two packets come 40 and 20 ms late, with the next one
      if (!late) for (let one = n % 500 === 0 && n > 0 ? n - 2 : n; one <= n; one++) line.send(one);
      line.hear(1);
    }
    const { concealed, depth_ms } = line.buffer.stats();
    assert.ok(concealed > 0 && concealed <= 2, `${concealed} frames made up`);
    assert.ok(depth_ms <= 60, `${depth_ms} ms`);
  });

  it('leaves the time of a pressed key silent, the sound around it not', () => {
    const line = new Line();
    line.send(0);
    line.buffer.silence(5160, 320);
    for (let n = 1; n < 8; n++) line.send(n);
    assert.deepEqual(line.hear(9), [0, 1, 0, 0, 0, 0, 0, 7, 8]);
  });

  it('survives any packets in any order', () => {
    const arrival = fc.record({
      sequence: fc.nat(65535),
      timestamp: fc.nat(0xffffffff),
      ssrc: fc.nat(3),
      count: fc.integer({ min: 1, max: 1600 }),
      reads: fc.nat(3),
    });
    const samples = new Int16Array(1600).fill(5);
    fc.assert(
      fc.property(fc.array(arrival, { maxLength: 60 }), arrivals => {
        const buffer = new JitterBuffer();
        const frame = new Int16Array(160);
        for (const one of arrivals) {
          buffer.push(one.sequence, one.timestamp, one.ssrc, samples, one.count);
          buffer.silence(one.timestamp, one.count);
          for (let i = 0; i < one.reads; i++) buffer.read(frame);
        }
        assert.ok(buffer.stats().depth_ms <= 1024);
      }),
    );
  });
});
