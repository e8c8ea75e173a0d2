import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { parseUri } from './sip-address.ts';
import type { Remote } from './sip-address.ts';
import { PROTOCOLS, type Protocol } from './sip-transport.ts';

/** Everything the terminal phone wants to know before it starts. */
export interface PhoneSettings {
  username: string;
  password: string;
  domain: string;
  server: Remote;
  transport: Protocol;
  /** Our own port; 0 for any. */
  port: number;
  /** Hz of the tone the other side hears. */
  tone: number;
  /** Answer every call at once. */
  answer: boolean;
  /** Where the password came from, for messages. */
  source: string;
}

/** A mistake the person at the terminal can repair: printed without a stack. */
export class PhoneError extends Error {}

export const USAGE = `npm run phone                                        registers as extension 1001 of the Trunkline on this machine
npm run phone -- --extension 1002                    … as another extension of DATA_DIR/welcome.json
npm run phone -- --welcome .data/welcome.json        … of another data folder
npm run phone -- --register sip:1001@example.com --password secret [--server host:5060]

  --server host:port   where the SIP server is, when the address does not say (default HOST and SIP_PORT)
  --transport tcp      SIP over tcp, tls, ws or wss instead of udp
  --port 5070          our own SIP port (default: any free one)
  --tone 440           the tone the other side hears, in Hz; 0 for silence
  --answer             answer every call at once
Settings from the environment: HOST, SIP_PORT, DATA_DIR, PHONE_PASSWORD.`;

const environmentSchema = z.object({
  HOST: z.string().default('127.0.0.1'),
  SIP_PORT: z.coerce
    .number({ error: 'SIP_PORT must be a port number.' })
    .int()
    .min(1, 'SIP_PORT must be at least 1.')
    .max(65_535, 'SIP_PORT must be at most 65535.')
    .default(5060),
  DATA_DIR: z.string().default('.data'),
  PHONE_PASSWORD: z.string().optional(),
});

type Environment = z.infer<typeof environmentSchema>;

const welcomeSchema = z.object({
  extensions: z.array(
    z.object({ extension: z.string(), username: z.string(), password: z.string(), domain_name: z.string() }),
  ),
});

const OPTIONS = {
  register: { type: 'string' },
  password: { type: 'string' },
  server: { type: 'string' },
  welcome: { type: 'string' },
  extension: { type: 'string' },
  transport: { type: 'string' },
  port: { type: 'string' },
  tone: { type: 'string' },
  answer: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

type Arguments = ReturnType<typeof readArguments>;

/** Settings from command line and environment; undefined when only help was asked for. Throws PhoneError. */
export async function readSettings(
  argv: string[],
  environment: NodeJS.ProcessEnv = process.env,
): Promise<PhoneSettings | undefined> {
  const given = readArguments(argv);
  if (given.help) return undefined;
  const env = readEnvironment(environment);
  const account = given.register === undefined ? await welcomed(given, env) : await registered(given, env);
  const transport = PROTOCOLS.find(one => one === (given.transport ?? 'udp'));
  if (transport === undefined) {
    throw new PhoneError(`--transport must be one of ${PROTOCOLS.join(', ')}.`);
  }
  return {
    ...account,
    transport,
    port: wholeNumber('--port', given.port ?? '0', 65_535),
    tone: wholeNumber('--tone', given.tone ?? String(ownTone(account.username)), 3400),
    answer: given.answer ?? false,
  };
}

function readArguments(argv: string[]) {
  try {
    return parseArgs({ args: argv, options: OPTIONS }).values;
  } catch (error) {
    if (error instanceof TypeError) throw new PhoneError(`${error.message}\n\n${USAGE}`);
    throw error;
  }
}

function readEnvironment(environment: NodeJS.ProcessEnv): Environment {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = environmentSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new PhoneError(parsed.error.issues.map(issue => issue.message).join('\n'));
}

/** A tone of its own for every extension, so that two terminal phones can tell each other: 1001 has 410 Hz, 1002 420 Hz. */
function ownTone(username: string): number {
  return 400 + 10 * (Number(/\d{1,2}$/.exec(username)?.[0] ?? 4) % 50);
}

type Account = Pick<PhoneSettings, 'username' | 'password' | 'domain' | 'server' | 'source'>;

async function welcomed(given: Arguments, env: Environment): Promise<Account> {
  const path = given.welcome ?? join(env.DATA_DIR, 'welcome.json');
  const { extensions } = await readWelcome(path);
  const wanted = given.extension ?? '1001';
  const found = extensions.find(one => one.extension === wanted);
  const known = extensions.map(one => one.extension).join(', ');
  if (!found) throw new PhoneError(`${path} knows no extension ${wanted}, only ${known}.`);
  const { username, password, domain_name } = found;
  return { username, password, domain: domain_name, server: serverOf(given, env), source: path };
}

async function readWelcome(path: string): Promise<z.infer<typeof welcomeSchema>> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw new PhoneError(`${path} cannot be read: ${error.message}.`);
    throw new PhoneError(
      `${path} does not exist. Start Trunkline once with "npm start", or name your phone:\n\n${USAGE}`,
    );
  });
  const parsed = welcomeSchema.safeParse(jsonOf(text));
  if (!parsed.success) throw new PhoneError(`${path} is not what the first start of Trunkline wrote.`);
  return parsed.data;
}

/** Undefined for text that is no JSON: the schema then says what is wrong. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function registered(given: Arguments, env: Environment): Promise<Account> {
  const address = given.register ?? '';
  const uri = uriOf(address);
  const password = given.password ?? env.PHONE_PASSWORD ?? /^sips?:[^@:]*:([^@]*)@/i.exec(address)?.[1];
  if (uri.user === '') throw new PhoneError(`--register ${address} lacks the user name before the @.`);
  if (password === undefined) throw new PhoneError('Give the password with --password or PHONE_PASSWORD.');
  const server = given.server === undefined ? await hostOf(uri.host, uri.port, env) : serverOf(given, env);
  return { username: uri.user, password, domain: uri.host, server, source: 'the password given' };
}

function uriOf(address: string): ReturnType<typeof parseUri> {
  try {
    return parseUri(address);
  } catch (error) {
    if (error instanceof SyntaxError) throw new PhoneError(`--register wants an address like sip:1001@example.com.`);
    throw error;
  }
}

/** Names under .localhost mean this machine (RFC 6761), whatever its resolver thinks of them. */
async function hostOf(host: string, port: number | undefined, env: Environment): Promise<Remote> {
  if (/(^|\.)localhost$/i.test(host)) return { host: '127.0.0.1', port: port ?? env.SIP_PORT };
  const { address } = await lookup(host).catch(() => {
    throw new PhoneError(`The name ${host} cannot be found. Say where the server is with --server host:port.`);
  });
  return { host: address, port: port ?? 5060 };
}

function serverOf(given: Arguments, env: Environment): Remote {
  if (given.server === undefined) return { host: reachable(env.HOST), port: env.SIP_PORT };
  const match = /^(\[[^\]]+\]|[^:]+)(?::(\d+))?$/.exec(given.server);
  if (!match?.[1]) throw new PhoneError('--server wants host:port, like 127.0.0.1:5060.');
  const port = wholeNumber('--server', match[2] ?? '5060', 65_535);
  return { host: reachable(match[1].replace(/^\[|\]$/g, '')), port };
}

/** The wildcard address is one to listen on, not one to call. */
function reachable(host: string): string {
  return { '0.0.0.0': '127.0.0.1', '::': '::1', localhost: '127.0.0.1' }[host] ?? host;
}

function wholeNumber(name: string, text: string, most: number): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 0 && number <= most) return number;
  throw new PhoneError(`${name} must be a whole number of at most ${most}.`);
}
