import { strict as assert } from 'node:assert';
import fc from 'fast-check';
import { ACTION_TYPES } from '#contract/action';
import { id, World } from './world.ts';

const names = ['a', 'b', 'c', 'd', 'e'];
const target = fc.constantFrom(...names, 'nowhere').map(id);
const junk = fc.dictionary(fc.constantFrom('text', 'length', 'digits', 'weekdays', 'destinations'), fc.jsonValue(), {
  maxKeys: 2,
});

const option = fc.record({
  target_id: target,
  false_target_id: target,
  default_target_id: target,
  target_ids: fc.dictionary(fc.constantFrom('', '1'), target),
  loop_count: fc.integer({ min: -1, max: 200 }),
  flow_id: fc.constantFrom(id('self'), id('absent')),
  duration: fc.integer({ min: -1, max: 5000 }),
  key: fc.constantFrom('', 'k', 'svc.activeflow.complete_count'),
  value: fc.constantFrom('', '${k}${k}x', '1'),
  uri: fc.constantFrom('http://h', ''),
  sync: fc.boolean(),
});

const actions = fc.array(
  fc.record({
    id: fc.constantFrom(...names).map(id),
    next_id: fc.oneof({ weight: 3, arbitrary: fc.constant('') }, { weight: 1, arbitrary: target }),
    type: fc.constantFrom(...ACTION_TYPES.filter(type => type !== 'block')),
    option: fc.tuple(option, junk).map(([sound, odd]) => ({ ...sound, ...odd })),
  }),
  { maxLength: 8 },
);

describe('any flow at all', () => {
  it('comes to an end within the limits, and never throws', async function () {
    this.timeout(60_000);
    const reference = fc.constantFrom('call' as const, 'api' as const);
    const property = fc.asyncProperty(actions, reference, fc.boolean(), async (flow, kind, broken) => {
      const storable = !/\\u0000|\0/.test(JSON.stringify(flow));
      fc.pre(storable);
      const world = await new World({
        actions: flow,
        reference: kind,
        flows: { [id('self')]: flow },
        broken: broken ? ['talk', 'play', 'echo', 'answer', 'hangup'] : [],
      }).run();
      assert.equal(world.runner.activeflow.status, 'ended');
      assert.ok(world.runner.activeflow.executed_actions.length <= 101);
      assert.equal(world.commits.at(-1)?.activeflow.status, 'ended');
    });
    await fc.assert(property, { numRuns: 300 });
  });
});
