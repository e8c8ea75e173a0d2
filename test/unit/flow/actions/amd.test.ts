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

describe('amd', () => {
  it('waits for the verdict and keeps it in variables', async () => {
    const world = await play({}, 'machine');
    assert.deepEqual([variable(world, 'result'), variable(world, 'confidence')], ['machine', '0.9']);
    assert.equal(world.clock.elapsed, 7000);
  });

  it('hangs up on a machine where the author wants that', async () => {
    const world = await play({ machine_handle: 'hangup' }, 'machine');
    assert.deepEqual(world.heard, ['amd', 'hangup amd']);
    assert.equal(world.clock.elapsed, 2000);
  });

  it('never hangs up on a person, nor when it is not sure', async () => {
    for (const result of ['human', 'notsure'] as const) {
      const world = await play({ machine_handle: 'hangup' }, result);
      assert.deepEqual([variable(world, 'result'), world.heard], [result, ['amd', 'hangup normal']]);
    }
  });

  it('goes on at once when it is asynchronous, and keeps the verdict when it comes', async () => {
    const world = await play({ async: true, machine_handle: 'continue' }, 'human');
    assert.deepEqual([variable(world, 'result'), world.clock.elapsed], ['human', 5000]);
  });

  it('hangs up on a machine that it finds aside', async () => {
    const world = await play({ async: true, machine_handle: 'hangup' }, 'machine');
    assert.deepEqual(world.heard.slice(0, 2), ['amd', 'hangup amd']);
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
