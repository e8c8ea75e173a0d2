import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram } from '../start/install.ts';
import { freePorts } from '../start/ports.ts';
import type { Target } from './attack-waves.ts';

/** One kind of attack by sipp; `sipp/{scenario}.xml` is what it does. */
interface SippWave {
  scenario: string;
  /** Of a hundred messages of sipp. */
  share: number;
  /** Messages of one call, at most. */
  messages: number;
  /** Calls from each address: few are below the measure of the guard, many are banned soon. */
  calls_each: number;
}

const SIPP_WAVES: readonly SippWave[] = [
  { scenario: 'scan', share: 35, messages: 1, calls_each: 400 },
  { scenario: 'register', share: 25, messages: 1, calls_each: 60 },
  { scenario: 'guess', share: 25, messages: 2, calls_each: 12 },
  { scenario: 'never-acked', share: 15, messages: 1, calls_each: 6 },
];

/** What strangers sent or heard, a message each. */
export interface Overheard {
  /** Name of the kind of attack. */
  wave: string;
  direction: 'sent' | 'heard';
  text: string;
}

const PASSWORDS = ['1234', 'password', '1001', 'admin', '0000', 'secret', 'trunkline', 'letmein'];
/** sipp does not end before its calls have, which wait for answers. */
const PATIENCE_S = 120;
/** `UDP message sent (295 bytes):` or `UDP message received [383] bytes :`, a blank line, and the message. */
const LOGGED = /^UDP message (sent|received) [([]\d+[^\n]*\n\n([^]*)$/;

/** Whether sipp is installed here. */
export const hasSipp = (): boolean => findProgram('sipp') !== undefined;

/**
 * About so many messages by sipp within so many seconds, all kinds at once; what it sent and heard. Its addresses are in the
 * networks `127.{firstNetwork}` and those behind it.
 */
export const attackBySipp = async (
  target: Target,
  messages: number,
  seconds: number,
  firstNetwork: number,
): Promise<Overheard[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-sipp-'));
  try {
    const ports = await freePorts(SIPP_WAVES.length);
    const runs = SIPP_WAVES.map((wave, index) => {
      const calls = Math.ceil((messages * wave.share) / 100 / wave.messages);
      const network = `127.${firstNetwork + index}`;
      return runSipp(target, wave, {
        folder,
        port: ports[index] ?? 0,
        calls,
        network,
        rate: Math.ceil(calls / seconds),
      });
    });
    return (await Promise.all(runs)).flat();
  } finally {
    await rm(folder, { recursive: true });
  }
};

interface Run {
  folder: string;
  port: number;
  calls: number;
  rate: number;
  /** The first two bytes of the addresses. */
  network: string;
}

const runSipp = async (target: Target, wave: SippWave, run: Run): Promise<Overheard[]> => {
  const { scenario } = wave;
  const addresses = Math.ceil(run.calls / wave.calls_each);
  const [injected, log] = ['csv', 'log'].map(kind => join(run.folder, `${scenario}.${kind}`)) as [string, string];
  await writeFile(injected, injection(target, addresses, run.network));
  const { host, port } = target.server;
  const words = { realm: target.realm, victim: target.victim, door: `sip.${target.domain}` };
  const options = {
    ...{ '-sf': fileURLToPath(new URL(`./sipp/${scenario}.xml`, import.meta.url)), '-inf': injected },
    ...{ '-t': 'ui', '-ip_field': '0', '-i': `${run.network}.1.1`, '-p': run.port, '-max_socket': addresses + 10 },
    ...{ '-m': run.calls, '-r': run.rate, '-l': 5000, '-timeout': `${PATIENCE_S}s` },
    ...{ '-default_behaviors': 'none', '-auth_uri': target.realm, '-message_file': log },
  };
  const keys = Object.entries(words).flatMap(([word, value]) => ['-key', word, value]);
  const args = [...Object.entries(options).flat().map(String), ...keys, '-nr', '-nostdin', '-trace_msg'];
  const sipp = spawn('sipp', [`${host}:${port}`, ...args], { cwd: run.folder, stdio: ['ignore', 'ignore', 'pipe'] });
  let complaint = '';
  sipp.stderr.on('data', (data: Buffer) => (complaint = (complaint + data.toString()).slice(-500)));
  const [code] = (await once(sipp, 'close')) as [number | null];
  const said = overheard(scenario, await readFile(log, 'latin1').catch(() => ''));
  if (said.length === 0) throw new Error(`sipp ${scenario} sent nothing (${code}): ${complaint}`);
  return said;
};

/** Addresses by turns, and with each a guess. */
const injection = ({ victim }: Target, addresses: number, network: string): string => {
  const lines = Array.from({ length: addresses }, (_, at) => {
    const password = PASSWORDS[at % PASSWORDS.length];
    const address = `${network}.${1 + Math.floor(at / 250)}.${1 + (at % 250)}`;
    return `${address};[authentication username=${victim} password=${password}];`;
  });
  return ['SEQUENTIAL', ...lines, ''].join('\n');
};

const overheard = (scenario: string, log: string): Overheard[] =>
  log.split(/^-{40,}[^\n]*\n/m).flatMap(part => {
    const [, verb, text = ''] = LOGGED.exec(part) ?? [];
    if (verb === undefined) return [];
    return [{ wave: `sipp ${scenario}`, direction: verb === 'sent' ? 'sent' : 'heard', text }];
  });
