import { strict as assert } from 'node:assert';
import fc from 'fast-check';
import { FlowAgreement } from '../support/flow-agreement.ts';
import { drawnFlows } from '../support/random-flow.ts';
import { sharedStack } from '../support/stack.ts';

/** Flows drawn at random (`TEST_FLOWS`), and how many of them run at once. A flow takes a second of a real call. */
const FLOWS = Number(process.env['TEST_FLOWS'] ?? 30);
const AT_ONCE = 6;

describe('a simulated flow and the same flow on a call', function () {
  this.timeout(20_000 + FLOWS * 4000);
  let agreement: FlowAgreement;

  before(async () => {
    agreement = new FlowAgreement(await sharedStack());
    await agreement.start();
  });
  after(() => agreement.close());

  it(`take the same actions in the same order, ${FLOWS} times at random`, async () => {
    const drawn = fc.sample(drawnFlows(agreement.surroundings), FLOWS);
    const worker = async (): Promise<void> => {
      for (let flow = drawn.shift(); flow; flow = drawn.shift()) {
        const plan = await agreement.plan(flow);
        const difference = plan && (await agreement.difference(plan));
        assert.equal(difference, undefined, `${JSON.stringify(difference)} ${JSON.stringify(plan)}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  });
});
