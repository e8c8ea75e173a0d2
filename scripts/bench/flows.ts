import fc from 'fast-check';
import { FlowAgreement } from '../../test/support/flow-agreement.ts';
import type { FlowPlan } from '../../test/support/flow-plan.ts';
import { drawnFlows } from '../../test/support/random-flow.ts';
import { startStack } from '../../test/support/stack.ts';

/** Calls in the air at once: so few that the machine keeps the flows' time. */
const AT_ONCE = 8;
const TOLD_EVERY = 50;

/** The first `count` flows of a seed that real calls have the time for. */
const plansOf = async (agreement: FlowAgreement, count: number, seed: number): Promise<FlowPlan[]> => {
  const drawn = fc.sample(drawnFlows(agreement.surroundings), { numRuns: count * 2, seed });
  const plans: FlowPlan[] = [];
  for (const flow of drawn) {
    const plan = plans.length < count ? await agreement.plan(flow) : undefined;
    if (plan) plans.push(plan);
  }
  return plans;
};

const differs = async (agreement: FlowAgreement, plan: FlowPlan): Promise<unknown> =>
  agreement.difference(plan).catch((error: unknown) => ({ error: String(error) })); // counted like any other

/** Runs them several at a time; those that did not agree come back. */
const runAll = async (agreement: FlowAgreement, plans: FlowPlan[]): Promise<FlowPlan[]> => {
  const doubtful: FlowPlan[] = [];
  let done = 0;
  const waiting = [...plans];
  const worker = async (): Promise<void> => {
    for (let plan = waiting.shift(); plan; plan = waiting.shift()) {
      if (await differs(agreement, plan)) doubtful.push(plan);
      if ((done += 1) % TOLD_EVERY === 0) console.log(`${done} flows, ${doubtful.length} to look at again`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return doubtful;
};

const countOf = (plans: FlowPlan[]): string => {
  const counts = new Map<string, number>();
  for (const { action } of plans.flatMap(({ simulation }) => simulation.trace))
    counts.set(action.type, (counts.get(action.type) ?? 0) + 1);
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([type, count]) => `${type} ${count}`)
    .join(', ');
};

/**
 * Runs random flows on real calls and in the simulator, and counts how often both take the same actions and end with the
 * same variables. A flow that does not is run once more alone: on a busy machine a key may come late.
 */
export const flowsBench = async (count: number, seed: number): Promise<void> => {
  console.log(`${count} random flows, ${AT_ONCE} calls at once, seed ${seed}`);
  const stack = await startStack();
  const agreement = new FlowAgreement(stack);
  try {
    await agreement.start();
    const plans = await plansOf(agreement, count, seed);
    const began = performance.now();
    const doubtful = await runAll(agreement, plans);
    let wrong = 0;
    for (const plan of doubtful) {
      const difference = await differs(agreement, plan);
      if (difference) wrong += 1;
      if (difference) console.log(`differs: ${JSON.stringify(difference)}\n  of ${JSON.stringify(plan.actions)}\n  with ${JSON.stringify(plan.acts)}`); // prettier-ignore
    }
    const seconds = (performance.now() - began) / 1000;
    const acts = plans.flatMap(plan => plan.acts.map(act => act.do));
    const done = ['press', 'hangup', 'continue', 'leave'].map(
      what => `${what} ${acts.filter(act => act === what).length}`,
    );
    console.log(`actions taken: ${countOf(plans)}`);
    console.log(`done beside them: ${done.join(', ')}`);
    console.log(
      `${plans.length - wrong} of ${plans.length} flows agree (${doubtful.length - wrong} at the second try), ${seconds.toFixed(0)} s, seed ${seed}`,
    );
    if (wrong) process.exitCode = 1;
    await agreement.close();
  } finally {
    await stack.stop();
  }
};
