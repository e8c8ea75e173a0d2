import { strict as assert } from 'node:assert';
import { INSERTED_CHARACTERS, substitute } from '#flow/substitute';
import { Variables } from '#flow/variables';

const variables = new Variables({ a: '1', 'b c': '2', again: '${a}', 'x.y': '3', '${a': 'odd' });
const text = (given: string): unknown => substitute({ text: given }, variables).text;

describe('substitution', () => {
  const cases: [string, string, string][] = [
    ['puts a value in place of its name', 'n=${a}.', 'n=1.'],
    ['takes several in one text', '${a}${a}-${x.y}', '11-3'],
    ['makes an unknown name empty', '[${nobody}]', '[]'],
    ['makes an empty name empty', '[${}]', '[]'],
    ['takes names verbatim, spaces included', '${b c}${ a }', '2'],
    ['does not scan the result again', '${again}', '${a}'],
    ['ends a name at the first brace', '${a}}', '1}'],
    ['knows no nesting', '${${a}}', 'odd}'],
    ['leaves an unclosed name as it is', 'x${a', 'x${a'],
    ['leaves other dollars alone', '$a {a} $${a}', '$a {a} $1'],
  ];
  for (const [title, given, expected] of cases) it(title, () => assert.equal(text(given), expected));

  it('reaches every string at any depth, and nothing else', () => {
    const option = { list: ['${a}', 1, true, null, { deep: '${a}' }], '${a}': 'key', weekdays: [0, 6], n: 1.5 };
    assert.deepEqual(substitute(option, variables), {
      list: ['1', 1, true, null, { deep: '1' }],
      '${a}': 'key',
      weekdays: [0, 6],
      n: 1.5,
    });
    assert.equal(option.list[0], '${a}');
  });

  it('stops a flow from multiplying its text', () => {
    const big = new Variables({ v: 'x'.repeat(INSERTED_CHARACTERS / 2) });
    assert.doesNotThrow(() => substitute({ t: '${v}${v}' }, big));
    assert.throws(() => substitute({ t: ['${v}', '${v}', '${v}'] }, big), /too long/);
  });

  it('takes no longer for a text of unclosed names', () => {
    const before = performance.now();
    text('${'.repeat(30_000));
    assert.ok(performance.now() - before < 200);
  });

  it('keeps own properties with the names of the prototype', () => {
    const option = JSON.parse('{"__proto__": "${a}"}') as Record<string, unknown>;
    assert.equal(JSON.stringify(substitute(option, variables)), '{"__proto__":"1"}');
  });
});
