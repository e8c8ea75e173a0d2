import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { ERROR_STATUSES, REASONS, type Reason } from '#contract/errors';
import { errorSchema } from './errors.ts';
import { WEBHOOKS, websocketOf } from './openapi-events.ts';
import { exampleOf } from './openapi-examples.ts';
import { wordsOf } from './openapi-words.ts';
import type { Route } from './route.ts';
import { MOST_BYTES } from './upload.ts';

type Json = Record<string, unknown>;

/** What is the same for every operation of the document. */
export interface OpenApiInfo {
  title: string;
  version: string;
  description: string;
  version_prefix: string;
}

const SECURITY_SCHEMES = {
  token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'From POST /auth/login.' },
  token_query: { type: 'apiKey', in: 'query', name: 'token', description: 'The same token as a query parameter.' },
  token_cookie: { type: 'apiKey', in: 'cookie', name: 'token', description: 'The same token as a cookie.' },
  accesskey: { type: 'apiKey', in: 'query', name: 'accesskey', description: 'From POST /accesskeys.' },
};

/** What a zod schema says in JSON Schema and clients do not need: the pattern of a format, closed objects. */
const tidy = ({ jsonSchema }: { jsonSchema: Json }): void => {
  if (jsonSchema['format'] === 'uuid' || jsonSchema['type'] === 'integer') delete jsonSchema['pattern'];
  delete jsonSchema['propertyNames'];
  if (jsonSchema['additionalProperties'] === false) delete jsonSchema['additionalProperties'];
};

/** Gathers named schemas below `components`, a request's variant under `<name>Input` where it differs. */
class Components {
  readonly schemas: Json = {};

  /** The JSON Schema of a zod schema, its named parts as references. */
  add(schema: z.ZodType, io: 'input' | 'output'): Json {
    const whole = z.toJSONSchema(z.object({ it: schema }), { io, override: tidy, unrepresentable: 'any' }) as Json;
    const parts = (whole['$defs'] ?? {}) as Json;
    const names = new Map(Object.keys(parts).map(name => [name, name]));
    for (const name of Object.keys(parts)) names.set(name, this.#nameFor(name, parts[name], io, names));
    for (const [name, part] of Object.entries(parts)) this.schemas[names.get(name) ?? name] = relink(part, names);
    return relink((whole['properties'] as Json)['it'], names) as Json;
  }

  #nameFor(name: string, part: unknown, io: 'input' | 'output', names: Map<string, string>): string {
    const known = this.schemas[name];
    const same = known === undefined || isDeepStrictEqual(known, relink(part, names));
    return io === 'output' || same ? name : `${name}Input`;
  }
}

const relink = (value: unknown, names: Map<string, string>): unknown => {
  if (Array.isArray(value)) return value.map(item => relink(item, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (key !== '$ref' || typeof item !== 'string') return [key, relink(item, names)];
      const name = item.replace('#/$defs/', '');
      return [key, `#/components/schemas/${names.get(name) ?? name}`];
    }),
  );
};

const parametersOf = (where: 'path' | 'query', schema: z.ZodObject | undefined, components: Components): Json[] => {
  if (!schema) return [];
  const json = components.add(schema, 'input');
  const required = (json['required'] ?? []) as string[];
  return Object.entries((json['properties'] ?? {}) as Record<string, Json>).map(([name, { description, ...rest }]) => ({
    name,
    in: where,
    required: where === 'path' || required.includes(name),
    ...(description ? { description } : {}),
    schema: rest,
  }));
};

/** Creations and orders of the versioned API can be made safe to repeat. */
const takesKey = ({ method, surface }: Route): boolean => method === 'post' && surface === 'versioned';

/** Of credentials, in the order in which they are looked at. */
const CREDENTIAL_REASONS = [
  'AUTHENTICATION_REQUIRED',
  'INVALID_CREDENTIALS',
  'PERMISSION_DENIED',
  'DIRECT_ACCESS_NOT_SUPPORTED',
  'ACCOUNT_FROZEN',
  'ACCOUNT_EXPIRED',
  'ACCOUNT_DELETED',
] as const;

/** Reasons any route may answer, by what it takes. */
const reasonsOf = (route: Route): Reason[] => [
  ...(route.permission === 'public'
    ? []
    : CREDENTIAL_REASONS.filter(reason => reason !== 'ACCOUNT_FROZEN' || route.gate !== 'login')),
  ...(route.surface === 'root' ? [] : (['RATE_LIMIT_EXCEEDED'] as const)),
  ...(route.params ? (['INVALID_ID'] as const) : []),
  ...(route.query ? (['INVALID_REQUEST_PARAMETER'] as const) : []),
  ...(route.body ? (['INVALID_JSON_BODY', 'INVALID_ARGUMENT'] as const) : []),
  ...(route.upload ? (['INVALID_FILE_UPLOAD', 'INVALID_FILE_TYPE'] as const) : []),
  ...(takesKey(route) ? (['IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_KEY_IN_USE', 'INVALID_ARGUMENT'] as const) : []),
  ...route.reasons,
  // Whoever waits for media-app may wait in vain, or not wait to the end.
  ...(route.reasons.includes('REQUEST_TIMEOUT') ? (['REQUEST_CANCELED'] as const) : []),
  'SERVICE_UNAVAILABLE',
  'INTERNAL',
];

const RETRY_AFTER = {
  'Retry-After': { description: 'Seconds; with RATE_LIMIT_EXCEEDED.', schema: { type: 'integer' } },
};

/** A failure with the first reason of its status. */
const failureContent = (reason: Reason): Json => {
  const error = { status: REASONS[reason], reason, message: 'What was wrong.', request_id: 'req_example' };
  return { 'application/json': { schema: { $ref: '#/components/schemas/Error' }, example: { error } } };
};

/** Failures of a handler have no body there; those before it, of routes with credentials, have the envelope. */
const bareFailures = ({ permission }: Route): number[] => (permission === 'public' ? [500, 503] : []);

/** `reasons`: of what is refused before the handler, with an envelope. */
const bareWords = (status: number, reasons: Reason[]): string => {
  const bare = `${status < 500 ? 'Refused' : 'Failed'}; the body is empty.`;
  return reasons.length > 0 ? `${bare} With an envelope: ${reasons.join(', ')}.` : bare;
};

const failuresOf = (route: Route, components: Components): Json => {
  const byStatus = new Map<number, Reason[]>();
  for (const reason of new Set(reasonsOf(route))) {
    const status = ERROR_STATUSES[REASONS[reason]];
    byStatus.set(status, [...(byStatus.get(status) ?? []), reason]);
  }
  const failures = [...byStatus].map(([status, reasons]) => [
    status,
    {
      description: reasons.join(', '),
      ...(status === 429 ? { headers: RETRY_AFTER } : {}),
      content: failureContent(reasons[0] ?? 'INTERNAL'),
    },
  ]);
  const bareStatuses = route.surface === 'auth' ? [400, ...bareFailures(route), ...(route.bare ?? [])] : [];
  const bare = Object.fromEntries(
    bareStatuses.map(status => [
      status,
      { description: bareWords(status, route.permission === 'public' ? [] : (byStatus.get(status) ?? [])) },
    ]),
  );
  const own = Object.entries(route.failures ?? {}).map(([status, schema]) => [
    status,
    { description: 'Refused.', content: json(components.add(schema, 'output'), components) },
  ]);
  return { ...(Object.fromEntries([...failures, ...own]) as Json), ...bare };
};

/** What success answers with: JSON, or bytes of the route's own type. */
const contentOf = ({ media_type, response }: Route, components: Components): Json =>
  media_type
    ? { [media_type]: { schema: { type: 'string', format: 'binary' } } }
    : json(components.add(response, 'output'), components);

/** JSON of a schema, with an example. */
const json = (schema: Json, components: Components): Json => ({
  'application/json': { schema, example: exampleOf(schema, components.schemas) },
});

const formOf = ({ types }: NonNullable<Route['upload']>): Json => ({
  'multipart/form-data': {
    schema: {
      type: 'object',
      properties: {
        file: { type: 'string', format: 'binary', description: `At most ${MOST_BYTES / 1024 / 1024} MiB.` },
        type: { type: 'string', enum: types, description: 'What the file is for.' },
      },
      required: ['file', 'type'],
    },
  },
});

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'Makes the request safe to repeat: for a day the same key gets the same answer, and nothing acts twice.',
  schema: { type: 'string', maxLength: 255 },
};

const operationOf = (route: Route, components: Components): Json => {
  const parameters = [
    ...(takesKey(route) ? [IDEMPOTENCY_KEY] : []),
    ...parametersOf('path', route.params, components),
    ...parametersOf('query', route.query, components),
  ];
  const success =
    route.response instanceof z.ZodUndefined
      ? { description: 'Done; the body is empty.' }
      : { description: 'Done.', content: contentOf(route, components) };
  return {
    operationId: route.operation_id,
    summary: route.summary,
    description: wordsOf(route),
    tags: [route.tag],
    'x-permission': route.permission,
    ...(route.permission === 'public' ? { security: [] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body
      ? { requestBody: { required: true, content: json(components.add(route.body, 'input'), components) } }
      : {}),
    ...(route.upload ? { requestBody: { required: true, content: formOf(route.upload) } } : {}),
    responses: { [route.status]: success, ...failuresOf(route, components) },
  };
};

const pathsOf = (routes: Route[], info: OpenApiInfo, components: Components): Json => {
  const paths: Record<string, Json> = {};
  // Responses first: they own the plain names of schemas.
  for (const route of routes) if (!route.media_type) components.add(route.response, 'output');
  for (const route of routes) {
    const path = (route.surface === 'versioned' ? info.version_prefix : '') + route.path;
    paths[path] = { ...paths[path], [route.method]: operationOf(route, components) };
  }
  return paths;
};

/** The OpenAPI 3.1 document of the routes. Pure: the same routes give the same document. */
export const describeRoutes = (routes: Route[], info: OpenApiInfo): Json => {
  const components = new Components();
  components.add(errorSchema, 'output');
  const paths = pathsOf(routes, info, components);
  const { title, version, description } = info;
  return {
    openapi: '3.1.0',
    info: { title, version, description, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: '/' }],
    security: Object.keys(SECURITY_SCHEMES).map(name => ({ [name]: [] })),
    tags: [...new Set(routes.map(route => route.tag))].sort().map(name => ({ name })),
    paths,
    webhooks: WEBHOOKS,
    'x-websocket': websocketOf(info.version_prefix),
    components: {
      schemas: Object.fromEntries(Object.entries(components.schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
};
