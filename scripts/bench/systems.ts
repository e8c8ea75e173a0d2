import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { newEngineAccess, environments, startProcess } from '../start/system.ts';
import { readSettings } from '../start/config.ts';
import { freePorts } from '../start/ports.ts';
import { startStack } from '../../test/support/stack.ts';
import { BENCH_TONE } from './plan.ts';

/** Something that answers calls with a tone and dials on request. */
export interface System {
  name: 'ours' | 'bare';
  sip: { host: string; port: number };
  /** What to dial to be answered with the tone. */
  number: string;
  domain: string;
  /** Has `uri` dialled. */
  order(uri: string): Promise<void>;
  stop(): Promise<void>;
}

/** The whole platform, a number with the flow answer and play. */
export const startOurs = async (): Promise<System> => {
  const stack = await startStack({ env: { LOG_LEVEL: 'warn' } });
  const actions = [{ type: 'answer' }, { type: 'play', option: { stream_urls: [BENCH_TONE] } }];
  const flow = await stack.api<{ id: string }>('POST', '/flows', { name: 'bench', actions });
  const [free] = (
    await stack.api<{ result: { number: string }[] }>('GET', '/available_numbers?type=virtual&page_size=1')
  ).body.result;
  const number = await stack.api<{ number: string }>('POST', '/numbers', {
    number: free?.number,
    call_flow_id: flow.body.id,
  });
  const source = { type: 'tel', target: number.body.number };
  return {
    name: 'ours',
    sip: stack.sip,
    number: number.body.number,
    domain: 'sip.trunkline.localhost',
    order: async uri => {
      const { status, body } = await stack.api<unknown>('POST', '/calls', {
        source,
        destinations: [{ type: 'sip', target: uri }],
        flow_id: flow.body.id,
      });
      if (status !== 200) throw new Error(`POST /calls answered ${status}: ${JSON.stringify(body)}`);
    },
    stop: () => stack.stop(),
  };
};

/** How the engine of a bare system is started. */
interface BareOptions {
  /** A command that runs the one behind it. */
  through?: readonly string[];
  onLine?: (line: string) => void;
  logLevel?: string;
}

/** The bare script on an engine of its own. */
export const startBare = async (options: BareOptions = {}): Promise<System & { enginePid: number }> => {
  const { through, onLine = () => undefined, logLevel = 'warn' } = options;
  const [sip = 0, rtp = 0] = await freePorts(2);
  const low = Math.min(rtp, 60_000);
  const settings = readSettings({ SIP_PORT: String(sip), RTP_PORTS: `${low}-${low + 600}`, LOG_LEVEL: logLevel });
  const access = await newEngineAccess();
  const { engine: environment = {} } = environments(settings, { databaseUrl: '', redisUrl: '', engine: access });
  const engine = startProcess('engine', environment, onLine, through);
  const { adminPort, adminSecret, eventSocketPort, eventSocketPassword } = access;
  const script = fileURLToPath(new URL('./bare-app.ts', import.meta.url));
  await portOpen(access.eventSocketPort);
  const app = await startScript(script, [String(adminPort), adminSecret, String(eventSocketPort), eventSocketPassword]);
  return {
    name: 'bare',
    enginePid: engine.pid,
    sip: { host: '127.0.0.1', port: sip },
    number: '1000',
    domain: `127.0.0.1:${sip}`,
    order: async uri =>
      void (await fetch(`http://127.0.0.1:${app.port}/calls`, { method: 'POST', body: JSON.stringify({ uri }) })),
    stop: async () => {
      app.stop();
      await engine.stop();
    },
  };
};

/** Starts a script, which says its port in its first JSON line. */
export const startScript = async (script: string, args: string[]): Promise<{ port: number; stop: () => void }> => {
  const child = spawn(process.execPath, ['--import', 'tsx', script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout })) {
    const said = line.startsWith('{"ready"') ? (JSON.parse(line) as { ready: number }) : undefined;
    if (said) return { port: said.ready, stop: () => child.kill() };
  }
  throw new Error('the bare script stopped before it was ready');
};

export const portOpen = async (port: number): Promise<void> => {
  const { connect } = await import('node:net');
  for (let attempt = 0; attempt < 200; attempt++) {
    const open = await new Promise<boolean>(resolve => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.end());
    });
    if (open) return;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  throw new Error(`nothing listens on port ${port}`);
};
