import { strict as assert } from 'node:assert';
import { readableLine } from '../../../scripts/start/log-lines.ts';

describe('the readable log', () => {
  const time = new Date(2026, 10, 21, 12, 0, 1).getTime();

  it('unfolds a JSON line into time, process, level, message and fields', () => {
    const line = JSON.stringify({ level: 30, time, pid: 1, hostname: 'h', call_id: 'c1', msg: 'ringing' });
    assert.equal(readableLine('media-app', line), '12:00:01  media-app    info   ringing call_id=c1');
  });

  it('shows terminal commands from the wire instead of obeying them', () => {
    const line = JSON.stringify({ level: 40, time, msg: 'odd \u001b[2J header' });
    assert.match(readableLine('engine', line), /warn {3}odd \\x1b\[2J header$/);
  });

  it('keeps the first lines of a stack', () => {
    const line = JSON.stringify({ level: 50, time, msg: 'failed', err: { message: 'x', stack: 'Error: x\n at y' } });
    assert.match(readableLine('engine', line), /error {2}failed\n {4}Error: x\n {4} at y$/);
  });

  it('passes a line that is no JSON as it is', () => {
    assert.match(readableLine('engine', '{ not json'), /info {3}\{ not json$/);
  });
});
