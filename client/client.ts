import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { TrunklineError } from './error.ts';
import { ROUTES, type Operations } from './types.ts';

export type OperationId = keyof Operations;
type Asked<O extends OperationId> = Omit<Operations[O], 'response'> & {
  idempotency_key?: string;
  signal?: AbortSignal;
};
type Answer<O extends OperationId> = Operations[O]['response'];
/** The last argument of a call: it may be left out when nothing in it is required. */
type Input<O extends OperationId> = Record<string, never> extends Asked<O> ? [asked?: Asked<O>] : [asked: Asked<O>];

/** Operations that answer in pages, and what is on them. */
export type ListId = {
  [O in OperationId]: Answer<O> extends { result: unknown[]; next_page_token: string } ? O : never;
}[OperationId];
export type Item<O extends ListId> = Answer<O> extends { result: (infer T)[] } ? T : never;

export interface ClientOptions {
  /** Without the version prefix, such as `http://127.0.0.1:8080`. */
  base_url: string;
  accesskey?: string;
  /** From `login`. */
  token?: string;
  fetch?: typeof fetch;
  /** How often a request is tried again. Default 4. */
  retries?: number;
  /** The longest wait between two tries, and the longest Retry-After that is waited for, in milliseconds. Default 30 s. */
  most_wait_ms?: number;
}

interface Sent {
  params?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
  idempotency_key?: string;
  signal?: AbortSignal;
}

const FIRST_WAIT_MS = 200;

/** `/flows/{id}` with its ids. */
const fill = (path: string, params: Record<string, string> = {}): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));

/** How long to wait after a failure, in milliseconds; infinite when another try would fail too. */
const waitAfter = (error: unknown, tried: number, most: number): number => {
  const backOff = Math.min(FIRST_WAIT_MS * 2 ** tried * (0.5 + Math.random() / 2), most);
  return error instanceof TrunklineError ? error.retryAfterMs(backOff) : backOff;
};

const read = async (response: Response): Promise<unknown> => {
  const type = response.headers.get('content-type') ?? '';
  if (type.includes('json')) return response.json();
  if (type.startsWith('text/')) return response.text();
  const bytes = new Uint8Array(await response.arrayBuffer());
  return bytes.length > 0 ? bytes : undefined;
};

/** A client of the REST API, typed by its OpenAPI document. */
export class TrunklineClient {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /**
   * Asks for one operation, such as `call('get_call', { params: { id } })`. An order or creation gets an Idempotency-Key
   * (one of its own unless it is given), so trying again acts once; it is tried again as reading is, after a network failure,
   * 429 and 503. Rejects with TrunklineError when refused, and with fetch's error when there was no answer at all.
   */
  async call<O extends OperationId>(operation: O, ...[asked]: Input<O>): Promise<Answer<O>> {
    const { method, keyed } = ROUTES[operation];
    const sent: Sent = { ...asked };
    if (keyed) sent.idempotency_key ??= randomUUID();
    const ask = this.#prepared(operation, sent);
    const { retries = 4, most_wait_ms = 30_000 } = this.#options;
    for (let tried = 0; ; tried++) {
      try {
        return (await ask()) as Answer<O>;
      } catch (error) {
        const delay = waitAfter(error, tried, most_wait_ms);
        const final = tried >= retries || delay > most_wait_ms || sent.signal?.aborted;
        if (final || (method === 'POST' && !keyed)) throw error;
        await wait(delay, undefined, { signal: sent.signal });
      }
    }
  }

  /** Every record of a list, page after page: `for await (const call of client.all('list_calls'))`. */
  async *all<O extends ListId>(operation: O, ...[asked]: Input<O>): AsyncGenerator<Item<O>, void, undefined> {
    const query: Sent['query'] = { ...(asked as Sent | undefined)?.query };
    do {
      const input = [{ ...asked, query }] as unknown as Input<O>; // the same question, from another page on
      const page = (await this.call(operation, ...input)) as { result: Item<O>[]; next_page_token: string };
      yield* page.result;
      query['page_token'] = page.next_page_token;
    } while (query['page_token']);
  }

  /** The request, ready to be sent once or more often. */
  #prepared(operation: OperationId, { params, query, body, idempotency_key, signal }: Sent): () => Promise<unknown> {
    const { method, path } = ROUTES[operation];
    const { base_url, accesskey, token, fetch: send = fetch } = this.#options;
    const url = new URL(fill(path, params), base_url);
    for (const [name, value] of Object.entries({ accesskey, ...query }))
      if (value !== undefined) url.searchParams.set(name, String(value));
    const headers = {
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
      ...(idempotency_key ? { 'Idempotency-Key': idempotency_key } : {}),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    };
    const text = body === undefined ? undefined : JSON.stringify(body);
    return async () => {
      const response = await send(url, { method, headers, body: text, signal, redirect: 'manual' });
      if (response.status >= 400) throw await TrunklineError.of(response);
      return read(response);
    };
  }
}
