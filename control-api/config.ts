import { BlockList } from 'node:net';
import { z } from 'zod';
import { ratesSetting } from '#contract/billing';
import { settingsIn, type Environment } from '#process/settings';
import { parseProxies } from './http/client-address.ts';
import { rateSetting } from './http/rate.ts';
import type { Rates } from './http/rate-limits.ts';
import { TRANSPORTS } from './provisioning/line.ts';

const port = z.coerce.number().int().min(0).max(65535);
const url = (protocols: RegExp, example: string) =>
  z
    .string()
    .refine(text => protocols.test(text) && URL.canParse(text), { message: `must be a URL such as ${example}` });

/** Every setting of control-api: one environment variable each. */
export const configSchema = z.object({
  HTTP_PORT: port.default(8080).describe('Port of the API, the WebSocket and the documentation. 0 picks a free one.'),
  HOST: z.string().min(1).default('127.0.0.1').describe('Address the API listens on.'),
  DATABASE_URL: url(/^postgres(ql)?:/, 'postgres://user:password@host:5432/name').describe('The PostgreSQL database.'),
  REDIS_URL: url(/^rediss?:/, 'redis://host:6379').describe('The Redis that media-app shares.'),
  DATA_DIR: z.string().min(1).default('.data').describe('Folder where the first start writes welcome.json.'),
  SIP_DOMAIN: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/, 'must be a lowercase domain name')
    .default('trunkline.localhost')
    .describe('Domain below which the domains of extensions lie.'),
  PUBLIC_URL: z
    .union([z.literal(''), url(/^https?:/, 'https://phone.example.org')])
    .default('')
    .describe('Address under which clients reach the API; empty: http://HOST:HTTP_PORT.'),
  PHONE_SERVER: z
    .string()
    .regex(/^((\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9.-]{1,253})(:\d{1,5})?)?$/, 'must be like phone.example.org:5061')
    .default('')
    .describe('SIP server that provisioned phones are told, host and port; empty: the domain of the extension.'),
  PHONE_TRANSPORT: z.enum(TRANSPORTS).default('tls').describe('Transport that provisioned phones register by.'),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('Least log level shown.'),
  ALLOW_PRIVATE_TARGETS: z
    .enum(['auto', 'yes', 'no'])
    .default('auto')
    .describe('Whether webhooks may reach private addresses; auto: only when HOST is a loopback address.'),
  TRUST_PROXY: z
    .string()
    .refine(text => parseProxies(text) !== undefined, 'must be addresses or networks such as 10.0.0.0/8, ::1')
    .default('')
    .transform(text => parseProxies(text) ?? new BlockList())
    .describe('Proxies in front, whose X-Forwarded-For tells who asks: addresses and networks, separated by commas.'),
  RATE_AUTH: rateSetting('10/20').describe('Requests a second and burst of an address to /auth; off: no limit.'),
  RATE_AUTH_PROTECTED: rateSetting('10/20').describe('The same for /auth/unregister and /auth/delegate.'),
  RATE_ADDRESS: rateSetting('200/400').describe('Requests a second and burst of an address to the versioned API.'),
  RATE_CUSTOMER: rateSetting('16.7/33').describe(
    'Requests a second and burst of a customer, by tokens and accesskeys.',
  ),
  RATE_DIRECT: rateSetting('50/100').describe('The same by direct tokens.'),
  RATE_DELEGATE: rateSetting('8.3/16').describe('The same by delegate tokens.'),
  SMTP_URL: z
    .union([z.literal(''), url(/^smtps?:/, 'smtp://user:password@mail.example.org:587')])
    .default('')
    .describe('Mail server that letters go through; empty: they are files in DATA_DIR/mail.'),
  MAIL_FROM: z
    .string()
    .regex(/^(|([^<>@\r\n]{1,100} )?<?[^\s<>@]+@[^\s<>@]+>?)$/, 'must be like Trunkline <phone@example.org>')
    .default('')
    .describe('Sender of letters; empty: no-reply@SIP_DOMAIN.'),
  STORAGE_URL: z
    .union([
      z.literal(''),
      url(/^https?:\/\/[^/]+@[^/]+\/[^/?]+/, 'https://key:secret@s3.example.org/bucket?region=eu-1'),
    ])
    .default('')
    .describe('Bucket of an S3-compatible server that stored files lie in; empty: they are in DATA_DIR/files.'),
  DIRECT_SCOPE_VERSION: z.coerce
    .number()
    .int()
    .min(1)
    .default(1)
    .describe('Raise it to end every direct token that is out; their clients boot again.'),
  CARRIER: z
    .union([z.enum(['', 'manual']), url(/^https?:/, 'https://carrier.example.org/v1')])
    .default('')
    .describe(
      'Where normal numbers come from: the URL of a carrier adapter (docs/carriers.md); manual: super admins enter numbers that you have already; empty: nowhere.',
    ),
  BILLING_RATES: ratesSetting,
  CARRIER_API_KEY: z.string().max(1024).default('').describe('The key for the carrier adapter.'),
});
export type Config = z.infer<typeof configSchema>;

/** The rate of each tier of limits (accounts-and-plumbing 3). */
export const ratesOf = (config: Config): Rates => ({
  auth_public: config.RATE_AUTH,
  auth_protected: config.RATE_AUTH_PROTECTED,
  versioned: config.RATE_ADDRESS,
  customer: config.RATE_CUSTOMER,
  direct: config.RATE_DIRECT,
  delegate: config.RATE_DELEGATE,
});

/**
 * The settings in an environment.
 * @throws SettingsError with every mistake
 */
export const readConfig = (environment: Environment = process.env): Config => settingsIn(configSchema, environment);
