import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { WebSocketServer } from 'ws';
import { decodeG711 } from '../phone/g711.ts';
import { formatWav } from '../phone/wav.ts';
import { LoadedEngine, type Leg, processorSeconds } from './loaded-engine.ts';
import { rate } from './measure.ts';
import { Load, LoadPhone, seconds } from './rtp-load.ts';
import { startBare } from './systems.ts';

/** Legs of each measurement of processor time; divisible by 2, 3, 10 and 30. */
const LEGS = 30;
const WARMUP_S = 2;
/** A busy machine may take so long until nothing is made up. */
const PATIENCE_S = 15;
/** Percent of a core that a leg of FreeSWITCH was measured to cost, and how many times that we may cost. */
const FREESWITCH = { playback: 0.4, bridge: 0.4, recording: 0.66, fork: 0.74, 3: 1.6, 10: 1, 30: 0.8 } as const;
const AIM = 1.5;
const CALLS_PER_SECOND = 40;

/** What runs on the legs of one measurement. */
interface Work {
  name: string;
  freeswitch: number;
  begin(legs: Leg[]): Promise<unknown>;
}

/** Percent of a core for one leg. */
const costOf = async (pid: number, legs: number, measure_s: number, idle: number): Promise<number> => {
  const [before, began] = [processorSeconds(pid), performance.now()];
  await seconds(measure_s);
  const passed = (performance.now() - began) / 1000;
  return (100 * ((processorSeconds(pid) - before) / passed - idle)) / legs;
};

const inRooms = (size: 3 | 10 | 30): Work => ({
  name: `conference of ${size}`,
  freeswitch: FREESWITCH[size],
  begin: async legs => {
    legs.forEach(({ endpoint }, at) => {
      void endpoint.execute('conference', `bench${size}_${Math.floor(at / size)}@default`).catch(() => undefined); // ends with the leg
    });
  },
});

const works = (directory: string, forkUrl: string): Work[] => [
  {
    name: 'playback',
    freeswitch: FREESWITCH.playback,
    begin: async legs => {
      for (const { endpoint } of legs)
        void endpoint.execute('playback', join(directory, 'minute.wav')).catch(() => undefined); // ends with the leg
    },
  },
  {
    name: 'bridge',
    freeswitch: FREESWITCH.bridge,
    begin: async legs => {
      for (let at = 0; at + 1 < legs.length; at += 2) {
        const other = legs[at + 1];
        if (other) await legs[at]?.endpoint.bridge(other.endpoint);
      }
    },
  },
  {
    name: 'recording',
    freeswitch: FREESWITCH.recording,
    begin: async legs => {
      for (const { endpoint } of legs)
        await endpoint.api('uuid_record', [endpoint.uuid, 'start', join(directory, `${endpoint.uuid}.wav`)]);
    },
  },
  {
    name: 'fork',
    freeswitch: FREESWITCH.fork,
    begin: async legs => {
      for (const { endpoint } of legs)
        await endpoint.api('uuid_audio_fork', [endpoint.uuid, 'start', forkUrl, 'mono', '8000']);
    },
  },
  inRooms(3),
  inRooms(10),
  inRooms(30),
];

/** Node's own price of a packet in and a packet out, fifty times a second. */
const echoCost = async (measure_s: number): Promise<number> => {
  const script = fileURLToPath(new URL('./bare-echo.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', script, String(LEGS)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const { ports } = JSON.parse(line) as { ports: number[] };
  const phones = await Promise.all(ports.map((_, id) => LoadPhone.open(id)));
  phones.forEach((phone, at) => phone.talkTo(ports[at] ?? 0));
  const load = new Load(phones);
  await seconds(WARMUP_S);
  const cost = await costOf(child.pid ?? 0, LEGS, measure_s, 0);
  load.stop();
  phones.forEach(phone => phone.close());
  child.kill();
  return cost;
};

const measure = async (engine: LoadedEngine, work: Work, measure_s: number, idle: number): Promise<number> => {
  const legs = await engine.legs(LEGS);
  const load = new Load(legs.map(({ phone }) => phone));
  await work.begin(legs);
  await seconds(WARMUP_S);
  const cost = await costOf(engine.pid, LEGS, measure_s, idle);
  load.stop();
  await engine.hangUp(legs);
  return cost;
};

const costLine = (name: string, cost: number, freeswitch?: number): string => {
  const times = freeswitch === undefined ? '' : (cost / freeswitch).toFixed(2);
  const met = freeswitch === undefined ? '' : cost <= AIM * freeswitch ? 'met' : 'missed';
  const reference = freeswitch === undefined ? '' : `${freeswitch.toFixed(2)} %`;
  return `${name.padEnd(20)}${`${cost.toFixed(2)} %`.padStart(10)}${reference.padStart(14)}${times.padStart(10)}  ${met}`.trimEnd();
};

const costs = async (engine: LoadedEngine, directory: string, measure_s: number): Promise<void> => {
  const far = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
  far.on('connection', socket => socket.on('message', () => undefined));
  await once(far, 'listening');
  console.log(`\nprocessor of a leg, ${LEGS} legs for ${measure_s} s: percent of a core (aim: ${AIM} × FreeSWITCH)`);
  console.log(`${''.padEnd(20)}${'engine'.padStart(10)}${'FreeSWITCH'.padStart(14)}${'times'.padStart(10)}`);
  console.log(costLine('bare echo in Node', await echoCost(measure_s)));
  const idle = (await costOf(engine.pid, 1, Math.min(5, measure_s), 0)) / 100;
  for (const work of works(directory, `ws://127.0.0.1:${(far.address() as AddressInfo).port}/`))
    console.log(costLine(work.name, await measure(engine, work, measure_s, idle), work.freeswitch));
  for (const socket of far.clients) socket.terminate();
  far.close();
};

/** So many bridged calls for so long, while others come and go: every frame that one phone says must reach the other, in time. */
const hold = async (engine: LoadedEngine, calls: number, hold_s: number, arriving = 0): Promise<void> => {
  const legs = await engine.legs(2 * calls);
  const load = new Load(legs.map(({ phone }) => phone));
  for (let at = 0; at + 1 < legs.length; at += 2) {
    const other = legs[at + 1];
    if (other) await legs[at]?.endpoint.bridge(other.endpoint);
  }
  const others = arriving > 0 ? await engine.callers(arriving) : undefined;
  await seconds(WARMUP_S);
  const was = legs.map(({ phone }) => ({ ...phone.heard }));
  for (const { phone } of legs) phone.punctuality.restart();
  load.late = 0;
  const before = processorSeconds(engine.pid);
  await seconds(hold_s);
  const used = (processorSeconds(engine.pid) - before) / hold_s;
  const sum = (of: keyof LoadPhone['heard']): number =>
    legs.reduce((total, { phone }, at) => total + phone.heard[of] - (was[at]?.[of] ?? 0), 0);
  const [packets, lost, doubled] = (['packets', 'lost', 'doubled'] as const).map(sum);
  const judged = legs.map(({ phone }) => phone.punctuality.judge());
  const onTime =
    judged.reduce((total, one) => total + one.onTime, 0) / judged.reduce((total, one) => total + one.packets, 0);
  const meanwhile = arriving > 0 ? ` while ${arriving} calls a second come and go` : '';
  console.log(
    `\n${calls} bridged calls for ${hold_s} s${meanwhile}: ${packets} packets, ${lost} frames lost, ${doubled} made up`,
  );
  console.log(
    `${(100 * onTime).toFixed(2)} % within 5 ms of their time (aim: 95 %); the load generator itself was ${load.late.toFixed(0)} ms late at worst`,
  );
  console.log(`the engine used ${(100 * used).toFixed(0)} % of a core`);
  others?.stop();
  load.stop();
  await engine.hangUp(legs);
};

/** Whether every one of so many parties in a room hears all others, and not itself, by a tone each. */
const everybodyHears = async (engine: LoadedEngine, parties: number): Promise<void> => {
  const legs = await engine.legs(parties);
  const hz = (party: number): number => 300 + 50 * party; // whole periods in a frame
  const sine = (party: number, at: number): number => Math.sin((2 * Math.PI * hz(party) * at) / 8000);
  const heard = legs.map(() => new Float64Array(parties));
  legs.forEach(({ phone, endpoint }, self) => {
    phone.say(Int16Array.from({ length: 160 }, (_, at) => 900 * sine(self, at)));
    phone.onAudio = payload => {
      const samples = decodeG711('PCMU', payload);
      const levels = heard[self];
      if (!levels) return;
      for (let party = 0; party < parties; party++) {
        let [real, turned] = [0, 0];
        samples.forEach((sample, at) => {
          real += (sample * sine(party, at)) / 80;
          turned += (sample * Math.cos((2 * Math.PI * hz(party) * at) / 8000)) / 80;
        });
        levels[party] = (levels[party] ?? 0) * 0.9 + Math.hypot(real, turned) * 0.1;
      }
    };
    void endpoint.execute('conference', `ear@default`).catch(() => undefined); // ends with the leg
  });
  const load = new Load(legs.map(({ phone }) => phone));
  const rights = (): number =>
    heard.filter((levels, self) => levels.every((level, party) => level > 450 === (party !== self))).length;
  for (let waited = 0; waited < PATIENCE_S && rights() < parties; waited++) await seconds(1);
  console.log(`\n${parties} parties in a conference: ${rights()} hear all others and not themselves`);
  load.stop();
  await engine.hangUp(legs);
};

const callRate = async (): Promise<void> => {
  const bare = await startBare();
  try {
    const { per_second, failed } = await rate(bare);
    console.log(
      `\ncalls that are answered, hear a tone and hang up: ${per_second.toFixed(0)} a second, ${failed} failed (aim: ${CALLS_PER_SECOND})`,
    );
  } finally {
    await bare.stop();
  }
};

/**
 * What the media of the engine costs, beside a bare echo and beside FreeSWITCH as it was measured; how many bridged calls it
 * holds, how late its packets are, and how many calls a second come and go.
 */
export const engineBench = async (calls: number, hold_s: number, measure_s: number): Promise<void> => {
  const directory = await mkdtemp(join(tmpdir(), 'trunkline-bench-'));
  const minute = Int16Array.from({ length: 60 * 8000 }, (_, at) => 6000 * Math.sin(at / 3));
  await writeFile(join(directory, 'minute.wav'), formatWav(minute));
  const engine = await LoadedEngine.start();
  try {
    await costs(engine, directory, measure_s);
    await everybodyHears(engine, 30);
    await hold(engine, calls, hold_s);
    await hold(engine, calls, Math.min(60, hold_s), CALLS_PER_SECOND);
  } finally {
    await engine.stop();
    await rm(directory, { recursive: true, force: true });
  }
  await callRate();
};
