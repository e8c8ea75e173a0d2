import { strict as assert } from 'node:assert';
import type { ActionInput } from '#contract/action';
import { actions } from '#flow/actions/index';
import type { Reference } from '#flow/graph';
import { validateActions } from '#flow/validate';
import { warningsOf } from '#flow/warnings';
import { action, id } from './world.ts';

const incoming: Reference = { reference_type: 'call', direction: 'incoming' };
const outgoing: Reference = { reference_type: 'call', direction: 'outgoing' };
const api: Reference = { reference_type: 'api', direction: 'incoming' };

const found = (actions: ActionInput[], reference = incoming): string[] =>
  warningsOf(validateActions(actions), reference).map(({ index, code }) => `${index} ${code}`);

const talk = (name: string, next = '') => action(name, 'talk', { text: name }, next);
const goto = (name: string, to: string, loop_count: number) => action(name, 'goto', { target_id: id(to), loop_count });
const branch = (name: string, to: string, otherwise: string) =>
  action(name, 'branch', { target_ids: { 1: id(to) }, default_target_id: id(otherwise) });
const address = { type: 'extension', target: '1001' };
const connect = (name: string) => action(name, 'connect', { destinations: [address] });

const cases: [title: string, actions: ActionInput[], warnings: string[], reference?: Reference][] = [
  ['a flow without actions', [], []],
  ['a sound flow', [action('a', 'answer'), talk('t'), action('h', 'hangup')], []],
  [
    'a sound menu',
    [
      talk('menu'),
      action('k', 'digits_receive', { duration: 3000, length: 1 }),
      branch('b', 'one', 'again'),
      goto('again', 'menu', 2),
      action('end', 'hangup'),
      connect('one'),
    ],
    [],
  ],
  ['what no action leads to', [talk('a', 'c'), talk('b'), talk('c')], ['1 unreachable']],
  ['what stands behind a stop', [action('s', 'stop'), talk('a'), talk('b')], ['1 after_end', '2 after_end']],
  ['what stands behind a hangup of the call', [action('h', 'hangup'), talk('a')], ['1 after_end']],
  ['what stands behind a hangup where there is no call', [action('h', 'hangup'), talk('a')], [], api],
  ['what a branch leads to behind a stop', [branch('b', 'x', 's'), action('s', 'stop'), talk('x')], []],
  ['a goto that never jumps leads nowhere', [goto('g', 'x', 0), action('s', 'stop'), talk('x')], ['2 after_end']],
  [
    'what a target in a variable may lead to',
    [action('g', 'goto', { target_id: '${where}', loop_count: 1 }), action('s', 'stop'), talk('x')],
    [],
  ],
  ['a missing target of a goto', [goto('g', 'nowhere', 1)], ['0 missing_target']],
  ['missing targets of a branch', [branch('b', 'nowhere', 'neither')], ['0 missing_target', '0 missing_target']],
  [
    'a missing target of a condition',
    [action('c', 'condition_variable', { false_target_id: id('nowhere') })],
    ['0 missing_target'],
  ],
  ['a missing next action', [talk('a', 'nowhere')], ['0 missing_target']],
  ['a branch without a default', [action('b', 'branch', { target_ids: {} })], ['0 no_default']],
  ['a condition without a target', [action('c', 'condition_datetime')], ['0 no_default']],
  ['an action that leads to itself', [talk('a', 'a')], ['0 endless_loop']],
  ['actions that lead to each other', [talk('x'), talk('a', 'b'), talk('b', 'a')], ['1 endless_loop']],
  [
    'a menu that nobody can leave',
    [talk('menu'), action('k', 'digits_receive'), branch('b', 'menu', 'menu')],
    ['0 endless_loop'],
  ],
  ['a goto that jumps a few times', [talk('a'), goto('g', 'a', 3)], []],
  ['a goto that jumps more often than it can', [talk('a'), goto('g', 'a', 100)], ['0 endless_loop']],
  ['a loop over fetched actions, which may end it', [action('f', 'fetch_flow', { flow_id: id('x') }, 'f')], []],
  [
    'a loop that also leads to another loop is only the way there',
    [branch('a', 'b', 'a'), talk('b', 'c'), talk('c', 'b')],
    ['1 endless_loop'],
  ],
  ['an endless loop that nothing reaches', [action('s', 'stop'), talk('a', 'a')], ['1 after_end']],
  [
    'media before the answer',
    [action('p', 'play'), action('a', 'answer'), action('b', 'beep')],
    ['0 media_before_answer'],
  ],
  ['media before the answer of an outgoing call', [action('p', 'play')], [], outgoing],
  ['media without a call', [action('p', 'play')], [], api],
  ['media behind a talk', [talk('t'), action('p', 'play')], []],
  ['media behind a connect that nobody may answer', [connect('c'), action('p', 'play')], ['1 media_before_answer']],
  [
    'media that one of two ways leads to unanswered',
    [branch('b', 'a', 'p'), action('a', 'answer'), action('p', 'play')],
    ['2 media_before_answer'],
  ],
  [
    'an option of the wrong type',
    [action('d', 'digits_receive', { duration: 'long' })],
    ['0 media_before_answer', '0 invalid_option'],
  ],
  ['an unknown method', [action('w', 'webhook_send', { uri: 'http://h', method: 'PATCH' })], ['0 invalid_option']],
  ['an address in a variable', [action('w', 'webhook_send', { uri: '${where}' })], []],
  ['a null option counts as absent', [talk('t'), action('d', 'digits_receive', { duration: null })], []],
  [
    'the inline actions of a call',
    [action('c', 'call', { destinations: [address], source: address, actions: [{ type: 'nonsense' }] })],
    ['0 invalid_option'],
  ],
  ['two actions with one id', [talk('a'), talk('a')], ['1 duplicate_id']],
  [
    'what comes after more actions than may run',
    Array.from({ length: 103 }, (_, n) => action(`${n}`, 'variable_set', { key: 'k' })),
    ['101 beyond_limit', '102 beyond_limit'],
  ],
];

describe('the warnings of a flow', () => {
  for (const [title, actions, warnings, reference] of cases)
    it(`${title}: ${warnings.map(text => text.split(' ')[1]).join(', ') || 'none'}`, () => {
      assert.deepEqual(found(actions, reference), warnings);
    });

  it('name every type of a later version', () => {
    for (const { type } of actions.filter(one => one.available === false))
      assert.ok(found([talk('t'), action('m', type)]).includes('1 unavailable'), type);
  });

  it('name the action and the field', () => {
    const [warning] = warningsOf(validateActions([branch('b', 'nowhere', 'b')]), incoming);
    assert.deepEqual(warning, {
      action_id: id('b'),
      index: 0,
      code: 'missing_target',
      message: `option.target_ids.1: there is no action ${id('nowhere')} in this flow.`,
    });
  });

  it('are not more than anybody reads', () => {
    const targets = Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`${n}`, id('nowhere')]));
    assert.equal(found([action('b', 'branch', { target_ids: targets })]).length, 500);
  });

  it('come quickly for the largest flows', () => {
    const circle = Array.from({ length: 1000 }, (_, n) => branch(`${n}`, `${(n + 500) % 1000}`, `${(n + 1) % 1000}`));
    assert.deepEqual(
      found(circle, outgoing).filter(text => !text.endsWith('beyond_limit')),
      ['0 endless_loop'],
    );
  }).timeout(2000);
});
