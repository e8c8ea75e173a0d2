import { gzipSync } from 'node:zlib';

type Json = Record<string, unknown>;
type Schema = Json & { $ref?: string; type?: string | string[]; properties?: Record<string, Schema>; items?: Schema };

/** One request of the fuzz, as it goes over the wire. */
export interface FuzzRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer | undefined;
}

/** An operation of the OpenAPI document. */
export interface Operation {
  method: string;
  template: string;
  query: string[];
  body: Schema | undefined;
}

/** A random source that gives the same numbers for the same seed (mulberry32). */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(list: readonly T[]): T {
    const one = list[this.below(list.length)];
    if (one === undefined) throw new Error('There is nothing to pick.');
    return one;
  }

  id(): string {
    const hex = Array.from({ length: 32 }, () => this.below(16).toString(16)).join('');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
  }
}

const TEXTS = [
  ...['', ' ', '\0', 'a\0b', '\ud800', '\ufeff', '\u202eevil', '👩‍👩‍👧', 'ß'.repeat(300), 'x'.repeat(70_000)],
  ...["' or 1=1 --", '"; drop table flows; --', '${svc.call.id}', '../../../etc/passwd', '\r\nEvil: 1', '%00', 'NaN'],
  ...[
    'http://',
    'http://[::1',
    'javascript:alert(1)',
    'sip:\r\nBYE',
    '+',
    '+0',
    '+49301234567890123456',
    '9'.repeat(40),
  ],
  ...['0000-00-00', '9999-99-99T99:99:99Z', '-infinity', '00000000-0000-0000-0000-000000000000', '__proto__', 'null'],
];
const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);
const VALUES: unknown[] = [
  ...[null, true, false, 0, -1, 1.5, 1e308, 2 ** 53, -(2 ** 31) - 1, 2 ** 31, 2 ** 63],
  ...[[], {}, [[]], [null], [{}], { a: 1 }, deep(40), { constructor: { prototype: 1 } }, Array(2000).fill(0)],
];

const bytes = (...given: number[]): Buffer => Buffer.from(given);
const RAW: [body: Buffer, headers?: Record<string, string>][] = [
  ...[
    '',
    ' ',
    '{',
    '{"a":',
    '[1,',
    'null',
    'true',
    '"text"',
    '17',
    '[]',
    '{}}',
    "{'a':1}",
    '{"a":NaN}',
    '{"a":01}',
  ].map((text): [Buffer] => [Buffer.from(text)]),
  [bytes(0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00)],
  [bytes(0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d)],
  [bytes(0xef, 0xbb, 0xbf, 0x7b, 0x7d)],
  [Buffer.from('{"__proto__":{"name":1},"name":"a","name":5}')],
  [Buffer.from('['.repeat(100_000))],
  [Buffer.alloc(1_100_000, 0x20)],
  [Buffer.from('no gzip'), { 'Content-Encoding': 'gzip' }],
  [gzipSync(Buffer.alloc(3_000_000, 0x20)), { 'Content-Encoding': 'gzip' }],
  [Buffer.from('{}'), { 'Content-Encoding': 'rot13' }],
  [Buffer.from('{}'), { 'Content-Type': 'text/plain; charset=utf-99' }],
  [Buffer.from('a=b'), { 'Content-Type': 'application/x-www-form-urlencoded' }],
  [Buffer.from('--x'), { 'Content-Type': 'multipart/form-data; boundary=x' }],
];
const HEADERS: Record<string, string>[] = [
  { 'Idempotency-Key': 'k'.repeat(300) },
  { 'Idempotency-Key': 'a b' },
  { 'X-Request-Id': '{"a":1}' },
  { 'X-Forwarded-For': '::, not an address' },
  { Cookie: 'token=; accesskey=%zz; ;=' },
  { Authorization: 'Bearer ' + 'x'.repeat(3000) },
  { Accept: 'text/xml', 'Accept-Encoding': 'rot13' },
];
const PATHS = ['17', '%00', '%zz', '%c3%28', '..%2f..', '-', '%20', 'x'.repeat(4000), '%F0%9F%92%A9', 'a%0d%0ab'];

/** Every operation of an OpenAPI document. */
const operationsOf = (document: Json): Operation[] =>
  Object.entries(document['paths'] as Record<string, Record<string, Json>>).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const parameters = (operation['parameters'] ?? []) as { name: string; in: string }[];
      const content = (operation['requestBody'] as { content?: Record<string, { schema: Schema }> } | undefined)
        ?.content;
      return {
        method: method.toUpperCase(),
        template,
        query: parameters.filter(each => each.in === 'query').map(each => each.name),
        body: content?.['application/json']?.schema,
      };
    }),
  );

/** Makes requests that are wrong somewhere, out of what the document says is right. */
export class FuzzRequests {
  readonly #dice: Dice;
  readonly #schemas: Record<string, Schema>;
  readonly #operations: Operation[];
  readonly #known: (template: string) => string[];

  /** `known` gives ids of records that exist, by the path of their list. */
  constructor(document: Json, seed: number, known: (path: string) => string[]) {
    this.#dice = new Dice(seed);
    this.#operations = operationsOf(document);
    this.#schemas = (document['components'] as { schemas: Record<string, Schema> }).schemas;
    this.#known = known;
  }

  next(): FuzzRequest {
    const dice = this.#dice;
    const operation = dice.pick(this.#operations);
    const headers = dice.chance(0.1) ? dice.pick(HEADERS) : {};
    const path = this.#path(operation) + this.#query(operation);
    const body = operation.body ? this.#body(operation.body) : { body: undefined, headers: {} };
    return { method: operation.method, path, headers: { ...headers, ...body.headers }, body: body.body };
  }

  #path({ template }: Operation): string {
    const dice = this.#dice;
    const known = this.#known(template.split('/{')[0] ?? '');
    return template.replace(/\{\w+\}/g, () => {
      if (dice.chance(0.3)) return dice.pick(PATHS);
      return known.length > 0 && dice.chance(0.6) ? dice.pick(known) : dice.id();
    });
  }

  #query({ query }: Operation): string {
    const dice = this.#dice;
    if (!dice.chance(0.4)) return '';
    const names = [...query, 'page_size', 'page_token', 'a[b]', ''];
    const one = (): string =>
      `${dice.pick(names)}=${encodeURIComponent(Buffer.from(dice.pick(TEXTS)).toString().slice(0, 5000))}`;
    return `?${Array.from({ length: 1 + dice.below(3) }, one).join('&')}${dice.chance(0.05) ? '&%zz=%' : ''}`;
  }

  #body(schema: Schema): { body: Buffer; headers: Record<string, string> } {
    const dice = this.#dice;
    if (dice.chance(0.2)) {
      const [body, headers = {}] = dice.pick(RAW);
      return { body, headers: { 'Content-Type': 'application/json', ...headers } };
    }
    let value = this.#value(schema, 0);
    for (let n = 1 + dice.below(2); n > 0; n--) value = this.#spoil(value);
    return { body: Buffer.from(JSON.stringify(value) ?? ''), headers: { 'Content-Type': 'application/json' } };
  }

  /** Puts something else at some place of a value, or takes it away. */
  #spoil(value: unknown): unknown {
    const dice = this.#dice;
    if (typeof value !== 'object' || value === null || dice.chance(0.15)) return this.#nasty();
    if (Array.isArray(value)) {
      const list = value as unknown[];
      if (list.length === 0 || dice.chance(0.2)) return [...list, this.#nasty()];
      const at = dice.below(list.length);
      return list.map((item, n) => (n === at ? this.#spoil(item) : item));
    }
    const names = Object.keys(value);
    if (names.length === 0) return { [dice.pick(TEXTS)]: this.#nasty() };
    const name = dice.pick(names);
    if (dice.chance(0.2)) return Object.fromEntries(Object.entries(value).filter(([key]) => key !== name));
    return { ...value, [name]: this.#spoil((value as Json)[name]) };
  }

  #nasty(): unknown {
    return this.#dice.chance(0.6) ? this.#dice.pick(TEXTS) : this.#dice.pick(VALUES);
  }

  /** A value that fits a schema, more or less. */
  #value(schema: Schema, depth: number): unknown {
    const dice = this.#dice;
    if (schema.$ref) return this.#value(this.#schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}, depth);
    const choices = (schema['anyOf'] ?? schema['oneOf'] ?? schema['enum']) as unknown[] | undefined;
    if (choices && choices.length > 0) {
      const choice = dice.pick(choices);
      return schema['enum'] ? choice : this.#value(choice as Schema, depth);
    }
    if ('const' in schema) return schema['const'];
    const type = Array.isArray(schema.type) ? dice.pick(schema.type) : schema.type;
    if (type === 'object' || schema.properties) return this.#object(schema, depth);
    if (type === 'array') return depth > 4 || !schema.items ? [] : [this.#value(schema.items, depth + 1)];
    if (type === 'integer' || type === 'number') return dice.pick([0, 1, 60, 100, 3600]);
    if (type === 'boolean') return dice.chance(0.5);
    if (type === 'null') return null;
    return schema['format'] === 'uuid' ? dice.id() : dice.pick(['', 'name', '1001', '+15550100000', dice.id()]);
  }

  #object(schema: Schema, depth: number): Json {
    if (depth > 4) return {};
    const required = (schema['required'] ?? []) as string[];
    return Object.fromEntries(
      Object.entries(schema.properties ?? {})
        .filter(([name]) => required.includes(name) || this.#dice.chance(0.6))
        .map(([name, property]) => [name, this.#value(property, depth + 1)]),
    );
  }
}
