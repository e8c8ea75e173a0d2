import { strict as assert } from 'node:assert';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { openApiDocument } from '../../../control-api/openapi.ts';
import { routes } from '../../../control-api/routes.ts';

type Json = Record<string, unknown>;
const document = openApiDocument() as { paths: Record<string, Record<string, Json>>; components: { schemas: Json } };

const references = (value: unknown): string[] => {
  if (typeof value !== 'object' || value === null) return [];
  const own = '$ref' in value && typeof value.$ref === 'string' ? [value.$ref] : [];
  return [...own, ...Object.values(value).flatMap(references)];
};

describe('the OpenAPI document', () => {
  it('describes every route once, under an operation id of its own', () => {
    const ids = Object.values(document.paths).flatMap(path => Object.values(path).map(each => each['operationId']));
    assert.equal(ids.length, routes.length);
    assert.equal(new Set(ids).size, ids.length);
  });

  it('has no reference that leads nowhere', () => {
    const known = new Set(Object.keys(document.components.schemas).map(name => `#/components/schemas/${name}`));
    for (const reference of references(document)) assert.ok(known.has(reference), reference);
  });

  it('has schemas that a validator takes', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema(document, 'openapi');
    for (const name of Object.keys(document.components.schemas))
      ajv.compile({ $ref: `openapi#/components/schemas/${name}` });
  });

  it('has for every body, answer and failure of every operation an example that its schema takes', function () {
    this.timeout(30_000);
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    (addFormats as unknown as { default: (target: Ajv2020) => void }).default(ajv);
    ajv.addSchema(document, 'openapi');
    const wrong: string[] = [];
    let count = 0;
    /** Many operations share a schema, and compiling one is what takes the time. */
    const compiled = new Map<string, ValidateFunction>();
    const validatorOf = (at: string, { schema }: Json): ValidateFunction => {
      const key = JSON.stringify(schema);
      const validate = compiled.get(key) ?? ajv.compile({ $ref: `openapi#${at}/schema` });
      compiled.set(key, validate);
      return validate;
    };
    const complaintOf = (at: string, part: Json): string | undefined => {
      if (!('example' in part)) return `${at} has none`;
      const validate = validatorOf(at, part);
      return validate(part['example']) ? undefined : `${at}: ${ajv.errorsText(validate.errors)}`;
    };
    const look = (value: unknown, at: string): undefined => {
      if (typeof value !== 'object' || value === null) return undefined;
      for (const [key, part] of Object.entries(value)) {
        const here = `${at}/${encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))}`;
        const complaint = key === 'application/json' ? complaintOf(here, part as Json) : look(part, here);
        if (key === 'application/json') count++;
        if (complaint) wrong.push(complaint);
      }
    };
    look(document.paths, '/paths');
    assert.deepEqual(wrong, []);
    assert.ok(count > routes.length);
  });

  it('names for every operation what a failure is', () => {
    for (const [path, methods] of Object.entries(document.paths))
      for (const [method, { responses }] of Object.entries(methods)) {
        const statuses = Object.keys(responses as Json);
        const expected = path.startsWith('/v1.0/') ? ['429', '500', '503'] : [];
        assert.deepEqual(
          expected.filter(status => !statuses.includes(status)),
          [],
          `${method} ${path}`,
        );
      }
  });

  it('says for every operation who may call it', () => {
    for (const path of Object.values(document.paths))
      for (const operation of Object.values(path))
        assert.ok(operation['x-permission'], String(operation['operationId']));
  });

  it('is the same every time', () => {
    assert.deepEqual(openApiDocument(), document);
  });
});
