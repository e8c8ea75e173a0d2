import { strict as assert } from 'node:assert';
import { fuzz } from '../../scripts/bench/fuzz.ts';

describe('malformed requests', () => {
  it('are refused with an envelope, never with a failure of ours, and change nothing', async function () {
    this.timeout(60_000);
    const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 32);
    const { statuses, complaints } = await fuzz(800, seed);
    assert.deepEqual(complaints, [], `seed ${seed}`);
    assert.ok((statuses[400] ?? 0) > 200, `seed ${seed}: ${JSON.stringify(statuses)}`);
  });
});
