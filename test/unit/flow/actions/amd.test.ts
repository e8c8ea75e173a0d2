import { strict as assert } from 'node:assert';
import type { AmdVerdict } from '#flow/action';
import { action, id, World, type WorldOptions } from '../world.ts';

const play = async (
  option: Record<string, unknown>,
  result: AmdVerdict['result'],
  more: Partial<WorldOptions> = {},
): Promise<World> => {
  const world = new World({ actions: [action('a', 'amd', option), action('s', 'sleep', { duration: 5000 })], ...more });
  world.verdict = { result, confidence: 0.9 };
  return world.run();
};
const variable = (world: World, name: string): string => world.runner.variables.get(`svc.call.amd_${name}`);

/** voice-and-flows 16: machine_handle and async, the verdict, and what then is heard of it and when the flow goes on. */
const HANDLED: [machine_handle: string | undefined, async: boolean, AmdVerdict['result'], 'hung up' | 'goes on'][] = [
  [undefined, false, 'machine', 'goes on'],
  ['', false, 'machine', 'goes on'],
  ['continue', false, 'machine', 'goes on'],
  ['hangup', false, 'machine', 'hung up'],
  ['hangup', false, 'human', 'goes on'],
  ['hangup', false, 'notsure', 'goes on'],
  ['continue', false, 'human', 'goes on'],
  [undefined, true, 'machine', 'goes on'],
  ['continue', true, 'machine', 'goes on'],
  ['hangup', true, 'machine', 'hung up'],
  ['hangup', true, 'human', 'goes on'],
  ['hangup', true, 'notsure', 'goes on'],
];

describe('amd', () => {
  for (const [machine_handle, async, result, outcome] of HANDLED)
    it(`machine_handle ${machine_handle ?? 'unset'}, ${async ? 'aside' : 'waited for'}, ${result}: the call ${outcome === 'hung up' ? 'is hung up' : 'goes on'}`, async () => {
      const world = await play({ ...(machine_handle === undefined ? {} : { machine_handle }), async }, result);
      const verdictAfter = 2000; // and the flow sleeps for 5000, in this world though its call is over
      const lasts = async ? 5000 : verdictAfter + (outcome === 'hung up' ? 0 : 5000);
      assert.deepEqual([variable(world, 'result'), world.clock.elapsed], [result, lasts]);
      assert.deepEqual(world.heard.slice(0, 2), ['amd', outcome === 'hung up' ? 'hangup amd' : 'hangup normal']);
    });

  it('keeps the verdict in variables', async () => {
    const world = await play({}, 'machine');
    assert.deepEqual([variable(world, 'result'), variable(world, 'confidence')], ['machine', '0.9']);
  });

  it('lets the flow branch on the verdict', async () => {
    const branch = action('b', 'condition_variable', {
      variable: 'svc.call.amd_result',
      value_string: 'machine',
      value_type: 'string',
      condition: '==',
      false_target_id: id('e'),
    });
    const actions = [action('a', 'amd'), branch, action('p', 'beep'), action('e', 'stop')];
    assert.ok((await play({}, 'machine', { actions })).heard.includes('beep'));
    assert.ok(!(await play({}, 'human', { actions })).heard.includes('beep'));
  });

  it('that fails lets the flow go on', async () => {
    const world = await play({ machine_handle: 'hangup' }, 'machine', { broken: ['detectMachine'] });
    assert.deepEqual([variable(world, 'result'), world.clock.elapsed], ['', 5000]);
  });

  it('that fails aside is told to the log', async () => {
    const world = await play({ async: true }, 'machine', { broken: ['detectMachine'] });
    assert.match(String(world.warnings[0]?.reason), /leg is gone/);
  });
});
