import { strict as assert } from 'node:assert';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { parseTopic } from '../../../control-api/events/topic.ts';
import type { Identity } from '../../../control-api/http/authenticate.ts';
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

  it('says for every operation in words who may call it', () => {
    const words = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { description }]) => ({
        name: `${method} ${path}`,
        text: description as string,
      })),
    );
    assert.deepEqual(
      words.filter(({ text }) => !/^(Needs|For) /.test(text)).map(({ name }) => name),
      [],
    );
    const page = words.find(({ name }) => name === 'get /v1.0/flows')?.text ?? '';
    assert.match(page, /^For admins and managers.*next_page_token/);
    assert.match(words.find(({ name }) => name === 'post /auth/password-forgot')?.text ?? '', /which addresses exist/);
  });

  it('names with every refusal of credentials what may be wrong with their account', () => {
    for (const [path, methods] of Object.entries(document.paths))
      for (const [method, { responses, 'x-permission': permission }] of Object.entries(methods)) {
        if (permission === 'public') continue;
        const { description } = (responses as Record<string, Json>)['403'] ?? {};
        const frozen = path === '/auth/unregister' ? [] : ['ACCOUNT_FROZEN'];
        for (const reason of ['PERMISSION_DENIED', 'ACCOUNT_EXPIRED', 'ACCOUNT_DELETED', ...frozen])
          assert.ok(String(description).includes(reason), `${method} ${path}: ${reason}`);
      }
  });

  it('describes what a webhook receives and what is said on the WebSocket, the example as one that is obeyed', () => {
    const { webhooks, 'x-websocket': socket } = document as unknown as { webhooks: Json; 'x-websocket': Json };
    assert.match(JSON.stringify(webhooks), /X-Webhook-Signature.*EventMessage/);
    const ajv = new Ajv2020({ strict: false });
    const message = socket['client_message'] as { example: { topics: string[] } };
    assert.ok(ajv.validate(message, message.example));
    const [, customer_id = ''] = message.example.topics[0]?.split(':') ?? [];
    const identity = { kind: 'accesskey', customer_id, permission: 32 } as Identity;
    for (const topic of message.example.topics) assert.ok(parseTopic(topic, identity), topic);
  });

  it('is the same every time', () => {
    assert.deepEqual(openApiDocument(), document);
  });
});
