import { join, resolve } from 'node:path';
import { z } from 'zod';

const port = z
  .string()
  .regex(/^\d{1,5}$/, 'must be a port number')
  .transform(Number)
  .refine(number => number <= 65535, 'must be a port number up to 65535');

const portRange = z
  .string()
  .regex(/^\d{1,5}-\d{1,5}$/, 'must look like 20000-24999')
  .transform(text => text.split('-').map(Number) as [number, number])
  .refine(
    ([low, high]) => low >= 1024 && high <= 65535 && high - low >= 2,
    'must be a range of ports between 1024 and 65535',
  );

/** Every setting of the engine (environment variables). */
export const settingsSchema = z.object({
  HOST: z.string().min(1).default('127.0.0.1').describe('Address that SIP and RTP listen on.'),
  SIP_PORT: port.default(5060).describe('SIP port, UDP and TCP.'),
  RTP_PORTS: portRange.default([20000, 24999]).describe('UDP ports for audio, first and last.'),
  ADVERTISED_ADDRESS: z
    .ipv4()
    .optional()
    .describe('Address that SIP and SDP name when phones reach this machine under another one than HOST.'),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('The least severe line that is logged.'),
  DATA_DIR: z.string().min(1).default('.data').describe('Folder for everything that is kept.'),
  ENGINE_ADMIN_PORT: port.default(9022).describe('Loopback port of the admin protocol of drachtio-server.'),
  ENGINE_ADMIN_SECRET: z
    .string()
    .min(1, 'must be set: media-app proves itself with it')
    .describe('Secret of the admin port.'),
  ENGINE_EVENT_SOCKET_PORT: port.default(8021).describe('Loopback port of the event socket of FreeSWITCH.'),
  ENGINE_EVENT_SOCKET_PASSWORD: z
    .string()
    .min(1, 'must be set: media-app proves itself with it')
    .describe('Password of the event socket.'),
  ENGINE_MEDIA_SIP_PORT: port.default(5080).describe('Loopback SIP port of the media server.'),
});

/** Settings of the engine process, read from the environment. */
export type EngineSettings = ReturnType<typeof readSettings>;

/**
 * Reads and checks all settings at once.
 * @throws Error whose message has one sentence for each mistake
 */
export function readSettings(environment: NodeJS.ProcessEnv) {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = settingsSchema.safeParse(given);
  if (!parsed.success) throw new Error(parsed.error.issues.map(sentence).join('\n'));
  const env = parsed.data;
  const dataDir = resolve(env.DATA_DIR);
  return {
    logLevel: env.LOG_LEVEL,
    host: env.HOST,
    advertisedAddress: env.ADVERTISED_ADDRESS,
    sipPort: env.SIP_PORT,
    rtpPorts: env.RTP_PORTS,
    admin: { host: '127.0.0.1', port: env.ENGINE_ADMIN_PORT, secret: env.ENGINE_ADMIN_SECRET },
    eventSocket: { host: '127.0.0.1', port: env.ENGINE_EVENT_SOCKET_PORT, password: env.ENGINE_EVENT_SOCKET_PASSWORD },
    mediaSipPort: env.ENGINE_MEDIA_SIP_PORT,
    soundsDir: join(dataDir, 'sounds'),
    cacheDir: join(dataDir, 'sound-cache'),
  };
}

function sentence(issue: { path: PropertyKey[]; message: string; code?: string }): string {
  const name = String(issue.path[0] ?? 'settings');
  const missing = /received undefined/.test(issue.message);
  return `${name} ${missing ? 'must be set.' : `is wrong: ${issue.message}.`}`;
}
