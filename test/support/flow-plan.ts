import type { FlowTemplate } from '#contract/flow';
import type { Simulation } from '#flow/simulator/result';
import { scriptSchema } from '#flow/simulator/script';
import { simulate } from '#flow/simulator/simulate';
import { validateActions } from '#flow/validate';
import type { DrawnFlow } from './random-flow.ts';

/** What is done beside a running flow once its cursor has come to a step (0 is the first action). */
export interface Act {
  step: number;
  do: 'hangup' | 'continue' | 'press' | 'leave';
  key: string;
}

/** A flow, what is done to it on a real call, and what the simulator says becomes of it. */
export interface FlowPlan extends DrawnFlow {
  script: Record<string, unknown>;
  acts: Act[];
  simulation: Simulation;
}

/** The world that a simulation needs to know of. */
export interface KnownWorld {
  customer_id: string;
  /** By URL. */
  answers: ReadonlyMap<string, { status: number; body: string }>;
  /** By target, as a script has them. */
  destinations: Record<string, object>;
  flows: ReadonlyMap<string, FlowTemplate>;
  /** The flow that follows those that are followed. */
  follower_id: string;
  /** How long the call stays in a conference, once it is in. */
  conference_ms: number;
}

/** A step of these types that lasts this long has a quiet moment in it, so long after its start. */
const QUIET = new Set(['digits_receive', 'sleep', 'echo', 'stream_echo']);
const QUIET_MS = 1300;
export const QUIET_MOMENT_MS = 400;

type Step = Simulation['trace'][number];
type Given = Record<string, unknown> & { http: object[]; digits: object[] };

const simulated = (world: KnownWorld, { actions, followed }: DrawnFlow, script: Given): Promise<Simulation> =>
  simulate({
    template: {
      id: crypto.randomUUID(),
      customer_id: world.customer_id,
      actions: validateActions(actions),
      on_complete_flow_id: followed ? world.follower_id : '',
    },
    reference_type: 'call',
    variables: {},
    script: scriptSchema.parse(script),
    now: new Date(),
    flow: async id => world.flows.get(id),
  });

/** The answer to the request that a step sends; undefined when it sends none. */
const answerTo = (world: KnownWorld, { action: { type, option } }: Step) =>
  type === 'fetch' || type === 'webhook_send'
    ? world.answers.get(String(option[type === 'fetch' ? 'event_url' : 'uri']))
    : undefined;

/** Simulates until every request that the flow sends has the answer of its URL. */
const answered = async (world: KnownWorld, flow: DrawnFlow, script: Given): Promise<Simulation> => {
  for (;;) {
    const simulation = await simulated(world, flow, script);
    const http = simulation.trace.flatMap(step => answerTo(world, step) ?? []).slice(0, 100);
    if (JSON.stringify(http) === JSON.stringify(script.http)) return simulation;
    script.http = http;
  }
};

/** Puts what the party wishes to do into the quiet moments of the flow, one after the other. */
const withWishes = async (
  world: KnownWorld,
  flow: DrawnFlow,
  script: Given,
): Promise<{ acts: Act[]; simulation: Simulation }> => {
  const acts: Act[] = [];
  let simulation = await answered(world, flow, script);
  let from = 0;
  for (const wish of flow.wishes) {
    const { trace } = simulation;
    const step = trace.findIndex(
      ({ action, activeflow, at_ms, until_ms }, place) =>
        place >= from && activeflow === 0 && QUIET.has(action.type) && until_ms - at_ms >= QUIET_MS,
    );
    const at_ms = (trace[step]?.at_ms ?? 0) + QUIET_MOMENT_MS;
    if (step < 0 || acts.at(-1)?.do === 'hangup') break;
    from = step + 1;
    if (wish === 'nothing') continue;
    if (wish === 'hangup') script['hangup_at_ms'] = at_ms;
    else script.digits.push({ at_ms, digits: wish });
    acts.push({ step, do: wish === 'hangup' ? 'hangup' : 'press', key: wish });
    simulation = await answered(world, flow, script);
  }
  return { acts, simulation };
};

/** What shall be done to a drawn flow on a real call, and what the simulator expects of it then. */
export const planOf = async (world: KnownWorld, flow: DrawnFlow): Promise<FlowPlan> => {
  const script: Given = {
    call: { direction: 'outgoing' },
    http: [],
    digits: [],
    answer: world.destinations,
    amd: 'machine',
    conference_ms: world.conference_ms,
    play_ms: 20,
    continue_after_ms: 100,
  };
  const { acts, simulation } = await withWishes(world, flow, script);
  const steps = [...simulation.trace.entries()];
  const blocks = steps.filter(([, { outcome }]) => outcome === 'block');
  const resumed = blocks.map(([step]): Act => ({ step, do: 'continue', key: '' }));
  const inRooms = steps.filter(([, { action, outcome }]) => action.type === 'confbridge_join' && outcome === 'next');
  const left = inRooms.map(([step]): Act => ({ step, do: 'leave', key: '' }));
  return { ...flow, script, acts: [...acts, ...resumed, ...left].sort((a, b) => a.step - b.step), simulation };
};
