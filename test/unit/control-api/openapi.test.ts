import { strict as assert } from 'node:assert';
import { Ajv2020 } from 'ajv/dist/2020.js';
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

  it('says for every operation who may call it', () => {
    for (const path of Object.values(document.paths))
      for (const operation of Object.values(path))
        assert.ok(operation['x-permission'], String(operation['operationId']));
  });

  it('is the same every time', () => {
    assert.deepEqual(openApiDocument(), document);
  });
});
