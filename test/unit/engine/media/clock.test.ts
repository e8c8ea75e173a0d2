import { strict as assert } from 'node:assert';
import { MediaClock } from '../../../../engine/media/clock.ts';
import { stall } from './leg-rig.ts';

describe('The media clock', () => {
  it('does not drift: 100 ticks take two seconds, and it tells how late they were', async () => {
    const own = new MediaClock();
    const times: number[] = [];
    await new Promise<void>(resolve => {
      const stop = own.subscribe(() => {
        times.push(performance.now());
        if (times.length > 100) {
          stop();
          resolve();
        }
      });
    });
    const took = (times[100] ?? 0) - (times[0] ?? 0);
    assert.ok(Math.abs(took - 2000) < 40, `${took} ms`);
    assert.ok(own.stats().mean_late_ms < 20 && own.stats().ticks === 101);
  });

  it('makes up for a short stall and skips a long one', async () => {
    const own = new MediaClock();
    let count = 0;
    const ticked = new Promise<void>(resolve => {
      const stop = own.subscribe(() => {
        if (++count === 1) stall(700);
        if (count === 29) {
          stop();
          resolve();
        }
      });
    });
    await ticked;
    assert.ok(own.stats().skipped >= 5 && own.stats().skipped <= 15, `${own.stats().skipped} skipped`);
    assert.ok(own.stats().max_late_ms > 100);
  });

  it('goes on for the others when one subscriber throws, and stops with the last', async () => {
    const errors: unknown[] = [];
    const own = new MediaClock(error => errors.push(error));
    const stopBroken = own.subscribe(() => {
      throw new Error('broken');
    });
    await new Promise<void>(resolve => {
      const stop = own.subscribe(() => {
        stop();
        resolve();
      });
    });
    stopBroken();
    assert.equal(errors.length, 1);
    assert.equal(own.stats().subscribers, 0);
  });
});
