import { z } from 'zod';

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
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('Least log level shown.'),
  ALLOW_PRIVATE_TARGETS: z
    .enum(['auto', 'yes', 'no'])
    .default('auto')
    .describe('Whether webhooks may reach private addresses; auto: only when HOST is a loopback address.'),
});
export type Config = z.infer<typeof configSchema>;

/** All mistakes of the settings at once, a sentence each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

const LOOPBACK = /^(127\.|::1$|localhost$)/;

/** True when webhooks may be sent to private addresses. */
export const privateTargetsAllowed = (config: Config): boolean =>
  config.ALLOW_PRIVATE_TARGETS === 'yes' || (config.ALLOW_PRIVATE_TARGETS === 'auto' && LOOPBACK.test(config.HOST));

/** The settings in an environment; empty variables count as absent. Throws `ConfigError` with every mistake. */
export const readConfig = (environment: Record<string, string | undefined> = process.env): Config => {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = configSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  const sentences = parsed.error.issues.map(issue => {
    const name = issue.path.join('.');
    return given[name] === undefined ? `${name} is missing.` : `${name} is wrong: ${issue.message}.`;
  });
  throw new ConfigError(sentences.join('\n'));
};
