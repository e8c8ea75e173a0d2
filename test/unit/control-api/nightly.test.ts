import { strict as assert } from 'node:assert';
import { mock } from 'node:test';
import { startNightly } from '../../../control-api/jobs/nightly.ts';

const HOUR_MS = 3_600_000;

describe('work of the night (31)', () => {
  let nights: string[];
  let job: { stop(): void };
  const startAt = (hour: number, now: string): void => {
    mock.timers.enable({ apis: ['setTimeout', 'Date'], now: new Date(now) });
    nights = [];
    job = startNightly(hour, at => nights.push(at.toISOString()));
  };
  afterEach(() => {
    job.stop();
    mock.timers.reset();
  });

  const cases: [hour: number, started: string, night: string, missed: string][] = [
    [4, '2026-03-01T03:59:59Z', '2026-03-01T04:00:00.000Z', '2026-02-28T04:00:00.000Z'],
    [4, '2026-03-01T04:00:00Z', '2026-03-02T04:00:00.000Z', '2026-03-01T04:00:00.000Z'],
    [1, '2026-12-31T17:30:00Z', '2027-01-01T01:00:00.000Z', '2026-12-31T01:00:00.000Z'],
    [1, '2026-06-15T00:00:00Z', '2026-06-15T01:00:00.000Z', '2026-06-14T01:00:00.000Z'],
  ];
  for (const [hour, started, night, missed] of cases)
    it(`at ${hour} o'clock UTC, begun ${started}, is done at ${night} and not a moment before`, () => {
      startAt(hour, started);
      const wait = Date.parse(night) - Date.parse(started);
      mock.timers.tick(wait - 1);
      assert.deepEqual(nights, [missed], 'what the last night missed');
      mock.timers.tick(1);
      assert.deepEqual(nights, [missed, night]);
    });

  it('is done once a night, for a year', () => {
    startAt(4, '2026-03-01T12:00:00Z');
    for (let hour = 0; hour < 365 * 24; hour += 1) mock.timers.tick(HOUR_MS);
    assert.equal(nights.length, 1 + 365);
    assert.equal(new Set(nights).size, nights.length);
    assert.ok(nights.every(at => at.endsWith('T04:00:00.000Z')));
  });

  it('is done no more when it is stopped', () => {
    startAt(1, '2026-03-01T00:30:00Z');
    job.stop();
    mock.timers.tick(48 * HOUR_MS);
    assert.equal(nights.length, 1);
  });
});
