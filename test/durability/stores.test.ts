import { strict as assert } from 'node:assert';
import { killInAStorm, VICTIMS } from '../../scripts/bench/durability.ts';
import { startStack, type Stack } from '../support/stack.ts';

/** A short `npm run bench -- durability`: the same writes, witnesses and verdict. */
describe('kill -9 while clients write', function () {
  this.timeout(120_000);
  let stack: Stack;

  before(async () => {
    stack = await startStack({ env: { LOG_LEVEL: 'warn' }, ownPostgres: true });
  });
  after(() => stack.stop());

  it('control-api, Redis and PostgreSQL killed: every acknowledged write is told once, in order, to WebSocket and webhook', async () => {
    const { faults, acknowledged, connections, events } = await killInAStorm(stack, VICTIMS);
    assert.deepEqual(faults, []);
    assert(acknowledged > 20 && events > acknowledged / 2, 'there was a storm');
    assert(connections > 1, 'the WebSocket client was cut off and resumed');
  });
});
