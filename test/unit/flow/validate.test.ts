import { strict as assert } from 'node:assert';
import { ACTION_TYPES, FINISH_ACTION_ID } from '#contract/action';
import { EMPTY_ID, isId } from '#contract/ids';
import { FLOW_LIMITS, validateActions } from '#flow/validate';
import { id } from './world.ts';

const nested = (levels: number): unknown => (levels === 0 ? 'x' : { in: nested(levels - 1) });

describe('a flow is checked when it is created', () => {
  it('takes every type of the list, with any option', () => {
    const actions = validateActions(ACTION_TYPES.map(type => ({ type, option: { unknown: { kept: [1, 'a'] } } })));
    assert.deepEqual(actions[0]?.option, { unknown: { kept: [1, 'a'] } });
    assert.equal(actions.length, ACTION_TYPES.length);
  });

  it('generates the ids that are missing and keeps the others', () => {
    const [none, empty, unset, own] = validateActions([
      { type: 'answer' },
      { type: 'answer', id: '' },
      { type: 'answer', id: EMPTY_ID },
      { type: 'answer', id: id('own').toUpperCase(), next_id: id('x') },
    ]);
    for (const one of [none, empty, unset]) assert.ok(one && isId(one.id) && one.id !== EMPTY_ID);
    assert.equal(new Set([none?.id, empty?.id, unset?.id]).size, 3);
    assert.deepEqual([own?.id, own?.next_id], [id('own'), id('x')]);
  });

  it('makes whole actions of short ones', () => {
    const given = { id: id('a'), type: 'stop', tm_execute: '2026', colour: 'red' };
    const whole = { id: id('a'), next_id: EMPTY_ID, type: 'stop', option: {}, tm_execute: null };
    assert.deepEqual(validateActions([given]), [whole]);
  });

  const refused: [string, unknown, string][] = [
    ['an unknown type', [{ type: 'agent_call' }], 'INVALID_ACTION_TYPE'],
    ['an empty type', [{ type: '' }], 'INVALID_ACTION_TYPE'],
    [
      'an anonymous that is none of yes, no, auto',
      [{ type: 'call', option: { anonymous: 'maybe' } }],
      'INVALID_ANONYMOUS_VALUE',
    ],
    ['an anonymous of another kind', [{ type: 'connect', option: { anonymous: true } }], 'INVALID_ANONYMOUS_VALUE'],
    ['something that is no list', { type: 'answer' }, 'INVALID_ARGUMENT'],
    ['an action that is no object', ['answer'], 'INVALID_ARGUMENT'],
    ['an action without a type', [{}], 'INVALID_ARGUMENT'],
    ['an option that is no object', [{ type: 'talk', option: 'hi' }], 'INVALID_ARGUMENT'],
    ['an option that is a list', [{ type: 'talk', option: [] }], 'INVALID_ARGUMENT'],
    ['an id that is no UUID', [{ type: 'talk', id: 'first' }], 'INVALID_ARGUMENT'],
    ['an id that is reserved', [{ type: 'talk', id: FINISH_ACTION_ID }], 'INVALID_ARGUMENT'],
    ['a next_id that is no UUID', [{ type: 'talk', next_id: 'second' }], 'INVALID_ARGUMENT'],
    ['too many actions', Array(FLOW_LIMITS.actions + 1).fill({ type: 'beep' }), 'INVALID_ARGUMENT'],
    ['an action that is too large', [{ type: 'talk', option: { text: 'é'.repeat(33_000) } }], 'INVALID_ARGUMENT'],
    [
      'a flow that is too large',
      Array(10).fill({ type: 'talk', option: { text: 'x'.repeat(60_000) } }),
      'INVALID_ARGUMENT',
    ],
    ['an option nested too deep', [{ type: 'talk', option: nested(10_000) as object }], 'INVALID_ARGUMENT'],
    ['a NUL', [{ type: 'talk', option: { text: 'a\0b' } }], 'INVALID_ARGUMENT'],
    ['half of a surrogate pair in a key', [{ type: 'talk', option: { '\udc00': 1 } }], 'INVALID_ARGUMENT'],
  ];
  for (const [title, given, reason] of refused)
    it(`refuses ${title} with ${reason}`, () => assert.throws(() => validateActions(given), { reason }));

  it('says where the mistake is', () => {
    assert.throws(() => validateActions([{ type: 'answer' }, { type: 'anser' }]), {
      message: '"anser" is no action type.',
      details: [{ field: 'actions.1.type' }],
    });
  });

  for (const anonymous of ['', 'yes', 'no', 'auto', null, undefined])
    it(`takes anonymous ${String(anonymous) || 'empty'}`, () => {
      validateActions([{ type: 'connect', option: { anonymous } }]);
    });

  it('leaves anonymous of other types alone, and the actions inside a call', () => {
    const option = { anonymous: 'maybe', actions: [{ type: 'nonsense' }] };
    assert.deepEqual(validateActions([{ type: 'talk', option }])[0]?.option, option);
  });
});
