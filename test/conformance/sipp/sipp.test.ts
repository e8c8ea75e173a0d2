import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from '../../../scripts/start/install.ts';
import { engineOnly } from '../../support/engine-only.ts';
import { ownServers } from '../../support/own-servers.ts';
import { SDP } from '../drachtio/peer.ts';
import { Rig, type Call, type Client, type Request, type Response } from '../drachtio/rig.ts';

const FOLDER = import.meta.dirname;
/** 64*T1 is 2.6 s: short, and long enough for a machine that does other things as well. */
const TIMERS = { T1: 40, T2: 320, T4: 400 };
const LIMIT_S = ownServers() ? 45 : 15;

const SCENARIOS = readdirSync(FOLDER)
  .filter(file => file.endsWith('.xml'))
  .map(file => file.replace('.xml', ''));
const titleOf = (scenario: string): string =>
  /<scenario name="([^"]*)"/.exec(readFileSync(join(FOLDER, `${scenario}.xml`), 'utf8'))?.[1] ?? scenario;

/** sipp answers repetitions of what it has heard by itself, unless a scenario is about them. */
const LITERAL = ['-nr', '-pause_msg_ign'];
const OPTIONS: Partial<Record<string, string[]>> = {
  ...{
    'invite-retransmitted': LITERAL,
    'lost-200': LITERAL,
    'callee-misses-the-ack': LITERAL,
    'two-callees-answer': LITERAL,
    'failure-repeated': LITERAL,
  },
};

const SLOW = 'a session of drachtio-server lasts 90 s at least';
/** What a real drachtio-server is not asked, and why. */
const ENGINE_ONLY: Partial<Record<string, string>> = {
  'session-not-refreshed': SLOW,
  'session-refresh-unanswered': SLOW,
  'missing-prack': 'drachtio-server ends',
  'reinvite-glare': 'drachtio-server announces both',
  'update-glare': 'drachtio-server announces both',
  'bye-crosses-reinvite': 'drachtio-server sends no ACK for the 487 to it',
  'callee-misses-the-ack': 'drachtio-server confirms the first 200 alone',
  'cancel-crosses-200': 'drachtio-server gives the call up, and its BYE gets 481',
  'reinvite-crosses-update': 'drachtio-server announces both',
  'two-callees-answer': 'drachtio-server takes the second 200 for the first again',
  'cancel-before-any-answer': 'drachtio-server says 100 at once',
  'reinvite-then-bye': 'drachtio-server answers that re-INVITE with 500, in place of 487',
};
const asked = SCENARIOS.filter(scenario => !ownServers() || !ENGINE_ONLY[scenario]);

/** A UDP port nobody has at this moment. */
async function freePort(): Promise<number> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  socket.close();
  await once(socket, 'close');
  return port;
}

/** Resolves when somebody listens there. */
async function taken(port: number): Promise<void> {
  for (;;) {
    const socket = createSocket('udp4');
    const free = await new Promise<boolean>(resolve => {
      socket.once('error', () => resolve(false));
      socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(true));
    });
    socket.close();
    if (!free) return;
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

describe('SIP races, scripted for sipp', () => {
  let rig: Rig;
  let app: Client;
  let logs: string;
  const ended = new Map<string, Promise<string>>();
  /** How many calls came in under the name of each scenario. */
  const calls = new Map<string, number>();

  /** What the application does in a scenario once its call stands. */
  const then: Partial<Record<string, (call: Call) => unknown>> = {
    'bye-crosses-reinvite': call => call.modify(SDP),
    'reinvite-glare': call => call.modify(SDP),
    'update-glare': call =>
      call.request({ method: 'UPDATE', body: SDP, headers: { 'Content-Type': 'application/sdp' } }),
    'both-bye': call => call.destroy(),
    'reinvite-crosses-update': call =>
      call.request({ method: 'UPDATE', body: SDP, headers: { 'Content-Type': 'application/sdp' } }),
    'refer-crosses-bye': call => call.request({ method: 'REFER', headers: { 'Refer-To': 'sip:x@example.com' } }),
  };

  /** What it does with the INVITE, unless it answers. */
  const first: Partial<Record<string, (response: Response) => void>> = {
    cancel: response => response.send(180),
    'cancel-before-any-answer': () => undefined,
    'invite-retransmitted': response => response.send(180),
    'missing-prack': reliably,
    'cancel-in-place-of-prack': reliably,
  };

  function reliably(response: Response): void {
    response.send(183, { body: SDP, headers: { Require: '100rel', 'Content-Type': 'application/sdp' } });
  }

  /** Calls that we make, by scenario. */
  const dialled: Partial<Record<string, (uri: string) => void>> = {
    'callee-answers-a-cancel': uri => {
      let sent: Request | undefined;
      const cbRequest = (_error: unknown, request: Request): void => void (sent = request);
      app.createUAC(uri, { localSdp: SDP }, { cbRequest, cbProvisional: () => sent?.cancel() }).catch(() => undefined);
    },
    'cancel-of-a-silent-callee': uri => {
      const cbRequest = (_error: unknown, request: Request): void => request.cancel();
      app.createUAC(uri, { localSdp: SDP }, { cbRequest }).catch(() => undefined);
    },
    'two-callees-answer': uri => void app.createUAC(uri, { localSdp: SDP }).catch(() => undefined),
    'failure-repeated': uri => void app.createUAC(uri, { localSdp: SDP }).catch(() => undefined),
    'callee-misses-the-ack': uri => void app.createUAC(uri, { localSdp: SDP }).catch(() => undefined),
  };

  function takeCall(request: Request, response: Response): void {
    const scenario = /^sips?:([^@]+)@/.exec(request.uri)?.[1] ?? '';
    calls.set(scenario, (calls.get(scenario) ?? 0) + 1);
    const other = first[scenario];
    if (other) return other(response);
    app
      .createUAS(request, response, { localSdp: SDP })
      .then(call => {
        if (scenario === 'reinvite-then-bye') call.on('modify', () => undefined); // never answered
        // Whether the far end agrees is what the scenario is about.
        call.once('ack', () => void Promise.resolve(then[scenario]?.(call)).catch(() => undefined));
      })
      .catch(() => undefined);
  }

  /** Runs a scenario to its end; what went wrong, or nothing. */
  async function play(scenario: string): Promise<string> {
    const command = findProgram('sipp');
    if (command === undefined) return 'sipp is not installed: apt-get install sip-tester';
    const dial = dialled[scenario];
    const port = await freePort();
    const errors = join(logs, `${scenario}.log`);
    const child = spawn(
      command,
      [
        ...(dial ? [] : [`127.0.0.1:${rig.server.port}`]),
        ...['-sf', join(FOLDER, `${scenario}.xml`), '-s', scenario, '-i', '127.0.0.1', '-p', String(port), '-m', '1'],
        ...['-nostdin', '-timeout', String(LIMIT_S), '-timeout_error', '-trace_err', '-error_file', errors],
        ...(OPTIONS[scenario] ?? []),
      ],
      { stdio: 'ignore', cwd: logs },
    );
    const exit = once(child, 'exit') as Promise<[number | null]>;
    if (dial) void taken(port).then(() => dial(`sip:${scenario}@127.0.0.1:${port}`));
    const [code] = await exit;
    if (code === 0) return '';
    const said = readdirSync(logs).includes(`${scenario}.log`) ? readFileSync(errors, 'utf8') : '';
    return `sipp ended with ${code}: ${said.slice(0, 2000)}`;
  }

  before(async () => {
    logs = mkdtempSync(join(tmpdir(), 'sipp-'));
    rig = await Rig.start({ timers: TIMERS, minSessionSeconds: 1 });
    app = await rig.app(client => client.invite(takeCall));
    for (const scenario of asked) ended.set(scenario, play(scenario));
  });
  after(async () => {
    await Promise.allSettled(ended.values());
    await rig.close();
    rmSync(logs, { recursive: true, force: true });
  });

  for (const scenario of SCENARIOS) {
    const test: Mocha.AsyncFunc = async function () {
      this.timeout((LIMIT_S + 5) * 1000);
      assert.equal(await ended.get(scenario), '');
      assert.equal(calls.get(scenario) ?? 0, scenario in dialled ? 0 : 1);
    };
    const why = ENGINE_ONLY[scenario];
    if (why) engineOnly(why, titleOf(scenario), test);
    else it(titleOf(scenario), test);
  }

  it('no call and no transaction of them is left', () => rig.comesToHold({ dialogs: 0, transactions: 0 }));
});
