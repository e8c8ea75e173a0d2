import { strict as assert } from 'node:assert';
import { mock } from 'node:test';
import { Deadline } from '../../../../media-app/conference/deadline.ts';

describe('the timeout of a conference', () => {
  let rung = 0;
  let deadline: Deadline;
  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 });
    rung = 0;
    deadline = new Deadline(() => (rung += 1));
  });
  afterEach(() => mock.timers.reset());

  it('rings once, when its seconds are over', () => {
    deadline.set(60);
    mock.timers.tick(59_999);
    assert.equal(rung, 0);
    mock.timers.tick(1);
    assert.equal(rung, 1);
    mock.timers.tick(120_000);
    assert.equal(rung, 1);
  });

  it('set anew replaces what was set, and 0 stops it', () => {
    deadline.set(60);
    mock.timers.tick(50_000);
    deadline.set(60);
    mock.timers.tick(59_000);
    assert.equal(rung, 0);
    deadline.set(0);
    mock.timers.tick(100_000);
    assert.deepEqual([rung, deadline.at], [0, 0]);
  });

  it('may be longer than a timer of Node', () => {
    deadline.set(30 * 86_400);
    mock.timers.tick(30 * 86_400_000 - 1);
    assert.equal(rung, 0);
    mock.timers.tick(1);
    assert.equal(rung, 1);
  });

  it('that passed while no node held it rings at once', () => {
    deadline.until(999_000);
    mock.timers.tick(1);
    assert.equal(rung, 1);
  });
});
