import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import type { CodecName } from './media/codecs/table.ts';

const port = z
  .string()
  .regex(/^\d{1,5}$/, 'must be a port number')
  .transform(Number)
  .refine(number => number <= 65535, 'must be a port number up to 65535');

const portOrOff = z.union([z.literal('off').transform(() => undefined), port]).optional();

const paths = z
  .string()
  .transform(text => text.split(',').map(path => path.trim()))
  .optional();

const isNameServer = (text: string): boolean => {
  const [, bracketed, plain, port = '53'] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  return isIP(text) !== 0 || (isIP(bracketed ?? plain ?? '') !== 0 && Number(port) > 0 && Number(port) < 65_536);
};

const nameServers = z
  .string()
  .transform(text => text.split(',').map(one => one.trim()))
  .refine(list => list.every(isNameServer), 'must be IP addresses, with a port or without')
  .optional();

const requestHandlers = z
  .string()
  .transform(text => text.split(',').map(one => one.trim().split('=', 2)))
  .refine(
    list =>
      list.every(([method = '', url = '']) => /^([a-z]+|\*)$/i.test(method) && /^(tcp|tls|https?):\/\/./.test(url)),
    'must look like invite=tcp://127.0.0.1:3000,*=http://127.0.0.1:8080',
  )
  .transform(list => Object.fromEntries(list.map(([method = '', url = '']) => [method.toLowerCase(), url])))
  .optional();

const portRange = z
  .string()
  .regex(/^\d{1,5}-\d{1,5}$/, 'must look like 20000-24999')
  .transform(text => text.split('-').map(Number) as [number, number])
  .refine(
    ([low, high]) => low >= 1024 && high <= 65535 && high - low >= 2,
    'must be a range of ports between 1024 and 65535',
  );

const codecs = ['PCMU', 'PCMA', 'opus', 'G722'] as const satisfies readonly CodecName[];

/** Names of codecs in whatever case, as the engine spells them. */
const codecList = z
  .string()
  .transform(text => text.split(',').map(one => one.trim().toLowerCase()))
  .refine(
    names =>
      new Set(names).size === names.length && names.every(one => codecs.some(codec => codec.toLowerCase() === one)),
    `must be some of ${codecs.join(', ')}, each once, with commas between them`,
  )
  .transform(names => names.flatMap(one => codecs.filter(codec => codec.toLowerCase() === one)));

/** Every setting of the engine (environment variables). */
export const settingsSchema = z.object({
  HOST: z.string().min(1).default('127.0.0.1').describe('Address that SIP and RTP listen on.'),
  SIP_PORT: port.default(5060).describe('SIP port, UDP and TCP.'),
  SIP_TLS_PORT: portOrOff.describe('Port of SIP over TLS, or off.'),
  SIP_WS_PORT: portOrOff.describe('Port of SIP over WebSocket, or off.'),
  SIP_WSS_PORT: portOrOff.describe('Port of SIP over secure WebSocket, or off.'),
  SIP_TLS_CERT: paths.describe(
    'Certificate for TLS and WSS with its chain, a PEM file; several, separated by commas, are chosen by SNI. Read again when changed and on SIGHUP. Without one, a self-signed one is made in DATA_DIR/tls.',
  ),
  SIP_TLS_KEY: paths.describe('Its key, a PEM file; several in the same order.'),
  SIP_TLS_VERIFY: z
    .enum(['yes', 'no'])
    .default('yes')
    .describe('Whether SIP servers that are called over TLS have to prove their name.'),
  SIP_RESOLVER: nameServers.describe(
    'DNS servers that are asked for SIP servers, such as 192.0.2.53 or [2001:db8::53]:5353, separated by commas; those of the system without any.',
  ),
  SIP_CONNECTIONS_PER_SOURCE: z
    .string()
    .regex(/^\d{1,6}$/, 'must be a number')
    .transform(Number)
    .default(1000)
    .describe(
      'How many connections (TCP, TLS, WebSocket) one address, or one /64 of IPv6, may have; 0 for any number, and for as many TLS handshakes a second as all may begin.',
    ),
  SIP_DOMAIN: z.string().min(1).default('trunkline.localhost').describe('Domain under which extensions register.'),
  RTP_PORTS: portRange.default([20000, 24999]).describe('UDP ports for audio, first and last.'),
  ENGINE_CODECS: codecList
    .prefault(codecs.join())
    .describe(
      'Codecs that are spoken to phones and carriers, the most preferred first, whatever their order in an offer. For wideband among all who can, G722 or opus comes first.',
    ),
  ADVERTISED_ADDRESS: z
    .ipv4()
    .optional()
    .describe('Address that SIP and SDP name when phones reach this machine under another one than HOST.'),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('The least severe line that is logged.'),
  DATA_DIR: z.string().min(1).default('.data').describe('Folder for everything that is kept.'),
  ENGINE_HOST: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe('Address of the ports below; one that media-apps on other machines reach, and nobody else.'),
  ENGINE_ADMIN_PORT: port.default(9022).describe('Port of the admin protocol of drachtio-server.'),
  ENGINE_ADMIN_TLS_PORT: portOrOff.describe(
    'Port of the same over TLS, or off, with the certificate of SIP_TLS_CERT; for media-apps on other machines.',
  ),
  ENGINE_ADMIN_SECRET: z
    .string()
    .min(1, 'must be set: media-app proves itself with it')
    .describe('Secret of the admin port.'),
  ENGINE_REQUEST_HANDLERS: requestHandlers.describe(
    'Where new SIP requests go instead of applications that have connected, by method or * for all others: invite=tcp://host:port (or tls://) connects to an application, *=http://host:port asks there. Separated by commas.',
  ),
  ENGINE_EVENT_SOCKET_PORT: port.default(8021).describe('Port of the event socket of FreeSWITCH.'),
  ENGINE_EVENT_SOCKET_PASSWORD: z
    .string()
    .min(1, 'must be set: media-app proves itself with it')
    .describe('Password of the event socket.'),
  ENGINE_BANS_REDIS: z
    .url({ protocol: /^rediss?$/ })
    .optional()
    .describe('Redis that lists banned sources, whose requests are dropped.'),
  ENGINE_MEDIA_SIP_PORT: port.default(5080).describe('SIP port of the media server.'),
});

/**
 * Reads and checks all settings at once.
 * @throws Error whose message has one sentence for each mistake
 */
export function readSettings(environment: NodeJS.ProcessEnv) {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = settingsSchema.safeParse(given);
  if (!parsed.success) throw new Error(parsed.error.issues.map(sentence).join('\n'));
  const env = parsed.data;
  if (env.SIP_TLS_CERT?.length !== env.SIP_TLS_KEY?.length)
    throw new Error('SIP_TLS_CERT and SIP_TLS_KEY must be given together, a key for each certificate.');
  const dataDir = resolve(env.DATA_DIR);
  return {
    logLevel: env.LOG_LEVEL,
    host: env.HOST,
    advertisedAddress: env.ADVERTISED_ADDRESS,
    sipPort: env.SIP_PORT,
    nameServers: env.SIP_RESOLVER,
    connectionsPerSource: env.SIP_CONNECTIONS_PER_SOURCE,
    sipPorts: { tls: env.SIP_TLS_PORT, ws: env.SIP_WS_PORT, wss: env.SIP_WSS_PORT },
    tls: {
      files: env.SIP_TLS_CERT?.map((cert, at) => ({ cert, key: env.SIP_TLS_KEY?.[at] ?? '' })) ?? [],
      dir: join(dataDir, 'tls'),
      names: certificateNames(env.SIP_DOMAIN, [env.HOST, env.ADVERTISED_ADDRESS]),
      verify: env.SIP_TLS_VERIFY === 'yes',
    },
    codecs: env.ENGINE_CODECS,
    rtpPorts: env.RTP_PORTS,
    admin: {
      ...{ host: env.ENGINE_HOST, port: env.ENGINE_ADMIN_PORT, tlsPort: env.ENGINE_ADMIN_TLS_PORT },
      secret: env.ENGINE_ADMIN_SECRET,
    },
    requestHandlers: env.ENGINE_REQUEST_HANDLERS,
    eventSocket: {
      host: env.ENGINE_HOST,
      port: env.ENGINE_EVENT_SOCKET_PORT,
      password: env.ENGINE_EVENT_SOCKET_PASSWORD,
    },
    mediaSip: { host: env.ENGINE_HOST, port: env.ENGINE_MEDIA_SIP_PORT },
    bansRedis: env.ENGINE_BANS_REDIS,
    soundsDir: join(dataDir, 'sounds'),
    cacheDir: join(dataDir, 'sound-cache'),
  };
}

/** What phones may dial this installation by, for its self-signed certificate. */
function certificateNames(domain: string, addresses: (string | undefined)[]): string[] {
  const own = hostname().toLowerCase();
  const names = [domain, `*.reg.${domain}`, 'localhost', /^[a-z0-9.-]+$/.test(own) ? own : undefined];
  const wildcards = ['0.0.0.0', '::'];
  const all = [...names, '127.0.0.1', '::1', ...addresses.filter(one => !wildcards.includes(one ?? ''))];
  return [...new Set(all.filter(one => one !== undefined))];
}

function sentence(issue: { path: PropertyKey[]; message: string; code?: string }): string {
  const name = String(issue.path[0] ?? 'settings');
  const missing = /received undefined/.test(issue.message);
  return `${name} ${missing ? 'must be set.' : `is wrong: ${issue.message}.`}`;
}
