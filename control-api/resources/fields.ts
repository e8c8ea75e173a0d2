import { z } from 'zod';
import { EMPTY_ID, isId } from '#contract/ids';
import { because } from '../http/bind.ts';

/** A label people read. */
export const nameField = z.string().max(255).default('').describe('What people see.');

/** Free text. */
export const detailField = z.string().max(4096).default('').describe('Free text.');

/** A reference that may be unset: an empty string means the empty UUID. Stored in lower case. */
export const reference = (what: string) =>
  z
    .string()
    .refine(text => text === '' || isId(text), 'must be a UUID')
    .overwrite(text => (text === '' ? EMPTY_ID : text.toLowerCase()))
    .default(EMPTY_ID)
    .describe(what);

/** True for an absolute http or https URL. */
export const isWebAddress = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return (protocol === 'http:' || protocol === 'https:') && hostname !== '';
};

/** Where a webhook goes: an absolute http or https URL, or empty. */
export const webhookUri = z
  .string()
  .refine(
    text => text === '' || (text.length <= 2048 && isWebAddress(text)),
    because('INVALID_WEBHOOK_URI', 'must be an http or https URL of at most 2048 characters'),
  )
  .describe('Absolute http or https URL; empty: none.');

const WEBHOOK_METHODS = ['', 'POST', 'GET', 'PUT', 'DELETE'] as const;
type WebhookMethod = (typeof WEBHOOK_METHODS)[number];

/** How a webhook is sent. */
export const webhookMethod = z
  .custom<WebhookMethod>(
    value => typeof value === 'string' && (WEBHOOK_METHODS as readonly string[]).includes(value),
    because('INVALID_WEBHOOK_METHOD', `must be one of POST, GET, PUT, DELETE or empty`),
  )
  .meta({ type: 'string', enum: [...WEBHOOK_METHODS], description: 'Empty means POST.' });

const LIMITS = { keys: 100, total_bytes: 64 * 1024, value_bytes: 32 * 1024 };
const bytes = (text: string): number => Buffer.byteLength(text, 'utf8');

const withinLimits = (variables: Record<string, string>): boolean => {
  const entries = Object.entries(variables);
  const total = entries.reduce((sum, [key, value]) => sum + bytes(key) + bytes(value), 0);
  const fits = entries.every(([, value]) => bytes(value) <= LIMITS.value_bytes);
  return entries.length <= LIMITS.keys && total <= LIMITS.total_bytes && fits;
};

/** Variables of a new activeflow; over a limit the whole request is refused (voice-and-flows 5.2). */
export const variablesField = z
  .record(z.string(), z.string())
  .refine(withinLimits, because('INVALID_VARIABLES', 'at most 100 keys, 64 KB in total and 32 KB a value'))
  .default({})
  .describe('Read in the flow as ${key}. Keys that begin with svc. are ignored.');
