import { strict as assert } from 'node:assert';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { pino, type Logger } from 'pino';
import { TrunklineClient } from '../../client/client.ts';
import { TrunklineError } from '../../client/error.ts';
import { startApp, type App } from '../../control-api/app.ts';
import { readConfig } from '../../control-api/config.ts';
import type { Welcome } from '#contract/welcome';
import { openApiDocument } from '../../control-api/openapi.ts';
import { testDatabase, testRedis, type TestDatabase } from './database.ts';
import { NO_LIMITS } from './no-limits.ts';

/** An answer of the API, already checked against the OpenAPI document. */
export interface Answer {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
  text: string;
}

/** Why the API refused (the reason of its envelope); undefined when it did not. */
export const reasonOf = ({ body }: Answer): unknown => (body['error'] as Json | undefined)?.['reason'];

export interface ApiRequest {
  /** The accesskey of the first start by default; an empty object sends no credential. */
  credentials?: { token?: string; accesskey?: string };
  headers?: Record<string, string>;
  /** Sent as it is, instead of a JSON body; text is called JSON when no header says otherwise. */
  raw?: string | FormData;
}

/** A control-api of a test: own database, own Redis database, own data folder. */
export interface TestApi {
  app: App;
  /** `http://127.0.0.1:port`, without the version prefix. */
  url: string;
  dataDir: string;
  redisUrl: string;
  database: TestDatabase;
  welcome: Welcome;
  request(method: string, path: string, body?: unknown, options?: ApiRequest): Promise<Answer>;
  stop(): Promise<void>;
}

type Json = Record<string, unknown>;

/** Every object with named properties is closed, so that a test notices a field that the document does not name. */
const closed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, closed(item)]));
  return 'properties' in copy && copy['type'] === 'object' && !('additionalProperties' in copy)
    ? { ...copy, additionalProperties: false }
    : copy;
};

const document = closed(openApiDocument()) as { paths: Record<string, Record<string, Json>> };
const ajv = new Ajv2020({ strict: false, allErrors: true });
// The plugin is CommonJS: its function is the default export's default.
(addFormats as unknown as { default: (target: Ajv2020) => void }).default(ajv);
ajv.addSchema(document, 'openapi');

const pointer = (...parts: string[]): string =>
  parts.map(part => part.replaceAll('~', '~0').replaceAll('/', '~1')).join('/');

const validators = new Map<string, ValidateFunction>();

/** The template of the document that a path fits. */
const templateOf = (path: string): string | undefined =>
  Object.keys(document.paths)
    .sort((a, b) => a.split('{').length - b.split('{').length)
    .find(template => new RegExp(`^${template.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`).test(path));

const validatorOf = (path: string, method: string, status: number): ValidateFunction | undefined => {
  const template = templateOf(path);
  const operation = template && document.paths[template]?.[method];
  if (!operation) return undefined;
  const responses = operation['responses'] as Record<string, { content?: Json }>;
  assert.ok(responses[status], `${method} ${template} answers ${status}, which OpenAPI does not name`);
  if (!responses[status].content) return undefined;
  const at = pointer('paths', template, method, 'responses', `${status}`, 'content', 'application/json', 'schema');
  const known = validators.get(at) ?? ajv.compile({ $ref: `openapi#/${encodeURI(at)}` });
  validators.set(at, known);
  return known;
};

/** Fails the test when an operation is refused for a reason that the OpenAPI document does not name. */
const checkReason = (method: string, path: string, status: number, body: Json): void => {
  const template = templateOf(path);
  const operation = template && document.paths[template]?.[method.toLowerCase()];
  const { reason } = (body['error'] ?? {}) as { reason?: string };
  if (!operation || reason === undefined) return;
  const { description = '' } = (operation['responses'] as Record<string, { description?: string }>)[status] ?? {};
  assert.ok(
    new RegExp(`\\b${reason}\\b`).test(description),
    `${method} ${template} answers ${reason}, which OpenAPI does not name: ${description}`,
  );
};

/** Fails the test when an answer is not what the OpenAPI document says. */
const checkAnswer = (method: string, path: string, status: number, body: Json): void => {
  checkReason(method, path.split('?')[0] ?? path, status, body);
  const validate = validatorOf(path.split('?')[0] ?? path, method.toLowerCase(), status);
  if (validate && !validate(body))
    assert.fail(
      `${method} ${path} ${status} breaks OpenAPI: ${ajv.errorsText(validate.errors)} ${JSON.stringify(body)}`,
    );
};

const withCredentials = (url: URL, headers: Headers, credentials: { token?: string; accesskey?: string }): void => {
  if (credentials.token) headers.set('Authorization', `Bearer ${credentials.token}`);
  if (credentials.accesskey) url.searchParams.set('accesskey', credentials.accesskey);
};

const send = async (
  url: URL,
  method: string,
  headers: Headers,
  body: string | FormData | undefined,
): Promise<Answer> => {
  if (typeof body === 'string' && !headers.has('Content-Type')) headers.set('Content-Type', 'application/json');
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  return { status: response.status, headers: response.headers, text, body: isJson ? (JSON.parse(text) as Json) : {} };
};

/** Starts a control-api in this process on free ports, with everything real behind it; silent without a log. */
export const startTestApi = async (environment: Record<string, string> = {}, log?: Logger): Promise<TestApi> => {
  const [database, redis, dataDir] = [
    await testDatabase(),
    await testRedis(),
    await mkdtemp(join(tmpdir(), 'trunkline-api-')),
  ];
  const config = readConfig({
    HTTP_PORT: '0',
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    DATA_DIR: dataDir,
    LOG_LEVEL: 'silent',
    ...NO_LIMITS,
    ...environment,
  });
  const app = await startApp(config, log ?? pino({ level: config.LOG_LEVEL }));
  const url = `http://127.0.0.1:${app.port}`;
  const welcome = JSON.parse(await readFile(join(dataDir, 'welcome.json'), 'utf8')) as Welcome;
  const request: TestApi['request'] = async (method, path, body, options = {}) => {
    const target = new URL(url + path);
    const headers = new Headers(options.headers);
    withCredentials(target, headers, options.credentials ?? { accesskey: welcome.accesskey });
    const text = options.raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const answer = await send(target, method, headers, text);
    checkAnswer(method, path, answer.status, answer.body);
    return answer;
  };
  const stop = async (): Promise<void> => {
    await app.stop();
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  };
  return { app, url, dataDir, redisUrl: redis.url, database, welcome, request, stop };
};

/** A control-api for the tests of the `describe` around: its parts are there once the first of them runs. */
export const apiOfTests = (environment: Record<string, string> = {}, log?: Logger): TestApi => {
  const api = {} as TestApi;
  before(async function () {
    this.timeout(60_000);
    Object.assign(api, await startTestApi(environment, log));
  });
  // Nothing stands when the start failed, which has been told.
  after(() => ('stop' in api ? api.stop() : undefined));
  return api;
};

/** The typed client on a control-api of a test; what it is answered is checked against the OpenAPI document too. */
export const clientOf = (
  api: TestApi,
  credentials: ApiRequest['credentials'] = { accesskey: api.welcome.accesskey },
): TrunklineClient => {
  const checked: typeof fetch = async (url, init) => {
    const response = await fetch(url, init);
    const isJson = response.headers.get('content-type')?.includes('json') ?? false;
    const body = isJson ? ((await response.clone().json()) as Json) : {};
    checkAnswer(init?.method ?? 'GET', new URL(url instanceof Request ? url.url : url).pathname, response.status, body);
    return response;
  };
  return new TrunklineClient({ base_url: api.url, retries: 0, fetch: checked, ...credentials });
};

/** The reason that the typed client rejects with; fails when it does not. */
export const refusalOf = async (asked: Promise<unknown>): Promise<unknown> => {
  const outcome = await asked.then(
    answer => assert.fail(`not refused: ${JSON.stringify(answer)}`),
    (error: unknown) => error,
  );
  if (outcome instanceof TrunklineError) return outcome.reason;
  throw outcome;
};
