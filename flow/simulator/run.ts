import { FINISH_ACTION_ID } from '#contract/action';
import type { ReferenceType } from '#contract/activeflow';
import type { FlowTemplate } from '#contract/flow';
import { registry } from '../actions/index.ts';
import { callVariables } from '../call-variables.ts';
import type { FlowPorts } from '../action.ts';
import {
  createActiveflow,
  FlowRunner,
  LIMITS,
  type CreatedActiveflow,
  type NewActiveflow,
  type Watched,
} from '../runner.ts';
import type { SimulatedCall } from './call.ts';
import type { VirtualClock } from './clock.ts';
import { StepRecorder, type Recorder } from './recorder.ts';
import type { Ended, EndReason } from './result.ts';

/** What all activeflows of one simulation share. */
export interface Surroundings {
  clock: VirtualClock;
  recorder: Recorder;
  ports: Omit<FlowPorts, 'commit' | 'runOnComplete'>;
  /** When a block is continued; undefined: never. */
  continueAfterMs: number | undefined;
  /** Starts the flow that follows one that ended. */
  follow(ended: Run, variables: Record<string, string>): Promise<void>;
}

interface NewRun extends Omit<NewActiveflow, 'now' | 'reference_type'> {
  reference_type: Extract<ReferenceType, 'call' | 'api'>;
  call?: SimulatedCall | undefined;
  /** 0 is the flow itself, 1 its on-complete flow, and so on. */
  index: number;
}

const silent = { info: () => undefined, warn: () => undefined };

const SENTENCES: Record<EndReason, string> = {
  finished: 'The flow ran off its end.',
  stopped: 'A stop action ended the flow.',
  hangup: 'The flow hung up.',
  party_hangup: 'The party hung up.',
  failed: 'An action failed.',
  blocked: 'The flow waits to be continued and nothing continues it.',
  action_limit: `The flow ran more than ${LIMITS.moves} actions.`,
  time_limit: 'The simulation reached its longest time.',
  size_limit: 'The trace reached its largest size.',
};

/** Reasons that end the simulation as a whole, so that nothing follows. */
const CUT_SHORT = new Set<EndReason | undefined>(['blocked', 'time_limit', 'size_limit']);

/** One activeflow of a simulation: the platform's own runner on virtual ports. */
export class Run {
  readonly runner: FlowRunner;
  readonly startedMs: number;
  readonly call: SimulatedCall | undefined;
  readonly index: number;
  readonly template: FlowTemplate;
  /** How it ended; on-complete flows may still be about to start. */
  ended: Ended | undefined;
  /** True when nothing of it is left to do. */
  done = false;
  #cause: EndReason | undefined;
  readonly #steps: StepRecorder;
  readonly #clock: VirtualClock;
  readonly #recorder: Recorder;

  constructor(surroundings: Surroundings, given: NewRun) {
    const { clock, recorder } = surroundings;
    const created = createActiveflow({ ...given, now: clock.now() });
    if (given.call)
      for (const [name, value] of Object.entries(callVariables(given.call.record())))
        created.variables.set(name, value);
    [this.#clock, this.#recorder] = [clock, recorder];
    [this.call, this.index, this.template, this.startedMs] = [given.call, given.index, given.template, clock.elapsed];
    this.#steps = new StepRecorder(recorder, clock, given.index, created.variables.all());
    this.runner = this.#newRunner(created, surroundings);
    void this.runner.ended.then(() => (this.done = true));
    recorder.event('activeflow_created', 'activeflow');
  }

  /** Runs to the end. Never rejects. */
  async start(): Promise<void> {
    await this.runner.run();
  }

  /** Ends it from outside, for a reason of the simulation. The first reason counts. */
  stop(reason: EndReason): void {
    this.#cause ??= reason;
    void this.runner.stop();
  }

  #newRunner(created: CreatedActiveflow, surroundings: Surroundings): FlowRunner {
    const ports: FlowPorts = {
      ...surroundings.ports,
      commit: async (activeflow, event, variables) => this.#committed(activeflow, event, variables),
      runOnComplete: async (_ended, variables) => {
        if (!CUT_SHORT.has(this.#cause)) await surroundings.follow(this, variables);
      },
    };
    const call = this.call ? { call: this.call } : {};
    const watch = (what: Watched): void => {
      this.#steps.watch(what);
      if (what.kind === 'block') this.#continueAfter(surroundings.continueAfterMs);
    };
    return new FlowRunner({ ...created, ...call, ports, log: silent, watch });
  }

  #continueAfter(ms: number | undefined): void {
    const { id } = this.runner.activeflow.current_action;
    if (ms !== undefined) this.#clock.at(this.#clock.elapsed + ms, () => !this.ended && this.runner.continue(id));
  }

  #committed(...[activeflow, event, variables]: Parameters<FlowPorts['commit']>): void {
    this.#steps.committed(activeflow, variables);
    this.#recorder.event(event, 'activeflow');
    if (activeflow.status === 'ended') this.ended = this.#end();
    else this.call?.showAction(activeflow.current_action);
    if (this.#recorder.full) this.stop('size_limit');
  }

  #end(): Ended {
    const reason = this.#cause ?? this.#reason();
    const why = this.#steps.last?.message;
    const message = reason === 'failed' && why ? `${SENTENCES.failed.slice(0, -1)}: ${why}.` : SENTENCES[reason];
    return { at_ms: this.#clock.elapsed, reason, message };
  }

  #reason(): EndReason {
    const { last } = this.#steps;
    if (this.runner.activeflow.current_action.id !== FINISH_ACTION_ID)
      return last?.outcome === 'failed' && registry.get(last.action.type)?.onError === 'stop'
        ? 'failed'
        : 'action_limit';
    if (last?.outcome !== 'finish') return 'finished';
    return last.action.type === 'stop' ? 'stopped' : 'hangup';
  }
}
