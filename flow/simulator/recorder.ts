import type { Activeflow } from '#contract/activeflow';
import type { Watched } from '../runner.ts';
import { byteLength } from '../text.ts';
import type { VirtualClock } from './clock.ts';
import type { SimulatedEvent, Step } from './result.ts';

/** Bytes of options and variables that a trace may hold. */
const MOST_BYTES = 1024 * 1024;
/** Bytes a step costs beside its option and variables. */
const STEP_BYTES = 200;
/** Reasons come from parsers and may quote what they read. */
const LONGEST_MESSAGE = 500;

/** Writes down what happens in a simulation. */
export class Recorder {
  readonly trace: Step[] = [];
  readonly events: SimulatedEvent[] = [];
  readonly #clock: VirtualClock;
  #bytes = 0;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  /** True when the trace has grown as large as it may. */
  get full(): boolean {
    return this.#bytes > MOST_BYTES;
  }

  /** Notes an event and what it is about. */
  event(type: string, about: string): void {
    this.events.push({ at_ms: this.#clock.elapsed, type, about });
  }

  /** Notes a step. */
  add(step: Step): void {
    this.trace.push(step);
    this.grow(step.action.option);
  }

  /** Counts what is recorded besides against the bound. */
  grow(value: unknown): void {
    this.#bytes += STEP_BYTES + byteLength(JSON.stringify(value));
  }
}

/** The part of the record that one activeflow writes: a step for each action its cursor enters. */
export class StepRecorder {
  readonly #recorder: Recorder;
  readonly #clock: VirtualClock;
  readonly #index: number;
  #moves = 0;
  #variables: Record<string, string>;
  #step: Step | undefined;

  constructor(recorder: Recorder, clock: VirtualClock, index: number, variables: Record<string, string>) {
    this.#recorder = recorder;
    this.#clock = clock;
    this.#index = index;
    this.#variables = variables;
  }

  /** The last action entered. */
  get last(): Step | undefined {
    return this.#step;
  }

  /** Takes note of a commit: what changed belongs to the present step, and a move starts another. */
  committed({ executed_actions, current_action }: Activeflow, variables: Record<string, string>): void {
    this.#close(variables);
    if (executed_actions.length === this.#moves) return;
    this.#moves = executed_actions.length;
    if (current_action.type !== '') this.#open(current_action);
  }

  /** Takes note of what became of the present action. */
  watch(what: Watched): void {
    if (!this.#step) return;
    this.#step.outcome = what.kind;
    if (what.kind === 'jump') this.#step.target_id = what.target_id;
    if (what.kind === 'failed') this.#step.message = what.reason.slice(0, LONGEST_MESSAGE);
  }

  #open({ id, type, option }: Activeflow['current_action']): void {
    const at_ms = this.#clock.elapsed;
    const action = { id, type, option };
    const result = { outcome: 'ended', target_id: '', message: '', variables: {} } as const;
    this.#step = { at_ms, until_ms: at_ms, activeflow: this.#index, action, ...result };
    this.#recorder.add(this.#step);
  }

  #close(variables: Record<string, string>): void {
    const before = this.#variables;
    this.#variables = variables;
    if (!this.#step) return;
    const changed = Object.entries(variables).filter(([name, value]) => before[name] !== value);
    this.#step.until_ms = this.#clock.elapsed;
    this.#step.variables = { ...this.#step.variables, ...Object.fromEntries(changed) };
    this.#recorder.grow(changed);
  }
}
