type Json = Record<string, unknown>;

const ID = '5f0c7f52-3b0e-4c53-9f6c-2d5f6a8e1b10';
const MOMENT = '2026-11-21 10:00:00.000000';

/** What a field of such a name looks like, where its schema alone would say little. */
const BY_NAME: [name: RegExp, value: string][] = [
  [/^tm_|_at$/, MOMENT],
  [/^timestamp$/, '2026-11-21T10:00:00.000000Z'],
  [/(^|_)id$/, ID],
  [/^next_page_token$/, ''],
  [/uri$|url$/, 'https://example.com/hook'],
  [/^(email|username)$/, 'someone@example.com'],
  [/^topic$/, `customer_id:${ID}:flow:${ID}`],
  [/^event_type$/, 'flow_updated'],
  [/number$|^target$/, '+15550100000'],
  [/^extension$/, '1001'],
  [/^first_name$/, 'Ada'],
  [/^last_name$/, 'Lovelace'],
  [/^display_name$/, 'Ada Lovelace'],
  [/^domain_name$/, 'office'],
  [/^password$/, 'correct horse'],
  [/^engine_model$/, 'openai.gpt-4o'],
  [/^init_prompt$/, 'You answer the phone of a hotel.'],
  [/^name$/, 'Reception'],
  [/^detail$/, 'What it is for.'],
];

const BY_FORMAT: Record<string, string> = {
  uuid: ID,
  email: 'someone@example.com',
  uri: 'https://example.com/hook',
  'date-time': '2026-11-21T10:00:00.000Z',
};

/** Texts for fields that have a pattern; the first that fits is shown. */
const BY_PATTERN = [
  '1001',
  '+15550100000',
  'all',
  '#336699',
  'any',
  'direct.0123456789abcdef',
  'ab'.repeat(32),
  'office',
];

const textOf = (schema: Json, name: string): string => {
  const format = BY_FORMAT[String(schema['format'])];
  if (format !== undefined) return format;
  const known = BY_NAME.find(([pattern]) => pattern.test(name))?.[1] ?? 'text';
  const [least, most] = [Number(schema['minLength'] ?? 0), Number(schema['maxLength'] ?? Infinity)];
  const text = known.padEnd(least, 'x').slice(0, most);
  if (typeof schema['pattern'] !== 'string') return text;
  const pattern = new RegExp(schema['pattern'], 'u');
  return [text, ...BY_PATTERN].find(each => pattern.test(each)) ?? text;
};

/** Schemas that contain themselves end here. */
const DEEPEST = 8;

/**
 * A value that a JSON Schema takes, for people to see its shape. `parts` are the schemas that references lead to. Only
 * what is required of a request is in it, or its first fields where nothing is; and everything of an answer, because an answer requires all it shows.
 */
export const exampleOf = (schema: Json, parts: Json, name = '', depth = 0): unknown => {
  const reference = /^#\/components\/schemas\/(.+)$/.exec(String(schema['$ref']))?.[1];
  if (reference !== undefined) return exampleOf(parts[reference] as Json, parts, name, depth + 1);
  if ('const' in schema) return schema['const'];
  const words = (schema['enum'] ?? []) as unknown[];
  if (words.length > 0) return words.find(word => word === 'tel') ?? words[0];
  const [variant] = (schema['anyOf'] ?? schema['oneOf'] ?? []) as Json[];
  if (variant) return exampleOf(variant, parts, name, depth + 1);
  return plainOf(schema, parts, name, depth);
};

const plainOf = (schema: Json, parts: Json, name: string, depth: number): unknown => {
  const [type] = [schema['type']].flat();
  switch (type) {
    case 'object':
      return objectOf(schema, parts, depth);
    case 'array': {
      const wanted = Number(schema['minItems'] ?? 0) > 0 || name === 'result';
      return wanted && depth < DEEPEST ? [exampleOf(schema['items'] as Json, parts, '', depth + 1)] : [];
    }
    case 'integer':
    case 'number':
      return schema['default'] ?? Math.max(1, Number(schema['minimum'] ?? 1));
    case 'boolean':
      return true;
    case 'string':
      return textOf(schema, name);
    default:
      return type === 'null' ? null : {};
  }
};

/** How many fields are shown of what may be left out altogether. */
const SHOWN = 3;

const objectOf = (schema: Json, parts: Json, depth: number): Json => {
  const fields = Object.entries((schema['properties'] ?? {}) as Record<string, Json>);
  const required = (schema['required'] ?? []) as string[];
  const needed = fields.filter(([field]) => required.includes(field));
  const chosen = needed.length > 0 ? needed : fields.slice(0, SHOWN);
  return Object.fromEntries(chosen.map(([field, part]) => [field, exampleOf(part, parts, field, depth + 1)]));
};
