import { strict as assert } from 'node:assert';
import fc from 'fast-check';
import { ACTION_TYPES, type ActionInput } from '#contract/action';
import type { FlowTemplate } from '#contract/flow';
import { EMPTY_ID } from '#contract/ids';
import { simulationSchema, type Simulation } from '#flow/simulator/result';
import { scriptSchema } from '#flow/simulator/script';
import { simulate } from '#flow/simulator/simulate';
import { validateActions } from '#flow/validate';
import { WARNING_CODES } from '#flow/warnings';
import { CUSTOMER, id, World } from './world.ts';

const names = ['a', 'b', 'c', 'd', 'e'];
const target = fc.constantFrom(...names, 'nowhere').map(id);
const destination = fc.constantFrom('1001', '1002').map(number => ({ type: 'extension', target: number }));

const option = fc.record({
  target_id: target,
  false_target_id: target,
  default_target_id: target,
  target_ids: fc.dictionary(fc.constantFrom('', '1', '12'), target),
  loop_count: fc.integer({ min: -1, max: 200 }),
  flow_id: fc.constantFrom(id('self'), ''),
  duration: fc.integer({ min: -1, max: 5000 }),
  length: fc.integer({ min: 0, max: 3 }),
  text: fc.constantFrom('', 'Hello ${k}', '<speak>x</speak>'),
  digits: fc.constantFrom('', '12#'),
  stream_urls: fc.constantFrom([], ['http://a']),
  destinations: fc.array(destination, { maxLength: 2 }),
  key: fc.constantFrom('', 'k', '#', 'svc.call.digits'),
  value: fc.constantFrom('', '${k}${k}x', '1'),
  condition: fc.constantFrom('==', '!='),
  variable: fc.constantFrom('${k}', 'k', 'svc.call.digits'),
  value_type: fc.constantFrom('string', 'length'),
  uri: fc.constantFrom('http://h', ''),
  event_url: fc.constantFrom('http://h', ''),
  sync: fc.boolean(),
});

const flows = (types: readonly string[]): fc.Arbitrary<ActionInput[]> =>
  fc.array(
    fc.record({
      id: fc.constantFrom(...names).map(id),
      next_id: fc.oneof({ weight: 3, arbitrary: fc.constant('') }, { weight: 1, arbitrary: target }),
      type: fc.constantFrom(...types),
      option,
    }),
    { maxLength: 8 },
  );

const answer = fc.record({
  result: fc.constantFrom('answered', 'busy', 'noanswer', 'failed', 'refused'),
  after_ms: fc.integer({ min: 0, max: 100_000 }),
  talk_ms: fc.integer({ min: 0, max: 1_000_000 }),
});
const http = fc.record({
  status: fc.constantFrom(200, 204, 500),
  body: fc.constantFrom('', '[]', '[{"type":"answer"},{"type":"beep"}]', '{'),
  after_ms: fc.integer({ min: 0, max: 60_000 }),
  fails: fc.boolean(),
});
const script = fc.record(
  {
    digits: fc.array(fc.record({ at_ms: fc.nat(100_000), digits: fc.constantFrom('1', '12#', '0*0') }), {
      maxLength: 5,
    }),
    hangup_at_ms: fc.nat(200_000),
    answer: fc.dictionary(fc.constantFrom('1001', '*'), answer),
    http: fc.array(http, { maxLength: 4 }),
    continue_after_ms: fc.nat(10_000),
    call: fc.record({ direction: fc.constantFrom('incoming', 'outgoing') }),
    max_ms: fc.integer({ min: 1, max: 86_400_000 }),
  },
  { requiredKeys: [] },
);

const run = (actions: ActionInput[], reference_type: 'call' | 'api', given: object, complete = EMPTY_ID) => {
  const template: FlowTemplate = {
    id: id('self'),
    customer_id: CUSTOMER,
    actions: validateActions(actions),
    on_complete_flow_id: complete,
  };
  const flow = async (flowId: string) => (flowId === id('self') ? template : undefined);
  const now = new Date('2026-11-21T10:30:00Z');
  return simulate({ template, reference_type, variables: {}, script: scriptSchema.parse(given), now, flow });
};

const reference = fc.constantFrom('call' as const, 'api' as const);
const own = new Set(names.map(id));
/** An action in short; ids that were made at run time are left out. */
const short = (one: { type: string; id: string }): string => `${one.type} ${own.has(one.id) ? one.id : 'made'}`;
const idsOf = ({ trace }: Simulation): string[] => trace.map(step => short(step.action));

describe('any flow against any script', () => {
  it('ends within the limits and says why', async function () {
    this.timeout(60_000);
    const complete = fc.constantFrom(EMPTY_ID, id('self'));
    const property = fc.asyncProperty(
      flows(ACTION_TYPES),
      reference,
      script,
      complete,
      async (flow, kind, given, after) => {
        const result = simulationSchema.parse(await run(flow, kind, given, after));
        const moments = result.events.map(({ at_ms }) => at_ms);
        assert.ok(result.trace.length <= 5 * 101);
        assert.ok(result.on_complete.length <= 4);
        assert.ok(result.ended.at_ms <= (given.max_ms ?? 3_600_000));
        assert.deepEqual(
          moments,
          moments.toSorted((a, b) => a - b),
        );
        assert.ok(result.trace.every(step => step.until_ms >= step.at_ms));
        assert.ok(result.warnings.every(({ code, index }) => WARNING_CODES.includes(code) && index < flow.length));
      },
    );
    await fc.assert(property, { numRuns: 200 });
  });

  it('does the same twice', async function () {
    this.timeout(60_000);
    const property = fc.asyncProperty(flows(ACTION_TYPES), reference, script, async (flow, kind, given) => {
      const [one, two] = [await run(flow, kind, given), await run(flow, kind, given)];
      assert.deepEqual([idsOf(one), one.events, one.ended], [idsOf(two), two.events, two.ended]);
    });
    await fc.assert(property, { numRuns: 50 });
  });

  it('takes the actions in the order in which a real run takes them', async function () {
    this.timeout(60_000);
    const running = flows(ACTION_TYPES.filter(type => type !== 'block'));
    const property = fc.asyncProperty(running, reference, async (flow, kind) => {
      const world = await new World({
        actions: flow,
        reference: kind,
        flows: { [id('self')]: flow },
        http: [''],
      }).run();
      const { executed_actions, current_action } = world.runner.activeflow;
      const real = [...executed_actions, current_action].filter(one => one.type !== '');
      const simulated = await run(flow, kind, { max_ms: 86_400_000 });
      // A trace may be too large where a run is not; it is the same up to there.
      const compared = simulated.ended.reason === 'size_limit' ? simulated.trace.length : real.length;
      assert.deepEqual(idsOf(simulated), real.slice(0, compared).map(short));
    });
    await fc.assert(property, { numRuns: 300 });
  });
});
