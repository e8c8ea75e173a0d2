import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import type { FrameSource } from '../../../../engine/media/audio-leg.ts';
import { frameSamples } from '../../../../engine/media/clock.ts';
import type { Seat } from '../../../../engine/media/mixer.ts';
import { Mixer } from '../../../../engine/media/mixer.ts';
import { addTone, toneAmplitude } from '../../../../engine/media/tones.ts';

const constant = (value: number): Int16Array => new Int16Array(frameSamples).fill(value);

/** A mixer whose tick the test moves on, with parties that say one value each. */
function mixerWith(...values: number[]): { mixer: Mixer; seats: Seat[]; next: () => void } {
  const clock = { now: 0 };
  const mixer = new Mixer(clock);
  const seats = values.map(value => mixer.add(() => constant(value)));
  return { mixer, seats, next: () => void (clock.now += 1) };
}

function heardBy(seat: Seat | undefined): number | undefined {
  const frame = new Int16Array(frameSamples);
  assert.ok(seat?.read(frame));
  assert.ok(frame.every(sample => sample === frame[0]));
  return frame[0];
}

function framesOf(value: number, count: number): FrameSource {
  let left = count;
  return { read: frame => left-- > 0 && (frame.fill(value), true) };
}

describe('the mixer of a conference', () => {
  it('lets every party hear the others and not itself', () => {
    const { seats } = mixerWith(1, 20, 300);
    assert.deepEqual(seats.map(heardBy), [320, 301, 21]);
  });

  it('takes the own voice out before the sum is limited, so that three shouting parties come back undistorted', () => {
    const { seats, mixer } = mixerWith(30_000, 30_000, -30_000);
    assert.deepEqual(seats.map(heardBy), [0, 0, 32_767]);
    assert.equal(mixer.all()[0], 30_000);
  });

  it('asks every party once per tick, however many listen', () => {
    const clock = { now: 7 };
    const mixer = new Mixer(clock);
    let asked = 0;
    const seats = [1, 2, 3].map(value => mixer.add(() => ((asked += 1), constant(value))));
    seats.forEach(heardBy);
    assert.equal(asked, 3);
    clock.now += 1;
    seats.forEach(heardBy);
    assert.equal(asked, 6);
  });

  it('leaves out a party that is muted, from the next tick on', () => {
    const { seats, next } = mixerWith(1, 20);
    const [a, b] = seats;
    assert.equal(heardBy(b), 1);
    if (a) a.speaks = false;
    assert.equal(heardBy(a), 20);
    next();
    assert.deepEqual([heardBy(b), a?.level], [0, 1]);
  });

  it('gives silence to a party that is deaf, except what is played to it', () => {
    const { seats } = mixerWith(1, 20);
    const [, b] = seats;
    if (b) b.hears = false;
    assert.equal(heardBy(b), 0);
    b?.play(framesOf(5, 9), () => undefined);
    assert.equal(heardBy(b), 5);
  });

  it('makes a party louder or quieter for the others, within 16 bits, and takes the same out of what it hears', () => {
    const { seats, mixer, next } = mixerWith(100, 20_000, 3);
    const [a, b] = seats;
    assert.ok(a && b);
    Object.assign(a.gain, { said: 0.2 });
    Object.assign(b.gain, { said: 4 });
    assert.deepEqual(seats.map(heardBy), [32_767, 23, 32_767]);
    assert.equal(mixer.all()[0], 32_767);
    Object.assign(b.gain, { said: 1, heard: 2.3 });
    next();
    assert.deepEqual(seats.map(heardBy), [20_003, 53, 20_020]);
  });

  it('leaves a party out that is too faint, or out of the talk', () => {
    const { seats, next } = mixerWith(1, 20, 300);
    const [a, b] = seats;
    assert.ok(a && b);
    a.faint = true;
    b.away = true;
    assert.deepEqual(seats.map(heardBy), [300, 0, 0]);
    a.faint = b.away = false;
    next();
    assert.deepEqual(seats.map(heardBy), [320, 301, 21]);
  });

  it('keeps one party from hearing one other', () => {
    const { seats } = mixerWith(1, 20, 300);
    const [a, b] = seats;
    if (a && b) a.without.add(b);
    assert.deepEqual(seats.map(heardBy), [300, 301, 21]);
  });

  it('mixes what is played to everybody until it ends, and says so once', async () => {
    const { mixer, seats, next } = mixerWith(1, 20);
    let ended = 0;
    mixer.play(framesOf(1000, 2), () => (ended += 1));
    const heard: (number | undefined)[] = [];
    for (let tick = 0; tick < 4; tick += 1, next()) heard.push(heardBy(seats[0]));
    await Promise.resolve();
    assert.deepEqual([heard, ended], [[1020, 1020, 20, 20], 1]);
  });

  it('forgets a party that has left, also where another did not hear it', () => {
    const { mixer, seats, next } = mixerWith(1, 20, 300);
    const [a, b] = seats;
    if (a && b) a.without.add(b);
    if (b) mixer.remove(b);
    next();
    assert.deepEqual([heardBy(a), a?.without.size], [300, 0]);
  });

  it('lets nobody hear anybody while it is hushed', () => {
    const { mixer, seats } = mixerWith(1, 20);
    mixer.hushed = true;
    assert.deepEqual(seats.map(heardBy), [0, 0]);
  });

  it('goes on without a sound that breaks, which ends then', async () => {
    const { mixer, seats } = mixerWith(1, 20);
    const warned = once(process, 'warning');
    const ended = new Promise<void>(resolve => mixer.play({ read: () => assert.fail('broken') }, resolve));
    assert.deepEqual(seats.map(heardBy), [20, 1]);
    await Promise.all([ended, warned]);
  });

  it('mixes fifty parties, each hearing the forty-nine others', () => {
    const clock = { now: 0 };
    const mixer = new Mixer(clock);
    const seats = Array.from({ length: 50 }, (_, index) => {
      const said = new Int16Array(frameSamples);
      addTone(said, 50 * (index + 1), 500, 0);
      return mixer.add(() => said);
    });
    const frame = new Int16Array(frameSamples);
    for (; clock.now < 50; clock.now += 1) for (const seat of seats) seat.read(frame);
    const heard = Array.from({ length: 50 }, (_, index) => toneAmplitude(frame, 50 * (index + 1)) > 400);
    assert.deepEqual(heard.indexOf(false), 49);
  });
});
