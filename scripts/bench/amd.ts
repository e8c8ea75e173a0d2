import { performance } from 'node:perf_hooks';
import type { Call } from '#contract/call';
import { hearAmd, initialAmd, judgeAmd } from '../../media-app/audio/amd.ts';
import { TestPhone } from '../../test/support/phone.ts';
import { type Stack, startStack } from '../../test/support/stack.ts';
import { decodeG711, encodeG711 } from '../phone/g711.ts';
import { percentile } from './figures.ts';
import { type Greeting, HALVES, type HalfName, makeGreetings } from './greetings.ts';

const AT_ONCE = 6;
const VERDICTS = ['human', 'machine', 'notsure'] as const;
type Verdict = (typeof VERDICTS)[number];

/** The flow says its verdict by a tone of its own, long enough to be heard whole. */
const TONES: Record<Verdict, number> = { human: 700, machine: 1500, notsure: 2100 };
const id = (verdict: string) =>
  `f0000000-0000-4000-8000-0000000000${verdict === 'human' ? 'a1' : verdict === 'machine' ? 'a2' : 'a3'}`;
const FLOW = [
  { type: 'amd', option: { machine_handle: 'continue' } },
  {
    type: 'branch',
    option: {
      variable: 'svc.call.amd_result',
      default_target_id: id('notsure'),
      target_ids: { human: id('human'), machine: id('machine') },
    },
  },
  ...VERDICTS.map(verdict => ({
    id: id(verdict),
    next_id: 'f0000000-0000-4000-8000-0000000000ff',
    type: 'play',
    option: { stream_urls: [`tone_stream://%(1200,0,${TONES[verdict]})`] },
  })),
  { id: 'f0000000-0000-4000-8000-0000000000ff', type: 'hangup', option: {} },
];

interface Result {
  greeting: Greeting;
  verdict: Verdict;
  /** Milliseconds from the answer to the first sound of the verdict. */
  after: number;
}

const judge = async (stack: Stack, greeting: Greeting, seat: number): Promise<Result> => {
  const phone = await TestPhone.start({ username: `callee${seat}`, domain: 'bench.invalid', server: stack.sip });
  const answer = await stack.api<{ calls: Call[] }>('POST', '/calls', {
    source: { type: 'tel', target: stack.welcome.number },
    destinations: [{ type: 'sip', target: phone.address }],
    actions: FLOW,
  });
  if (answer.status !== 200) throw new Error(`POST /calls answered ${answer.status}`);
  const call = await phone.waitForCall({ autoAnswer: true, timeout_ms: 15_000 });
  await call.answered();
  const began = performance.now();
  void call.playSamples(greeting.samples);
  await call.ended({ within_ms: 40_000 });
  const heard = call.tonesSoFar();
  const verdict = VERDICTS.find(one => heard.some(hz => Math.abs(hz - TONES[one]) < 20));
  if (!verdict) throw new Error(`no verdict was heard of "${greeting.name}"`);
  const after = (call.times.firstAudible ?? NaN) - began;
  await phone.stop({ hangup: true });
  return { greeting, verdict, after };
};

/** The detector alone on the same sound, as it comes off the line: in a second instead of minutes. */
const judgeDry = (greeting: Greeting): Result => {
  const samples = decodeG711('PCMU', encodeG711('PCMU', greeting.samples));
  let state = initialAmd;
  for (let at = 0; ; at += 160) {
    state = hearAmd(state, samples.subarray(at, at + 160));
    const verdict = judgeAmd(state);
    if (verdict) return { greeting, verdict: verdict.result, after: state.elapsed };
  }
};

const report = (half: HalfName, results: Result[]): void => {
  console.log(`\n== ${half} ==`);
  const of = (who: Greeting['who'], verdict: Verdict) =>
    results.filter(one => one.greeting.who === who && one.verdict === verdict);
  console.log('\nsaid to be        human  machine  notsure');
  for (const who of ['human', 'machine'] as const) {
    const cells = VERDICTS.map(verdict => String(of(who, verdict).length).padStart(8));
    console.log(`${who.padEnd(12)}${cells.join(' ')}`);
  }
  for (const { greeting, verdict, after } of results)
    if (greeting.who !== verdict)
      console.log(`  wrong: ${greeting.who} as ${verdict} after ${after.toFixed(0)} ms: ${greeting.name}`);
  const right = results.filter(({ greeting, verdict }) => greeting.who === verdict).length / results.length;
  const humans = results.filter(({ greeting }) => greeting.who === 'human');
  const lost = of('human', 'machine').length / humans.length;
  const times = (list: Result[], since = (_: Greeting) => 0) => {
    const after = list.map(one => one.after - since(one.greeting));
    return `p50 ${percentile(after, 0.5).toFixed(0)} ms, p95 ${percentile(after, 0.95).toFixed(0)} ms, longest ${Math.max(...after).toFixed(0)} ms`;
  };
  console.log(`${results.length} greetings, ${(100 * right).toFixed(1)} % right (aim: 95 %)`);
  console.log(`people taken for machines: ${(100 * lost).toFixed(1)} % (aim: at most 2 %)`);
  const prompt = humans.filter(one => one.after <= 3000).length / humans.length;
  console.log(
    `decided after the answer, people: ${times(humans)} (aim: 3000 ms, met for ${(100 * prompt).toFixed(0)} %)`,
  );
  console.log(`decided after their last word, people: ${times(humans, ({ ends }) => ends)}`);
  console.log(
    `decided after the answer, machines: ${times(results.filter(({ greeting }) => greeting.who === 'machine'))}`,
  );
};

/** Speaks the greetings on real calls, several at a time. */
const judgeOnCalls = async (stack: Stack, greetings: Greeting[]): Promise<Result[]> => {
  const results: Result[] = [];
  const queue = [...greetings];
  const seat = async (_: unknown, number: number): Promise<void> => {
    for (let next = queue.shift(); next; next = queue.shift()) results.push(await judge(stack, next, number));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, seat));
  return results;
};

/**
 * Greetings of people and machines, those the detector was made with and others, on real calls; `dry`: straight into the
 * detector.
 */
export const amdBench = async (how: string): Promise<void> => {
  const stack = how === 'dry' ? undefined : await startStack({ env: { LOG_LEVEL: 'warn' } });
  try {
    for (const half of Object.keys(HALVES) as HalfName[]) {
      const greetings = await makeGreetings(half);
      report(half, stack ? await judgeOnCalls(stack, greetings) : greetings.map(judgeDry));
    }
  } finally {
    await stack?.stop();
  }
};
