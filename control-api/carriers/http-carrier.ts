import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import type { GuardedFetch } from '#outbound/guarded-fetch';
import type { Carrier, CarrierConnection, OfferedNumber } from './carrier.ts';

type Method = 'GET' | 'POST' | 'DELETE';

const TIMEOUT_MS = 10_000;
const MOST_ANSWER_BYTES = 1024 * 1024;

const text = z.string().max(255).default('');
const offersAnswer = z.object({
  numbers: z.array(
    z.object({
      number: z.string().regex(/^\+[1-9]\d{6,14}$/),
      country: text,
      region: text,
      postal_code: text,
      features: z.array(z.enum(['emergency', 'fax', 'mms', 'sms', 'voice'])).default(['voice']),
    }),
  ),
});
const orderAnswer = z.object({ reference: z.string().max(255) });
const connectionAnswer = z.object({
  reference: z.string().max(255),
  hostname: z.string().max(255),
  username: text,
  password: text,
  tech_prefix: text,
});

const away = (why: string) => new PlatformError('SERVICE_UNAVAILABLE', `The carrier cannot do this now: ${why}.`);

/**
 * A carrier behind the plain HTTP interface that docs/carriers.md describes, so that any carrier can be had with a small
 * adapter. The operator chose its address.
 */
export class HttpCarrier implements Carrier {
  readonly name = 'http';
  readonly manual = false;
  readonly #url: string;
  readonly #apiKey: string;
  readonly #fetch: Pick<GuardedFetch, 'exchange'>;

  constructor(url: string, apiKey: string, fetch: Pick<GuardedFetch, 'exchange'>) {
    this.#url = url.replace(/\/+$/, '');
    this.#apiKey = apiKey;
    this.#fetch = fetch;
  }

  async offers(country: string, count: number): Promise<OfferedNumber[]> {
    const query = new URLSearchParams({ country_code: country.toLowerCase(), limit: String(count) });
    const answer = await this.#askOurs('GET', `/numbers/available?${query.toString()}`, offersAnswer);
    return answer.numbers.slice(0, count);
  }

  async order(number: string): Promise<string> {
    return (await this.#askOurs('POST', '/numbers', orderAnswer, { number })).reference;
  }

  async release(number: string, reference: string): Promise<void> {
    await this.#askOurs('DELETE', `/numbers/${encodeURIComponent(reference || number)}`, z.unknown());
  }

  async connect(apiKey: string, name: string): Promise<CarrierConnection> {
    return this.#ask('POST', '/connections', apiKey, connectionAnswer, { name });
  }

  async disconnect(apiKey: string, reference: string): Promise<void> {
    await this.#ask('DELETE', `/connections/${encodeURIComponent(reference)}`, apiKey, z.unknown());
  }

  /** With the operator's own key: that the carrier does not take it is nothing a customer could repair. */
  async #askOurs<S extends z.ZodType>(method: Method, path: string, schema: S, body?: unknown): Promise<z.output<S>> {
    return this.#ask(method, path, this.#apiKey, schema, body).catch((error: unknown) => {
      const rejected = error instanceof PlatformError && error.reason === 'CARRIER_CREDENTIALS_REJECTED';
      throw rejected ? away('it does not take the key of this installation') : error;
    });
  }

  async #ask<S extends z.ZodType>(
    method: Method,
    path: string,
    apiKey: string,
    schema: S,
    body?: unknown,
  ): Promise<z.output<S>> {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const request = { uri: this.#url + path, method, headers, body: body ? JSON.stringify(body) : '' };
    const asked = this.#fetch.exchange({ ...request, timeout_ms: TIMEOUT_MS }, MOST_ANSWER_BYTES);
    const answer = await asked.catch((error: unknown) => {
      throw away(error instanceof Error ? error.message : 'it does not answer');
    });
    if (answer.status === 401 || answer.status === 403)
      throw new PlatformError('CARRIER_CREDENTIALS_REJECTED', 'The carrier does not take this key.');
    const gone = method === 'DELETE' && (answer.status === 404 || answer.status === 410);
    if (!gone && (answer.status < 200 || answer.status > 299)) throw away(`it answered ${answer.status}`);
    return read(schema, gone || method === 'DELETE' ? null : answer.body.toString('utf8'));
  }
}

const read = <S extends z.ZodType>(schema: S, answer: string | null): z.output<S> => {
  try {
    return schema.parse(answer === null ? undefined : (JSON.parse(answer) as unknown));
  } catch {
    throw away('its answer is not understood');
  }
};
