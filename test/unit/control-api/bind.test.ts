import { strict as assert } from 'node:assert';
import fc from 'fast-check';
import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { because, bindBody, bindParams, parseJson } from '../../../control-api/http/bind.ts';

const refusal = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof PlatformError) return `${error.reason}: ${error.message}`;
    throw error;
  }
  return 'accepted';
};

describe('reading a body', () => {
  const schema = z.object({
    name: z.string().max(3),
    kind: z.enum(['a', 'b']).optional(),
    list: z.array(z.object({ n: z.number().int() })).optional(),
  });

  const cases: [body: unknown, expected: string][] = [
    [{ name: 'abc' }, 'accepted'],
    [{}, 'INVALID_ARGUMENT: name is required.'],
    [{ name: 5 }, 'INVALID_JSON_BODY: name'],
    [{ name: null }, 'INVALID_JSON_BODY: name'],
    [{ name: 'abcd' }, 'INVALID_ARGUMENT: name'],
    [{ name: 'a', kind: 'c' }, 'INVALID_ARGUMENT: kind'],
    [{ name: 'a', kind: 7 }, 'INVALID_JSON_BODY: kind'],
    [{ name: 'a', list: [{ n: 1 }, { n: 'x' }] }, 'INVALID_JSON_BODY: list[1].n'],
    [{ name: 'abcd', list: 'x' }, 'INVALID_JSON_BODY: list'],
    [[], 'INVALID_JSON_BODY: The body'],
    ['text', 'INVALID_JSON_BODY: The body'],
  ];
  for (const [body, expected] of cases)
    it(`${JSON.stringify(body)} is ${expected}`, () => {
      const told = refusal(() => bindBody(schema, body));
      assert.ok(told.startsWith(expected), told);
    });

  it('any JSON is read as JSON.parse reads it, or refused with a reason', () => {
    fc.assert(
      fc.property(fc.json(), text => {
        const told = refusal(() => assert.deepEqual(parseJson(Buffer.from(text)), JSON.parse(text)));
        assert.match(told, /^(accepted|INVALID_ARGUMENT)/);
      }),
    );
  });

  it('any bytes are read or refused with a reason', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), bytes => {
        assert.match(
          refusal(() => parseJson(Buffer.from(bytes))),
          /^(accepted|INVALID_)/,
        );
      }),
    );
  });

  it('brackets inside text are no nesting', () => {
    const text = JSON.stringify({ a: `\\"${'['.repeat(200)}` });
    assert.deepEqual(parseJson(Buffer.from(text)), JSON.parse(text));
  });
});

describe('path parameters', () => {
  it('are ids, in lower case as stored', () => {
    const id = 'ABCDEF00-0000-4000-8000-000000000001';
    assert.deepEqual(bindParams({ id }), { id: id.toLowerCase() });
    assert.match(
      refusal(() => bindParams({ id: 'x' })),
      /^INVALID_ID: id /,
    );
  });

  it('are words where the route says so, with the reason of the rule they break', () => {
    const rule = because('INVALID_RESOURCE_TYPE', 'must be calls');
    const schema = z.object({ type: z.string().refine(text => text === 'calls', rule), id: z.uuid() });
    const id = 'abcdef00-0000-4000-8000-000000000001';
    assert.deepEqual(bindParams({ type: 'calls', id }, schema), { type: 'calls', id });
    for (const type of ['rooms', id])
      assert.equal(
        refusal(() => bindParams({ type, id }, schema)),
        'INVALID_RESOURCE_TYPE: type in the path must be calls.',
      );
    assert.match(
      refusal(() => bindParams({ type: 'calls', id: 'x' }, schema)),
      /^INVALID_ID: id /,
    );
  });
});
