import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startStack } from '../../test/support/stack.ts';
import { BENCH_TONE } from './plan.ts';
import { type EngineOptions, type Servers, startEngineProcess } from './servers.ts';

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

/** The script that is measured beside ours, on these servers. */
export const startBareApp = ({ admin, eventSocket }: Servers): ReturnType<typeof startScript> =>
  startScript(fileURLToPath(new URL('./bare-app.ts', import.meta.url)), [
    String(admin.port),
    admin.secret,
    String(eventSocket.port),
    eventSocket.secret,
  ]);

/** The bare script on an engine of its own, or on servers that are given, whose end is its end too. */
export const startBare = async (
  options: EngineOptions & { servers?: Servers } = {},
): Promise<System & { enginePid: number }> => {
  const servers = options.servers ?? (await startEngineProcess(options));
  const app = await startBareApp(servers);
  return {
    name: 'bare',
    enginePid: servers.pids[0] ?? 0,
    sip: { host: '127.0.0.1', port: servers.sipPort },
    number: '1000',
    domain: `127.0.0.1:${servers.sipPort}`,
    order: async uri =>
      void (await fetch(`http://127.0.0.1:${app.port}/calls`, { method: 'POST', body: JSON.stringify({ uri }) })),
    stop: async () => {
      app.stop();
      await servers.stop();
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
