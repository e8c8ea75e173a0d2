import { strict as assert } from 'node:assert';
import { ACTION_TYPES } from '#contract/action';
import { actions as definitions } from '#flow/actions/index';
import { action, id, World, type WorldOptions } from '../world.ts';

/** True when a condition held: it goes on to beep, else it jumps to sleep. */
const holds = async (type: string, option: Record<string, unknown>, more: WorldOptions = {}): Promise<boolean> => {
  const condition = action('c', type, { false_target_id: id('no'), ...option });
  const world = await new World({ ...more, actions: [condition, action('yes', 'stop'), action('no', 'sleep')] }).run();
  assert.deepEqual(world.warnings, []);
  return world.path[2] === 'stop';
};

describe('the list of actions', () => {
  it('has every type of the catalogue once', () => {
    assert.deepEqual(definitions.map(({ type }) => type).sort(), [...ACTION_TYPES].sort());
  });

  it('accepts every option to be absent', () => {
    for (const { type, option } of definitions)
      if (type !== 'webhook_send') assert.doesNotThrow(() => option.parse({}), type);
  });
});

describe('branch', () => {
  const menu = (option: Record<string, unknown>) => [
    action('b', 'branch', { target_ids: { 1: id('one'), 2: id('two') }, default_target_id: id('other'), ...option }),
    action('one', 'beep', {}, 'end'),
    action('two', 'sleep', {}, 'end'),
    action('other', 'play', {}, 'end'),
    action('end', 'stop'),
  ];
  const cases: [string, string, string][] = [
    ['1', 'beep', 'follows the pressed key'],
    ['2', 'sleep', 'follows another key to another place'],
    ['3', 'play', 'takes the default when nothing matches'],
    ['', 'play', 'takes the default when nothing was pressed'],
    ['12', 'play', 'matches whole values only'],
    ['constructor', 'play', 'is not fooled by names that objects know'],
  ];
  for (const [digits, type, title] of cases)
    it(title, async () => {
      const world = new World({ actions: menu({}) });
      world.runner.variables.set('svc.call.digits', digits);
      await world.run();
      assert.equal(world.path[2], type);
      assert.equal(world.runner.variables.get('svc.call.digits'), '');
    });

  it('reads and resets the variable it is told', async () => {
    const world = await new World({ actions: menu({ variable: 'lang' }), variables: { lang: '2' } }).run();
    assert.deepEqual([world.path[2], world.runner.variables.get('lang')], ['sleep', '']);
  });

  it('to a place that does not exist stops the flow', async () => {
    const actions = menu({ variable: 'x', target_ids: { 1: id('gone') } });
    const world = await new World({ actions, variables: { x: '1' } }).run();
    assert.deepEqual(world.path, ['start', 'branch']);
  });
});

describe('goto', () => {
  const counts: [unknown, number][] = [
    [3, 4],
    [1, 2],
    [0, 1],
    [-2, 1],
    [undefined, 1],
  ];
  for (const [count, beeps] of counts)
    it(`with loop_count ${String(count)} lets the beep before it sound ${beeps} times`, async () => {
      const again = action('g', 'goto', { target_id: id('b'), ...(count === undefined ? {} : { loop_count: count }) });
      const world = await new World({ actions: [action('b', 'beep'), again] }).run();
      assert.equal(world.heard.filter(what => what === 'beep').length, beeps);
      assert.equal(world.path.at(-1), 'finish');
    });

  it('does not start counting again inside a loop around it', async () => {
    const actions = [
      action('b', 'beep'),
      action('in', 'goto', { target_id: id('b'), loop_count: 1 }),
      action('out', 'goto', { target_id: id('b'), loop_count: 2 }),
    ];
    const world = await new World({ actions }).run();
    assert.equal(world.heard.filter(what => what === 'beep').length, 4);
  });
});

describe('condition_variable', () => {
  const cases: [Record<string, unknown>, boolean][] = [
    [{ variable: '${name}', value_type: 'string', condition: '==', value_string: 'Ann' }, true],
    [{ variable: 'name', value_type: 'string', condition: '==', value_string: 'Ann' }, true],
    [{ variable: 'Ann', value_type: 'string', condition: '==', value_string: 'Ann' }, true],
    [{ variable: 'name', value_type: 'string', condition: '!=', value_string: 'Ann' }, false],
    [{ variable: 'name', value_type: 'string', condition: '<', value_string: 'ann' }, true],
    [{ variable: 'name', value_type: 'string', condition: '<', value_string: '\u{1F600}' }, true],
    [{ variable: '\uFFFD', value_type: 'string', condition: '<', value_string: '\u{1F600}' }, true],
    [{ variable: '${nobody}', value_type: 'string', condition: '==' }, true],
    [{ variable: 'ten', value_type: 'number', condition: '>', value_number: 9 }, true],
    [{ variable: 'ten', value_type: 'number', condition: '<=', value_number: 10 }, true],
    [{ variable: 'ten', value_type: 'number', condition: '<', value_number: 10 }, false],
    [{ variable: 'name', value_type: 'number', condition: '!=', value_number: 1 }, false],
    [{ variable: '${nobody}', value_type: 'number', condition: '==', value_number: 0 }, false],
    [{ variable: 'name', value_type: 'length', condition: '>=', value_length: 3 }, true],
    [{ variable: 'name', value_type: 'length', condition: '>', value_length: 3 }, false],
    [{ variable: 'name', value_type: 'colour', condition: '==', value_string: 'Ann' }, false],
    [{ variable: 'name', value_type: 'string', condition: '=', value_string: 'Ann' }, false],
    [{ variable: 'name', value_type: 'string', condition: 'constructor', value_string: 'Ann' }, false],
    [{}, false],
  ];
  for (const [option, expected] of cases)
    it(`${JSON.stringify(option)} is ${expected}`, async () => {
      assert.equal(await holds('condition_variable', option, { variables: { name: 'Ann', ten: '10' } }), expected);
    });
});

describe('condition_datetime', () => {
  // 2026-11-21 10:30 UTC is a Saturday.
  const any = { minute: -1, hour: -1 };
  const cases: [Record<string, unknown>, boolean][] = [
    [{ condition: '>=', ...any, hour: 9 }, true],
    [{ condition: '<', ...any, hour: 17 }, true],
    [{ condition: '<', ...any, hour: 10 }, false],
    [{ condition: '>', ...any, hour: 17 }, false],
    [{ condition: '==', hour: 10, minute: 30, day: 21, month: 11 }, true],
    [{ condition: '==', hour: 10, minute: 31 }, false],
    [{ condition: '==', hour: 10 }, false],
    [{ condition: '>=', hour: 9 }, true],
    [{ condition: '<', hour: 12, minute: 15 }, false],
    [{ condition: '==', ...any, day: -1, month: 0 }, true],
    [{ condition: '==', ...any, month: 12 }, false],
    [{ condition: '!=', ...any, month: 12 }, true],
    [{ condition: '==', ...any, weekdays: [6] }, true],
    [{ condition: '==', ...any, weekdays: [1, 2, 3, 4, 5] }, false],
    [{ condition: '>=', ...any, hour: 9, weekdays: [0, 6] }, true],
    [{ condition: 'after', ...any, hour: 9 }, false],
    [{ ...any, hour: 9 }, false],
  ];
  for (const [option, expected] of cases)
    it(`${JSON.stringify(option)} is ${expected} on Saturday 2026-11-21 10:30`, async () => {
      assert.equal(await holds('condition_datetime', option), expected);
    });
});

describe('the deprecated conditions', () => {
  const digits: [Record<string, unknown>, string, boolean][] = [
    [{ length: 2 }, '12', true],
    [{ length: 3 }, '12', false],
    [{ key: '#' }, '1#', true],
    [{ key: '#' }, '12', false],
    [{}, '12', false],
  ];
  for (const [option, pressed, expected] of digits)
    it(`condition_call_digits ${JSON.stringify(option)} is ${expected} after ${pressed}`, async () => {
      const set = action('v', 'variable_set', { key: 'svc.call.digits', value: pressed });
      const condition = action('c', 'condition_call_digits', { ...option, false_target_id: id('no') });
      const world = await new World({ actions: [set, condition, action('y', 'stop'), action('no', 'sleep')] }).run();
      assert.equal(world.path[3] === 'stop', expected);
    });

  it('condition_call_status compares with the present status', async () => {
    assert.equal(await holds('condition_call_status', { status: 'ringing' }), true);
    assert.equal(await holds('condition_call_status', { status: 'progressing' }), false);
  });
});
