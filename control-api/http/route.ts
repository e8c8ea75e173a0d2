import type { z } from 'zod';
import type { Reason } from '#contract/errors';
import type { Identity, Incoming } from './authenticate.ts';
import type { Context } from './context.ts';
import type { Gate } from './gate.ts';
import type { Permission } from './permit.ts';
import type { Upload } from './upload.ts';

type Shape = z.ZodType | undefined;
type Output<S> = S extends z.ZodType ? z.output<S> : undefined;

/** A request as a handler sees it: everything parsed, the caller known. */
export interface RouteRequest<P = unknown, Q = unknown, B = unknown> {
  context: Context;
  /** Who asks; absent on public routes. */
  identity: Identity;
  params: P;
  query: Q;
  body: B;
  request_id: string;
  /** The address that the request came from. */
  client_ip: string;
  /** The request as it came, for handlers that look at credentials themselves. */
  incoming: Incoming;
  /** The file that came, on routes that take one. */
  upload?: Upload;
  /** The id of the row that a creation makes, when a repeated request must not make another. */
  fresh_id?: string;
}

/** What people see whose browser posted a form to a route that programs send JSON to. Whole HTML pages. */
export interface FormPages {
  done(): string;
  refused(): string;
}

/** What a handler answers when the status or a header is not the route's own. */
export class Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Record<string, string>;

  constructor(status: number, body: unknown, headers: Record<string, string> = {}) {
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

/** The path prefix of the versioned API. */
export const VERSION_PREFIX = '/v1.0';

/** Where a route lives: below /v1.0, at the root, or in the authentication group (root, bare failures). */
export type Surface = 'versioned' | 'root' | 'auth';

/** One operation of the API, as data. The router serves it and OpenAPI describes it from the same record. */
export interface Route {
  method: 'get' | 'post' | 'put' | 'delete';
  /** In OpenAPI's spelling, without the version prefix: `/flows/{id}`. */
  path: string;
  surface: Surface;
  operation_id: string;
  summary: string;
  tag: string;
  permission: Permission;
  /** Which accounts are let in, on routes with credentials; `versioned` by default. */
  gate?: Gate;
  /** Failures with a status and no body, beside 400; of the authentication group only. */
  bare?: number[];
  /** It also takes plain HTML forms (application/x-www-form-urlencoded) and answers them with pages. */
  form?: FormPages;
  /** Its answer is `{}` whatever fails, so that nobody learns which addresses exist (platform-api, Errors). */
  quiet?: true;
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** It takes a form (multipart/form-data) with the parts `file` and `type` in place of a body, and these types. */
  upload?: { types: readonly string[] };
  status: number;
  response: z.ZodType;
  /** What success answers with when it is no JSON; the handler's Reply then carries bytes. */
  media_type?: string;
  /** Reasons of its own, beside those every route may answer. */
  reasons: Reason[];
  /** Bodies of failures that are no error envelope, by status. */
  failures?: Record<number, z.ZodType>;
  /** Reads the record that the path names, rejecting when there is none: asked before a refusal (6.2 step 6). */
  find?(request: RouteRequest<Record<string, string>>): Promise<unknown>;
  handle(request: RouteRequest): Promise<unknown>;
}

/** A route as written: the handler's types follow from its schemas. `permission` has no default. */
export interface RouteDefinition<P extends Shape, Q extends Shape, B extends Shape, R extends z.ZodType> extends Omit<
  Route,
  'params' | 'query' | 'body' | 'response' | 'handle' | 'surface' | 'status' | 'reasons'
> {
  surface?: Surface;
  params?: P & z.ZodObject;
  query?: Q & z.ZodObject;
  body?: B;
  /** HTTP status of success; 200 by default. */
  status?: 101 | 200 | 201 | 307;
  response: R;
  reasons?: Reason[];
  handle(request: RouteRequest<Output<P>, Output<Q>, Output<B>>): Promise<z.input<R> | Reply>;
}

/** Makes a route of its definition. */
export const defineRoute = <
  R extends z.ZodType,
  P extends Shape = undefined,
  Q extends Shape = undefined,
  B extends Shape = undefined,
>(
  definition: RouteDefinition<P, Q, B, R>,
): Route => ({
  surface: 'versioned',
  status: 200,
  reasons: [],
  ...definition,
  // The router hands over exactly what the schemas of this very definition parsed.
  handle: request => definition.handle(request as RouteRequest<Output<P>, Output<Q>, Output<B>>),
});
