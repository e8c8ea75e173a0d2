import { strict as assert } from 'node:assert';
import { newId } from '#contract/ids';
import { createActiveflow } from '#flow/runner';
import { checkVariables, sanitiseVariables, Variables } from '#flow/variables';
import { action, CUSTOMER, World } from './world.ts';

const many = (count: number, value = 'v'): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, value]));

describe('variables given from outside', () => {
  const cases: [string, Record<string, string>, Record<string, string>][] = [
    ['keep the case of their keys and lose the spaces around them', { ' Name ': 'Ann' }, { Name: 'Ann' }],
    ['lose empty keys', { '': 'a', '  ': 'b', c: 'd' }, { c: 'd' }],
    ['lose reserved keys in any case, one by one', { 'svc.call.id': 'x', 'SVC.a': 'y', svcx: 'z' }, { svcx: 'z' }],
    ['lose a reserved key that hides behind spaces', { '  svc.call.id': 'x' }, {}],
    ['lose what the store cannot keep', { 'a\0': 'b\0c\ud800' }, { a: 'bc\uFFFD' }],
    ['are dropped as a whole over a limit', { a: 'x'.repeat(32 * 1024 + 1), b: 'c' }, {}],
  ];
  for (const [title, given, kept] of cases) it(title, () => assert.deepEqual(sanitiseVariables(given), kept));

  const limits: [string, Record<string, string>, boolean][] = [
    ['a hundred keys', many(100), true],
    ['a hundred and one keys', many(101), false],
    ['reserved keys counted too', { ...many(100), 'svc.x': '' }, false],
    ['a value of 32 KB', { a: 'x'.repeat(32 * 1024) }, true],
    ['a value of more than 32 KB', { a: 'x'.repeat(32 * 1024 + 1) }, false],
    ['a value of 32 KB in bytes, not characters', { a: 'é'.repeat(16 * 1024 + 1) }, false],
    ['64 KB together with the keys', { ab: 'x'.repeat(32 * 1024 - 2), cd: 'x'.repeat(32 * 1024 - 2) }, true],
    ['more than 64 KB together', { ab: 'x'.repeat(32 * 1024 - 1), cd: 'x'.repeat(32 * 1024 - 2) }, false],
  ];
  for (const [title, given, allowed] of limits)
    it(`${title}: ${allowed ? 'accepted' : 'INVALID_VARIABLES'}`, () =>
      allowed
        ? assert.doesNotThrow(() => checkVariables(given))
        : assert.throws(() => checkVariables(given), { reason: 'INVALID_VARIABLES' }));
});

describe('the variables of an activeflow', () => {
  it('are the parent’s, then those given, then its own', () => {
    const template = { id: newId(), customer_id: CUSTOMER, actions: [], on_complete_flow_id: '' };
    const { activeflow, variables } = createActiveflow({
      template,
      reference_type: 'api',
      reference_id: '',
      reference_activeflow_id: newId(),
      parentVariables: { a: '1', b: '2', 'svc.activeflow.id': 'old', 'svc.call.id': 'kept' },
      variables: { b: '3', 'svc.activeflow.id': 'forged' },
      now: new Date(),
    });
    assert.deepEqual(variables.all(), {
      a: '1',
      b: '3',
      'svc.call.id': 'kept',
      'svc.activeflow.id': activeflow.id,
      'svc.activeflow.reference_type': 'api',
      'svc.activeflow.reference_id': '00000000-0000-0000-0000-000000000000',
      'svc.activeflow.reference_activeflow_id': activeflow.reference_activeflow_id,
      'svc.activeflow.flow_id': template.id,
      'svc.activeflow.complete_count': '1',
    });
  });

  it('start with a complete_count of 0', () => {
    assert.equal(new World().runner.variables.get('svc.activeflow.complete_count'), '0');
  });

  it('know the call, and its data as it is when it is read', () => {
    const { runner, record } = new World();
    assert.equal(runner.variables.get('svc.call.source.target'), '+15550001');
    record.status = 'progressing';
    const data = JSON.parse(runner.variables.get('svc.flow.reference_data')) as { status: string };
    assert.equal(data.status, 'progressing');
    assert.equal(Object.hasOwn(runner.variables.all(), 'svc.flow.reference_data'), false);
  });

  it('have no reference data without a call', () => {
    assert.equal(new World({ reference: 'api' }).runner.variables.get('svc.flow.reference_data'), '');
  });

  it('may be overwritten by a flow, reserved names too', async () => {
    const actions = [action('v', 'variable_set', { key: 'svc.call.digits', value: '42' })];
    assert.equal((await new World({ actions }).run()).runner.variables.get('svc.call.digits'), '42');
  });

  it('take names that objects know', () => {
    const variables = new Variables();
    variables.write('__proto__', 'a');
    variables.write('constructor', 'b');
    assert.deepEqual([variables.get('__proto__'), variables.get('toString')], ['a', '']);
    assert.deepEqual(Object.entries(variables.all()), [
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ]);
  });

  it('refuse to grow without end', () => {
    const variables = new Variables();
    assert.throws(() => variables.write('a', 'x'.repeat(32 * 1024 + 1)), /too long/);
    assert.throws(() => {
      for (let index = 0; index < 20; index += 1) variables.write(`k${index}`, 'x'.repeat(30_000));
    }, /full/);
    variables.write('k0', 'short again');
    variables.delete('k0');
    assert.equal(variables.has('k0'), false);
  });
});
