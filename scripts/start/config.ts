import { z } from 'zod';
import { ratesSetting } from '#contract/billing';

const port = (fallback: number) =>
  z.coerce
    .number({ error: 'must be a port number' })
    .int('must be a whole number')
    .min(1, 'must be at least 1')
    .max(65535, 'must be at most 65535')
    .default(fallback);

/** `auto` becomes the usual port when it is free, else off. */
const portIfFree = z
  .union(
    [z.enum(['auto', 'off']), z.coerce.number<string>().int().min(1).max(65535)],
    'must be auto, off or a port number up to 65535',
  )
  .default('auto');

const rtpPorts = z
  .string()
  .default('20000-24999')
  .refine(text => {
    const range = /^(\d{1,5})-(\d{1,5})$/.exec(text);
    if (range === null) return false;
    const [low, high] = [Number(range[1]), Number(range[2])];
    return low >= 1024 && high <= 65535 && high - low >= 3;
  }, 'must be two ports from 1024 to 65535 with a hyphen between them, like 20000-24999, at least 4 ports apart');

/** @param scheme a regular expression */
const servers = (scheme: string, example: string) =>
  z
    .string()
    .refine(
      text =>
        text
          .split(',')
          .every(item =>
            new RegExp(`^${scheme}://([^@/\\s]*@)?(\\[[^\\]\\s]+\\]|[^@/:\\s]+)(:\\d{1,5})?$`).test(item.trim()),
          ),
      `must be one or more ${example}, separated by commas`,
    )
    .optional();

/** Every setting `npm start` reads from the environment. An empty text counts as not set. */
export const settingsSchema = z
  .object({
    HTTP_PORT: port(8080).describe('Port of the REST API, the WebSocket and the documentation pages.'),
    HOST: z
      .string()
      .regex(/^[0-9A-Za-z.:-]{1,255}$/, 'must be an address or a host name')
      .default('127.0.0.1')
      .describe('Address that HTTP, SIP and RTP listen on. 0.0.0.0 lets phones elsewhere reach it.'),
    SIP_PORT: port(5060).describe('SIP port, UDP and TCP.'),
    SIP_TLS_PORT: portIfFree.describe('Port of SIP over TLS, or off. auto: 5061 when it is free.'),
    SIP_WS_PORT: portIfFree.describe('Port of SIP over WebSocket, or off. auto: 5066 when it is free.'),
    SIP_WSS_PORT: portIfFree.describe('Port of SIP over secure WebSocket, or off. auto: 7443 when it is free.'),
    RTP_PORTS: rtpPorts.describe('UDP ports for audio, first and last.'),
    DATA_DIR: z
      .string()
      // Creating a folder in there hangs or means something else.
      .refine(folder => !/^\/(proc|sys|dev)(\/|$)/.test(folder), 'must not lie in /proc, /sys or /dev')
      .default('.data')
      .describe('Folder of everything that must survive: database, Redis log, recordings.'),
    DATABASE_URL: z
      .string()
      .regex(/^postgres(ql)?:\/\//, 'must start with postgres://')
      .optional()
      .describe('A PostgreSQL of your own. When given, the embedded one is not started.'),
    REDIS_URL: z
      .string()
      .regex(/^rediss?:\/\//, 'must start with redis:// or rediss://')
      .optional()
      .describe('A Redis of your own. When given, the embedded one is not started.'),
    SIP_SERVERS: servers('drachtio(\\+tls)?', 'drachtio://secret@host:9022').describe(
      'drachtio servers of your own, over TLS as drachtio+tls://…. With MEDIA_SERVERS given, the engine is not started.',
    ),
    MEDIA_SERVERS: servers('freeswitch', 'freeswitch://password@host:8021').describe(
      'FreeSWITCH servers of your own. With SIP_SERVERS given, the engine is not started.',
    ),
    SIP_DOMAIN: z
      .string()
      .regex(/^[a-z0-9]([a-z0-9.-]{0,188}[a-z0-9])?$/, 'must be a lowercase domain name')
      .default('trunkline.localhost')
      .describe('Domain under which extensions register: {label}.reg.{SIP_DOMAIN}.'),
    PUBLIC_URL: z
      .url('must be a URL')
      .optional()
      .describe('Address under which others reach the API, when it is not http://HOST:HTTP_PORT.'),
    PHONE_SERVER: z
      .string()
      .optional()
      .describe('SIP server that provisioned phones are told; without it the address of the embedded engine.'),
    PHONE_TRANSPORT: z
      .enum(['udp', 'tcp', 'tls'], 'must be udp, tcp or tls')
      .default('udp')
      .describe('Transport that provisioned phones register by.'),
    ADVERTISED_ADDRESS: z
      .ipv4('must be an IPv4 address')
      .optional()
      .describe('Address that SIP and SDP name when phones reach this machine under another one than HOST.'),
    LOG_LEVEL: z
      .enum(['trace', 'debug', 'info', 'warn', 'error'], 'must be trace, debug, info, warn or error')
      .default('info')
      .describe('How much the processes say.'),
    ALLOW_PRIVATE_TARGETS: z
      .enum(['auto', 'yes', 'no'], 'must be auto, yes or no')
      .default('auto')
      .describe('Whether webhooks may go to private addresses. auto: only while HOST is a loopback address.'),
    SMTP_URL: z
      .string()
      .regex(/^smtps?:\/\//, 'must start with smtp:// or smtps://')
      .optional()
      .describe('Mail server that letters go through; without it they are files in DATA_DIR/mail.'),
    BILLING_RATES: ratesSetting,
    STORAGE_URL: z
      .string()
      .regex(/^https?:\/\/[^/]+@[^/]+\/[^/?]+/, 'must be like https://key:secret@s3.example.org/bucket')
      .optional()
      .describe('Bucket of an S3-compatible server that stored files lie in; without it they are in DATA_DIR/files.'),
    DIRECT_SCOPE_VERSION: z.coerce
      .number({ error: 'must be a whole number' })
      .int('must be a whole number')
      .min(1, 'must be at least 1')
      .default(1)
      .describe('Raise it to end every direct token that is out; their clients boot again.'),
  })
  .superRefine((settings, context) => {
    if ((settings.SIP_SERVERS === undefined) === (settings.MEDIA_SERVERS === undefined)) return;
    const [given, missing] = settings.SIP_SERVERS ? ['SIP_SERVERS', 'MEDIA_SERVERS'] : ['MEDIA_SERVERS', 'SIP_SERVERS'];
    context.addIssue({ code: 'custom', path: [missing], message: `is needed too, because ${given} is given` });
  });

export type Settings = z.infer<typeof settingsSchema>;

/** A mistake the operator can repair: printed as it is, without a stack. */
export class StartError extends Error {}

const sentence = (issue: z.core.$ZodIssue, environment: NodeJS.ProcessEnv): string => {
  const name = issue.path.join('.');
  const given = environment[name];
  return `${name}${given === undefined ? '' : `=${/SECRET|PASSWORD|SERVERS|_URL$/.test(name) ? '…' : given}`} ${issue.message}.`;
};

/** Reads the settings, or throws one StartError that names every mistake at once. */
export const readSettings = (environment: NodeJS.ProcessEnv): Settings => {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = settingsSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new StartError(parsed.error.issues.map(issue => sentence(issue, environment)).join('\n'));
};
