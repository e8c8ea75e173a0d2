import { z } from 'zod';
import { ratesSetting } from '#contract/billing';
import { settingsIn } from '#process/settings';

/** `scheme://secret@host:port`, as in SIP_SERVERS and MEDIA_SERVERS. */
export interface ServerAddress {
  /** As it is spelt, an IPv6 address in brackets. */
  host: string;
  port: number;
  secret: string;
  /** Whether the connection is encrypted (`scheme+tls:`). */
  tls?: boolean;
}

/** The host as sockets take it. */
export const socketHost = ({ host }: ServerAddress): string => host.replace(/^\[|\]$/g, '');

/** @param scheme a regular expression */
const serverList = (scheme: string, example: string, defaultPort: number) =>
  z
    .string()
    .transform((text, context): ServerAddress[] =>
      text
        .split(',')
        .filter(Boolean)
        .map(item => {
          const match = new RegExp(`^${scheme}://(?:([^@/]*)@)?(\\[[^\\]]+\\]|[^:/@]+)(?::(\\d{1,5}))?$`).exec(
            item.trim(),
          );
          if (!match)
            context.addIssue({
              code: 'custom',
              message: `"${item.replace(/\/\/[^@]*@/, '//…@')}" is not ${example}`,
            });
          return {
            secret: decodeURIComponent(match?.[1] ?? ''),
            host: match?.[2] ?? '',
            port: Number(match?.[3] ?? defaultPort),
            tls: /^[a-z]+\+tls:/.test(item.trim()),
          };
        }),
    )
    .refine(list => list.length > 0, 'names no server');

const milliseconds = (fallback: number) => z.coerce.number().int().min(1).default(fallback);

const ceiling = (fallback: number) => z.coerce.number().int().min(0).default(fallback);

/** Every setting of media-app (environment variables). */
export const settingsSchema = z.object({
  SIP_SERVERS: serverList('drachtio(?:\\+tls)?', 'drachtio://secret@host:port', 9022).describe(
    'drachtio-servers to take calls from and place calls through: `drachtio://secret@host:9022,…`; `drachtio+tls:` to a port for TLS, whose certificate has to be good for the host (NODE_EXTRA_CA_CERTS names an authority of your own).',
  ),
  MEDIA_SERVERS: serverList('freeswitch', 'freeswitch://password@host:port', 8021).describe(
    'FreeSWITCH servers that hold the media: `freeswitch://password@host:8021,…`.',
  ),
  REDIS_URL: z.string().describe('Redis that carries commands, live state and events.'),
  DATABASE_URL: z.string().describe('PostgreSQL; media-app only reads it.'),
  SIP_DOMAIN: z.string().default('trunkline.localhost').describe('The domain phones and numbers live under.'),
  DATA_DIR: z.string().default('.data').describe('Folder for everything that is kept.'),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error'])
    .default('info')
    .describe('The least severe line that is logged.'),
  BILLING_RATES: ratesSetting,
  HOST: z.string().default('127.0.0.1').describe('Address to listen on.'),
  EVENT_SOCKET_HOST: z
    .string()
    .default('127.0.0.1')
    .describe('Address media servers and control-api connect back to; their machines must be able to reach it.'),
  ALLOW_PRIVATE_TARGETS: z
    .enum(['auto', 'yes', 'no'])
    .default('auto')
    .describe(
      'Whether webhooks and audio URLs may name private addresses; auto: only when HOST is a loopback address.',
    ),
  DIGEST_ALGORITHMS: z.string().default('MD5,SHA-256').describe('Digest algorithms offered to phones, in this order.'),
  GUARD_LIMIT: z
    .string()
    .regex(/^(off|\d{1,6}\/\d{1,5})$/, 'must look like 20/60, or be off')
    .default('20/60')
    .transform(text => {
      const [limit = 0, seconds = 0] = text.split('/').map(Number);
      return text === 'off' ? undefined : { limit, window_ms: seconds * 1000 };
    })
    .describe('Points a source of bad SIP messages may collect within so many seconds (docs/guard.md); off: no bans.'),
  GUARD_BAN_S: z.coerce
    .number()
    .int()
    .min(1)
    .max(86_400)
    .default(600)
    .describe('How long the first ban of a source lasts; each further one of a day lasts twice as long.'),
  GUARD_ALLOW: z
    .string()
    .default('127.0.0.1,::1')
    .describe(
      'Addresses and networks that are never banned, with commas between them; those of providers are not either.',
    ),
  DIAL_TIMEOUT_MS: milliseconds(60_000).describe('How long an outgoing call may ring.'),
  MAX_CALL_MS: milliseconds(3_600_000).describe('How long a call may last.'),
  HEALTH_CHECK_MS: milliseconds(10_000).describe('How often a silent leg is asked whether it is still there.'),
  CONFERENCE_CHECK_MS: milliseconds(5_000).describe('How often participants of conferences are looked after.'),
  CUSTOMER_MAX_CALLS: ceiling(200).describe(
    'Most calls to telephones that a customer may have at a time; 0: any number.',
  ),
  CUSTOMER_MAX_CALLS_PER_SECOND: ceiling(20).describe('Most new ones in a second; 0: any number.'),
  // Two hundred lines that are busy for a working day cost 960 dollars: a stolen password does not go on all night.
  CUSTOMER_MAX_SPEND_PER_DAY: ceiling(1000).describe(
    'Most dollars that its calls to telephones may cost a customer in 24 hours; 0: any sum.',
  ),
  CARRIER_CHECK_MS: milliseconds(60_000).describe('How often carriers are asked whether they are there.'),
  CONTACT_CHECK_MS: z.coerce
    .number()
    .int()
    .min(0)
    .max(86_400_000)
    .default(60_000)
    .describe('About how often a registered phone is asked whether it is there; 0: never.'),
  LEASE_MS: milliseconds(5_000).describe('How long a media-app that went silent still owns its calls.'),
});

export type Settings = z.infer<typeof settingsSchema>;

/**
 * The settings in an environment.
 * @throws SettingsError with every mistake
 */
export const readSettings = (environment: NodeJS.ProcessEnv = process.env): Settings => {
  // Both WWW-Authenticate lines of a challenge must survive drachtio-srf, which otherwise merges equal names.
  environment.DRACHTIO_PRESERVE_HEADER_NAMES ??= 'WWW-Authenticate';
  // drachtio-srf looks there for every header it reads; a plain copy answers without asking the operating system.
  if (environment === process.env) process.env = { ...environment };
  return settingsIn(settingsSchema, environment);
};
