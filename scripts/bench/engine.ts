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
import { LoadedServers, type Leg } from './loaded-servers.ts';
import { rate } from './measure.ts';
import { processorSeconds } from './processes.ts';
import { Load, LoadPhone, seconds } from './rtp-load.ts';
import { givenServers, type Servers } from './servers.ts';
import { startBare } from './systems.ts';
import { openPhones } from './talking-phones.ts';

/** Legs of each measurement of processor time; divisible by 2, 3, 10 and 30. */
const LEGS = 30;
const WARMUP_S = 2;
/** What two hundred legs did to each other while they were set up, the jitter buffers have forgotten after so long. */
const SETTLE_S = 60;
/** A busy machine may take so long until nothing is made up. */
const PATIENCE_S = 15;
/** Percent of a core that a leg of FreeSWITCH cost where it was measured once, and how many times its cost ours may be. */
const FREESWITCH = { playback: 0.4, bridge: 0.4, recording: 0.66, fork: 0.74, 3: 1.6, 10: 1, 30: 0.8 } as const;
const AIM = 1.5;
const CALLS_PER_SECOND = 40;

/** What runs on the legs of one measurement. */
interface Work {
  name: string;
  freeswitch: number;
  begin(legs: Leg[]): Promise<unknown>;
}

/** Percent of a core that goes into something for so long; `used` says how many processor seconds have gone into it. */
const percentOf = async (used: () => number, measure_s: number): Promise<number> => {
  const [before, began] = [used(), performance.now()];
  await seconds(measure_s);
  return (100_000 * (used() - before)) / (performance.now() - began);
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
  const cost = (await percentOf(() => processorSeconds(child.pid ?? 0), measure_s)) / LEGS;
  load.stop();
  phones.forEach(phone => phone.close());
  child.kill();
  return cost;
};

/** Percent of a core that one leg costs beyond what servers use anyway. */
const measure = async (servers: LoadedServers, work: Work, measure_s: number, idle: number): Promise<number> => {
  const legs = await servers.legs(LEGS);
  const load = new Load(legs.map(({ phone }) => phone));
  await work.begin(legs);
  await seconds(WARMUP_S);
  const used = await percentOf(() => servers.processorSeconds, measure_s);
  load.stop();
  await servers.hangUp(legs);
  return (used - idle) / LEGS;
};

const costLine = (name: string, cost: number, freeswitch?: number): string => {
  const times = freeswitch === undefined ? '' : (cost / freeswitch).toFixed(2);
  const met = freeswitch === undefined ? '' : cost <= AIM * freeswitch ? 'met' : 'missed';
  const reference = freeswitch === undefined ? '' : `${freeswitch.toFixed(2)} %`;
  return `${name.padEnd(20)}${`${cost.toFixed(2)} %`.padStart(10)}${reference.padStart(14)}${times.padStart(10)}  ${met}`.trimEnd();
};

/** One line for each work: the engine, and FreeSWITCH measured right after it, or as it was measured once. */
const costs = async (
  engine: LoadedServers,
  freeswitch: LoadedServers | undefined,
  directory: string,
  measure_s: number,
): Promise<void> => {
  const far = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
  far.on('connection', socket => socket.on('message', () => undefined));
  await once(far, 'listening');
  const source = freeswitch ? 'measured in this run' : 'as it was measured once';
  console.log(`\nprocessor of a leg, ${LEGS} legs for ${measure_s} s: percent of a core`);
  console.log(`(aim: ${AIM} × FreeSWITCH, ${source})`);
  console.log(`${''.padEnd(20)}${'engine'.padStart(10)}${'FreeSWITCH'.padStart(14)}${'times'.padStart(10)}`);
  console.log(costLine('bare echo in Node', await echoCost(measure_s)));
  const idleOf = (servers: LoadedServers): Promise<number> =>
    percentOf(() => servers.processorSeconds, Math.min(5, measure_s));
  const idle = { engine: await idleOf(engine), freeswitch: freeswitch ? await idleOf(freeswitch) : 0 };
  for (const work of works(directory, `ws://127.0.0.1:${(far.address() as AddressInfo).port}/`)) {
    const ours = await measure(engine, work, measure_s, idle.engine);
    const theirs = freeswitch ? await measure(freeswitch, work, measure_s, idle.freeswitch) : work.freeswitch;
    console.log(costLine(work.name, ours, theirs));
  }
  for (const socket of far.clients) socket.terminate();
  far.close();
};

/** So many bridged calls for so long, while others come and go: every frame that one phone says must reach the other, in time. */
const hold = async (servers: LoadedServers, calls: number, hold_s: number, arriving = 0): Promise<void> => {
  const phones = await openPhones(2 * calls);
  const endpoints = await servers.endpointsOf(phones);
  for (let at = 0; at + 1 < endpoints.length; at += 2) {
    const other = endpoints[at + 1];
    if (other) await endpoints[at]?.bridge(other);
  }
  const others = arriving > 0 ? await servers.callers(arriving) : undefined;
  await seconds(Math.min(SETTLE_S, hold_s));
  phones.begin();
  const used = await percentOf(() => servers.processorSeconds, hold_s);
  const { packets, lost, doubled, on_time, late_ms } = await phones.report();
  const meanwhile = arriving > 0 ? ` while ${arriving} calls a second come and go` : '';
  console.log(
    `\n${servers.name}: ${calls} bridged calls for ${hold_s} s${meanwhile}: ${packets} packets, ${lost} frames lost, ${doubled} made up`,
  );
  console.log(
    `${((100 * on_time) / packets).toFixed(2)} % within 5 ms of their time (aim: 95 %); the load generator itself was ${late_ms.toFixed(0)} ms late at worst`,
  );
  console.log(`it used ${used.toFixed(0)} % of a core`);
  others?.stop();
  await servers.release(endpoints);
  phones.close();
};

/** Whether every one of so many parties in a room hears all others, and not itself, by a tone each. */
const everybodyHears = async (servers: LoadedServers, parties: number): Promise<void> => {
  const legs = await servers.legs(parties);
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
  console.log(`\n${servers.name}: ${parties} parties in a conference: ${rights()} hear all others and not themselves`);
  load.stop();
  await servers.hangUp(legs);
};

/** Calls that come and go as fast as a script on these servers answers them; on an engine of its own without any. */
const callRate = async (servers?: Servers): Promise<void> => {
  const bare = await startBare({ servers });
  try {
    const { per_second, failed } = await rate(bare);
    console.log(
      `\n${servers?.name ?? 'engine'}: calls that are answered, hear a tone and hang up: ${per_second.toFixed(0)} a second, ${failed} failed (aim: ${CALLS_PER_SECOND})`,
    );
  } finally {
    await bare.stop();
  }
};

/** Sound that everybody hears, and calls that are held for a while, alone and while others come and go. */
const endurance = async (servers: LoadedServers, calls: number, hold_s: number): Promise<void> => {
  await everybodyHears(servers, 30);
  await hold(servers, calls, hold_s);
  await hold(servers, calls, Math.min(60, hold_s), CALLS_PER_SECOND);
};

/**
 * What the media of the engine costs, beside a bare echo and beside FreeSWITCH: the one of this machine that the settings name, or as
 * one was measured; how many bridged calls it holds, how late its packets are, and how many calls a second come and go.
 */
export const engineBench = async (calls: number, hold_s: number, measure_s: number): Promise<void> => {
  const given = givenServers();
  const directory = await mkdtemp(join(tmpdir(), 'trunkline-bench-'));
  const minute = Int16Array.from({ length: 60 * 8000 }, (_, at) => 6000 * Math.sin(at / 3));
  await writeFile(join(directory, 'minute.wav'), formatWav(minute));
  const engine = await LoadedServers.engine();
  const freeswitch = given && (await LoadedServers.on(given));
  try {
    await costs(engine, freeswitch, directory, measure_s);
    await endurance(engine, calls, hold_s);
    if (freeswitch) await endurance(freeswitch, calls, hold_s);
  } finally {
    await engine.stop();
    await freeswitch?.stop();
    await rm(directory, { recursive: true, force: true });
  }
  await callRate();
  if (given) await callRate(given);
};
