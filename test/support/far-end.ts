import { hostname } from 'node:os';
import type { SipMessage } from '../../scripts/phone/sip-message.ts';
import type { Stack } from './stack.ts';
import type { TestPhone } from './phone.ts';

/** Headers that a far end may see; one that is not here is a question to be asked. */
const SEEN = new Set([
  ...['via', 'from', 'to', 'call-id', 'cseq', 'contact', 'max-forwards', 'content-type', 'content-length', 'allow'],
  ...[
    'supported',
    'reason',
    'privacy',
    'p-asserted-identity',
    'www-authenticate',
    'proxy-authenticate',
    'expires',
    'date',
    'accept',
  ],
  ...['authorization', 'session-expires', 'min-se', 'require', 'refer-to'],
  ...['referred-by', 'replaces', 'event', 'allow-events'],
]);

/** Who we are inside is nobody's business: products, versions, machine, ways of ours. */
const NAMES =
  /trunkline(?!\.localhost)|drachtio|freeswitch|sofia|\bnode\b|mod_|\bengine\b|media-app|(?<!sip)\/\d+\.\d+/i;

const textOf = ({ headers, body, ...message }: SipMessage): string => {
  const start = message.kind === 'request' ? `${message.method} ${message.uri}` : `${message.status} ${message.reason}`;
  return [start, ...headers.map(({ name, value }) => `${name}: ${value}`), '', body].join('\n');
};

/** Every message that a phone was sent. */
const receivedBy = (phone: TestPhone): SipMessage[] =>
  phone.log.filter(({ direction }) => direction === 'received').map(({ message }) => message);

/** What belongs to a party's own leg: its address, the identifiers of its dialogs, what it says of itself. */
const secretsOf = (phone: TestPhone): string[] => {
  const values = phone.log.flatMap(({ message }) =>
    message.headers.flatMap(({ name, value }) =>
      name === 'call-id' ? [value] : [...value.matchAll(/(?:;tag=|;branch=)([^;,\s>]+)/g)].map(([, one]) => one ?? ''),
    ),
  );
  return [...new Set([`${phone.local.host}:${phone.local.port}`, phone.local.host, ...values])];
};

/** Ports of the inside of a stack. */
const insideOf = ({ redisUrl, databaseUrl, baseUrl }: Stack): string[] =>
  [redisUrl, databaseUrl, baseUrl].map(url => `:${new URL(url).port}`);

/** The name of the machine, as a word: a short one also stands in tags by chance. */
const MACHINE = new RegExp(`(?<![\\w.-])${hostname().replace(/[^\w-]/g, '\\$&')}(?![\\w-])`);

/**
 * What a message tells a far end that is none of its business, a sentence each: headers that nobody needs, names and versions of
 * ours, ports of the inside, and anything of the leg of another party, who must have an address that nobody else has.
 */
export const leaksIn = (stack: Stack, message: SipMessage, others: TestPhone[]): string[] => {
  const text = textOf(message).replace(/nonce="[^"]*"/g, 'nonce'); // random letters may spell any name
  const secrets = [...others.flatMap(secretsOf), ...insideOf(stack)];
  return [
    ...message.headers.filter(({ name }) => !SEEN.has(name)).map(({ name, value }) => `header ${name}: ${value}`),
    ...secrets.filter(secret => text.includes(secret)).map(secret => `${secret} in ${text}`),
    ...[NAMES, MACHINE].flatMap(name => (name.test(text) ? [`${name.exec(text)?.[0]} in ${text}`] : [])),
  ];
};

/** The same of every message that a phone was sent. */
export const leaksTo = (stack: Stack, phone: TestPhone, others: TestPhone[]): string[] =>
  receivedBy(phone).flatMap(message => leaksIn(stack, message, others));
