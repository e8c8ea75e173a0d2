import { cpus } from 'node:os';
import { type Figure, lineOf, percentile } from './figures.ts';
import { answerAndHear, orderToInvite, rate } from './measure.ts';
import { PLAN } from './plan.ts';
import { startBare, startOurs, type System } from './systems.ts';

/** Runs one measurement on both systems in turns, so that a machine that slows down slows both. */
const inTurns = async <T>(
  systems: { ours: System; bare: System },
  rounds: number,
  measure: (system: System) => Promise<T>,
): Promise<{ ours: T[]; bare: T[] }> => {
  const results: { ours: T[]; bare: T[] } = { ours: [], bare: [] };
  for (let round = 0; round < rounds; round++) {
    results.bare.push(await measure(systems.bare));
    results.ours.push(await measure(systems.ours));
  }
  return results;
};

const latency = (name: string, samples: { ours: number[]; bare: number[] }): Figure[] =>
  [['p50', 0.5] as const, ['p95', 0.95] as const].map(([label, share]) => ({
    name: `${name}, ${label}`,
    unit: 'ms',
    ours: percentile(samples.ours, share),
    bare: percentile(samples.bare, share),
    aim: { most: 1.3 },
  }));

const ROUNDS = 4;
/** Latencies and rates of a call, each beside a bare script on the same engine. */
export const latencyBench = async (): Promise<void> => {
  const systems = { ours: await startOurs(), bare: await startBare() };
  try {
    for (const system of [systems.ours, systems.bare]) {
      await orderToInvite(system, PLAN.warmup);
      await answerAndHear(system, PLAN.warmup);
    }
    const share = PLAN.calls / ROUNDS;
    const orders = await inTurns(systems, ROUNDS, system => orderToInvite(system, share));
    const answers = await inTurns(systems, ROUNDS, system => answerAndHear(system, share));
    const rates = await inTurns(systems, 1, rate);
    const [ours, bare] = [rates.ours[0], rates.bare[0]];
    const figures: Figure[] = [
      ...latency('POST /calls to INVITE', { ours: orders.ours.flat(), bare: orders.bare.flat() }),
      ...latency('INVITE to 200', {
        ours: answers.ours.flatMap(one => one.answer),
        bare: answers.bare.flatMap(one => one.answer),
      }),
      ...latency('200 to first audible RTP', {
        ours: answers.ours.flatMap(one => one.hear),
        bare: answers.bare.flatMap(one => one.hear),
      }),
      {
        name: `calls a second (${PLAN.concurrency} at once)`,
        unit: 'calls/s',
        ours: ours?.per_second ?? 0,
        bare: bare?.per_second ?? 0,
        aim: { least: 0.7 },
      },
    ];
    console.log(
      `${cpus().length} cores, Node ${process.version}, ${PLAN.calls} calls a figure, both systems on an engine of their own in one run\n`,
    );
    console.log(`${''.padEnd(34)}${'ours'.padStart(18)}${'bare script'.padStart(18)}${'ratio'.padStart(8)}   aim`);
    for (const figure of figures) console.log(lineOf(figure));
    console.log(`failed calls under load: ours ${ours?.failed}, bare script ${bare?.failed}`);
  } finally {
    await systems.bare.stop();
    await systems.ours.stop();
  }
};
