import { strict as assert } from 'node:assert';
import type { Action } from '#contract/action';
import { EMPTY_ID } from '#contract/ids';
import { MAIN_STACK_ID, Stacks } from '#flow/stack';
import { id } from './world.ts';

const step = (name: string, nextName = ''): Action => ({
  id: id(name),
  next_id: nextName ? id(nextName) : EMPTY_ID,
  type: 'sleep',
  option: {},
  tm_execute: null,
});

const steps = (...names: string[]): Action[] => names.map(name => step(name));

/** Moves as often as asked, and says where the cursor stands: the names of what was passed, `finish` at the end. */
const passed = (stacks: Stacks, moves: number): string[] =>
  Array.from({ length: moves }, () => {
    const found = stacks.advance();
    return ['f', 'b', 'c', 'x', 'y', 'z'].find(name => id(name) === found?.id) ?? 'finish';
  });

/** A main stack `f b c` whose `f` has just forked a service's stack. */
const forked = (...inner: string[]): Stacks => {
  const stacks = new Stacks(steps('f', 'b', 'c'));
  stacks.advance();
  stacks.push(steps(...inner), id('inner'));
  return stacks;
};

/** The same, with the cursor in the inner stack. */
const inside = (...inner: string[]): Stacks => {
  const stacks = forked(...inner);
  stacks.advance();
  return stacks;
};

const notCurrent = { reason: 'FLOW_STATE_INVALID' };

/** Each row of voice-and-flows 4.5: operation, effect, and what shows it. */
const ROWS: [operation: string, effect: string, shows: () => void][] = [
  [
    'push',
    'new stack; the next move enters it',
    () => {
      const stacks = forked('x', 'y');
      assert.deepEqual([stacks.forwarded, stacks.currentId], [true, MAIN_STACK_ID]);
      assert.deepEqual([passed(stacks, 1), stacks.currentId], [['x'], id('inner')]);
    },
  ],
  [
    'push of zero actions',
    'no-op',
    () => {
      const stacks = forked();
      assert.deepEqual([stacks.forwarded, stacks.holds(id('inner'))], [false, false]);
      assert.deepEqual(passed(stacks, 1), ['b']);
    },
  ],
  [
    'natural end',
    'returns to the successor of the forking action',
    () => {
      const stacks = forked('x', 'y');
      assert.deepEqual(passed(stacks, 5), ['x', 'y', 'b', 'c', 'finish']);
      assert.equal(stacks.holds(id('inner')), false);
    },
  ],
  [
    'natural end behind a next_id',
    'the successor is found by the same rule',
    () => {
      const stacks = new Stacks([step('f', 'c'), ...steps('b', 'c')]);
      stacks.advance();
      stacks.push(steps('x'));
      assert.deepEqual(passed(stacks, 3), ['x', 'c', 'finish']);
    },
  ],
  [
    'pop',
    'removes the current stack immediately and sets the forward ids to the successor of the forking action',
    () => {
      const stacks = inside('x', 'y');
      stacks.pop(id('inner'));
      assert.deepEqual([stacks.currentId, stacks.forwarded], [MAIN_STACK_ID, true]);
      assert.equal(stacks.holds(id('inner')), false);
      assert.deepEqual(passed(stacks, 1), ['b']);
    },
  ],
  [
    'pop behind the last action',
    'the successor is the finish',
    () => {
      const stacks = new Stacks(steps('f'));
      stacks.advance();
      stacks.push(steps('x', 'y'), id('inner'));
      stacks.advance();
      stacks.pop(id('inner'));
      assert.deepEqual(passed(stacks, 1), ['finish']);
    },
  ],
  [
    'pop of a stack that is not the current one',
    'an error, and nothing moves',
    () => {
      const stacks = inside('x', 'y');
      stacks.push(steps('z'), id('deeper'));
      stacks.advance();
      for (const other of [id('inner'), id('nobody')]) assert.throws(() => stacks.pop(other), notCurrent);
      assert.deepEqual(passed(stacks, 2), ['y', 'b']);
    },
  ],
  [
    'pop of the main stack',
    'an error, and nothing moves',
    () => {
      const stacks = new Stacks(steps('f', 'b'));
      stacks.advance();
      assert.throws(() => stacks.pop(MAIN_STACK_ID), notCurrent);
      assert.deepEqual(passed(stacks, 1), ['b']);
    },
  ],
  [
    'jump outward',
    'may target an action of an outer stack; when the cursor really moves there the inner stacks are deleted',
    () => {
      const stacks = inside('x', 'y');
      assert.equal(stacks.jump(id('c')), true);
      assert.equal(stacks.currentId, id('inner'), 'not before the cursor moves');
      assert.deepEqual([passed(stacks, 1), stacks.currentId], [['c'], MAIN_STACK_ID]);
      assert.equal(stacks.jump(id('y')), false, 'there is no way back in');
    },
  ],
  [
    'jump outward by next_id',
    'the same',
    () => {
      const stacks = new Stacks(steps('f', 'b', 'c'));
      stacks.advance();
      stacks.push([step('x', 'c'), step('y')], id('inner'));
      assert.deepEqual([passed(stacks, 2), stacks.currentId], [['x', 'c'], MAIN_STACK_ID]);
    },
  ],
];

describe('the stacks of a flow, row for row (voice-and-flows 4.5)', () => {
  for (const [operation, effect, shows] of ROWS) it(`${operation}: ${effect}`, shows);
});
