import { FINISH_ACTION, FINISH_ACTION_ID, type Action } from '#contract/action';
import type { Activeflow } from '#contract/activeflow';
import { PlatformError } from '#contract/errors';
import type { FlowTemplate } from '#contract/flow';
import { EMPTY_ID, isSet } from '#contract/ids';
import { activeflowMachine } from '#contract/machines/activeflow';
import { fromDate } from '#contract/time';
import { next, type ActionDefinition, type CallPort, type FlowLog, type FlowPorts, type Outcome } from './action.ts';
import { registry as builtIn } from './actions/index.ts';
import { hopsOf, withHops } from './activeflow.ts';
import { Execution } from './execution.ts';
import { Stacks } from './stack.ts';
import { substitute } from './substitute.ts';
import type { Variables } from './variables.ts';

export { createActiveflow, type CreatedActiveflow, type NewActiveflow } from './activeflow.ts';

/**
 * Bounds of one activeflow (voice-and-flows 4.3, 4.11). The further bound of 4.3, 1000 engine-side actions in a row,
 * cannot be reached while every move counts, so it is not counted.
 */
export const LIMITS = {
  /** Moves after which the flow is stopped; loops count. */
  moves: 100,
  /** On-complete hops: counts 0 to 4 exist. */
  hops: 4,
} as const;

const MAX_EARLY_DIGITS = 64;

export interface FlowRunnerOptions {
  activeflow: Activeflow;
  variables: Variables;
  /** The copy of the flow that the activeflow was created from. */
  template: FlowTemplate;
  ports: FlowPorts;
  call?: CallPort;
  log: FlowLog;
  /** The action types it knows, by name; all of the platform's when absent. */
  actions?: ReadonlyMap<string, ActionDefinition>;
  /** Hears what became of each action, before the cursor moves on. */
  watch?: (what: Watched) => void;
}

/** What became of an action; `ended` when the flow was over before the action was. */
export type Watched = Outcome | { kind: 'skipped' } | { kind: 'failed'; reason: string } | { kind: 'ended' };

/** What became of the current action: an outcome to apply, or a failure that ends the flow. */
type Result = Outcome | { kind: 'failed' };

/**
 * Drives one activeflow from its start to its end (voice-and-flows 4). Knows no action by name. One loop moves the
 * cursor, so moves never race; what comes from outside (digits, continue, forward, stop) only sets the next move or
 * ends a wait, and is ignored when it comes too late.
 */
export class FlowRunner {
  readonly activeflow: Activeflow;
  readonly variables: Variables;
  /** Resolves when the activeflow is ended, committed and its on-complete flow was started. Never rejects. */
  readonly ended: Promise<void>;
  readonly #ports: FlowPorts;
  readonly #call: CallPort | undefined;
  readonly #log: FlowLog;
  readonly #actions: ReadonlyMap<string, ActionDefinition>;
  readonly #watch: (what: Watched) => void;
  readonly #stacks: Stacks;
  /** Taken at the start, because a flow may overwrite the variable. */
  readonly #hops: number;
  readonly #over = new AbortController();
  #resolveEnded: () => void = () => undefined;
  #running: Promise<void> | undefined;
  #execution: Execution | undefined;
  #unblock: (() => void) | undefined;
  #lastCommit: Promise<void> = Promise.resolve();
  #moves = 0;
  /** Digits pressed while the move to the next action is being written; they belong to that action. */
  #earlyDigits: string[] = [];

  constructor(options: FlowRunnerOptions) {
    this.activeflow = options.activeflow;
    this.variables = options.variables;
    this.ended = new Promise(resolve => (this.#resolveEnded = resolve));
    this.#ports = options.ports;
    this.#call = options.activeflow.reference_type === 'call' ? options.call : undefined;
    this.#log = options.log;
    this.#actions = options.actions ?? builtIn;
    this.#watch = options.watch ?? (() => undefined);
    this.#stacks = new Stacks(options.template.actions);
    this.#hops = hopsOf(options.variables.all());
    const call = this.#call;
    if (call) this.variables.readReferenceWith(() => JSON.stringify(call.record()));
  }

  /** Runs to the end; resolves with `ended`. A second call joins the first. Never rejects. */
  run(): Promise<void> {
    this.#running ??= this.#drive();
    return this.#running;
  }

  /** A key the party pressed: one of `0-9 A-D * #`. Only the current action hears it. */
  digit(digit: string): void {
    if (!/^[0-9A-D*#]$/.test(digit) || this.#over.signal.aborted) return;
    if (this.#execution) this.#execution.press(digit);
    else if (this.#running && !this.#unblock && this.#earlyDigits.length < MAX_EARLY_DIGITS)
      this.#earlyDigits.push(digit);
  }

  /**
   * Resumes a blocked activeflow (4.9).
   *
   * @throws PlatformError FLOW_STATE_INVALID when it is not blocked at that action
   */
  continue(actionId: string): void {
    if (!this.#unblock || this.activeflow.current_action.id !== actionId)
      throw new PlatformError('FLOW_STATE_INVALID', 'The activeflow is not blocked at this action.');
    this.#unblock();
  }

  /**
   * Sends the cursor to an action of the current or an outer stack at once, ending the current action early (4.6).
   *
   * @throws PlatformError FLOW_STATE_INVALID when the activeflow has ended or has no such action
   */
  forwardNow(stackId: string, actionId: string): void {
    if (this.#over.signal.aborted || !this.#stacks.forward(stackId, actionId))
      throw new PlatformError('FLOW_STATE_INVALID', 'The activeflow has no such action to go to.');
    this.#interrupt(actionId);
  }

  /**
   * Ends a service's own stack at once: the cursor goes behind the action that forked it (4.5).
   *
   * @throws PlatformError FLOW_STATE_INVALID when the activeflow has ended or stands in another stack
   */
  popNow(stackId: string): void {
    if (this.#over.signal.aborted) throw new PlatformError('FLOW_STATE_INVALID', 'The activeflow has ended.');
    this.#stacks.pop(stackId);
    this.#interrupt(EMPTY_ID);
  }

  /** Whether the flow is, or is about to be, inside a service's own stack or a fork of it. */
  holds(stackId: string): boolean {
    return !this.#over.signal.aborted && this.#stacks.holds(stackId);
  }

  /** Ends the activeflow (4.10): aborts what runs, writes the end. Idempotent; resolves with `ended`. */
  stop(): Promise<void> {
    if (!this.#over.signal.aborted) {
      this.#over.abort(new Error('the flow was stopped'));
      void this.#end();
    }
    return this.ended;
  }

  async #drive(): Promise<void> {
    try {
      while (await this.#step());
    } catch (error) {
      this.#warn('the flow stops', error);
    }
    await this.stop();
  }

  /** One move and the action it leads to. False when the flow is over. */
  async #step(): Promise<boolean> {
    if (this.#over.signal.aborted) return false;
    const spoiled = await this.#move();
    const action = this.activeflow.current_action;
    if (this.#over.signal.aborted || action.id === FINISH_ACTION_ID) return false;
    if (this.#stacks.forwarded) return true;
    return this.#apply(await this.#act(action, spoiled));
  }

  /** Moves the cursor and writes it, in the order of 4.3. Returns why the chosen action cannot run, if so. */
  async #move(): Promise<Error | undefined> {
    if (this.#moves > LIMITS.moves) throw new Error(`more than ${LIMITS.moves} actions`);
    const chosen = this.#stacks.advance() ?? FINISH_ACTION;
    const { action, spoiled } = this.#executedCopy(chosen);
    const { activeflow } = this;
    activeflow.executed_actions = [...activeflow.executed_actions, activeflow.current_action];
    activeflow.current_action = action;
    activeflow.forward_action_id = EMPTY_ID;
    this.#moves += 1;
    await this.#commit();
    return spoiled;
  }

  /** The copy that is shown: option substituted, time of execution set unless the action is skipped. */
  #executedCopy(chosen: Action): { action: Action; spoiled?: Error } {
    const runs = chosen.type !== '' && !this.#isSkipped(this.#actions.get(chosen.type));
    const action = { ...chosen, tm_execute: runs ? fromDate(this.#ports.clock.now()) : null };
    try {
      return { action: { ...action, option: substitute(chosen.option, this.variables) } };
    } catch (error) {
      return { action, spoiled: error as Error };
    }
  }

  /** Media gating (4.8): a call's action is skipped where there is no call, or the call is gone (4.11). */
  #isSkipped(definition: ActionDefinition | undefined): boolean {
    return definition?.needs === 'call' && !this.#call;
  }

  /** Runs the current action; its failure becomes what the row of its type in 4.7 says. */
  async #act(action: Action, spoiled: Error | undefined): Promise<Result> {
    const definition = this.#actions.get(action.type);
    if (action.type === '' || this.#isSkipped(definition)) return this.#skipped();
    if (!definition) throw new Error(`unknown action type ${action.type}`);
    try {
      if (spoiled) throw spoiled;
      const outcome = await this.#execute(definition, action);
      this.#watch(outcome);
      return outcome;
    } catch (error) {
      return this.#failed(definition, error);
    }
  }

  async #execute(definition: ActionDefinition, action: Action): Promise<Outcome> {
    const execution = new Execution(this.#over.signal, this.#earlyDigits.splice(0));
    this.#execution = execution;
    try {
      const outcome = await execution.run(definition, {
        activeflow: this.activeflow,
        action,
        variables: this.variables,
        ports: this.#ports,
        call: this.#call,
        loops: this.#stacks.loops,
        log: this.#log,
      });
      return this.#checked(outcome);
    } finally {
      this.#execution = undefined;
    }
  }

  /** Makes the next move what a jump or fork asks for, so that a missing target is the action's own error. */
  #checked(outcome: Outcome): Outcome {
    if (outcome.kind === 'fork') this.#stacks.push(outcome.actions, outcome.stack_id);
    if (outcome.kind === 'jump' && !this.#stacks.jump(outcome.target_id))
      throw new Error(`there is no action ${outcome.target_id || 'to go to'}`);
    if (outcome.kind === 'jump') this.activeflow.forward_action_id = outcome.target_id;
    if (outcome.kind === 'finish') this.#stacks.finish();
    return outcome;
  }

  #skipped(): Outcome {
    this.#watch({ kind: 'skipped' });
    return next;
  }

  #failed(definition: ActionDefinition, error: unknown): Result {
    const over = this.#over.signal.aborted;
    this.#watch(over ? { kind: 'ended' } : { kind: 'failed', reason: reasonOf(error) });
    if (over) return { kind: 'failed' };
    this.#warn(definition.onError === 'stop' ? 'the action failed, the flow stops' : 'the action failed', error);
    return definition.onError === 'stop' ? { kind: 'failed' } : next;
  }

  /** True when the flow goes on. */
  async #apply(result: Result): Promise<boolean> {
    if (result.kind === 'block' && !this.#stacks.forwarded) await this.#untilContinued();
    return result.kind !== 'failed';
  }

  async #untilContinued(): Promise<void> {
    const { signal } = this.#over;
    let wake: () => void = () => undefined;
    await new Promise<void>(resolve => {
      this.#unblock = wake = resolve;
      if (signal.aborted) resolve();
      signal.addEventListener('abort', wake, { once: true });
    });
    signal.removeEventListener('abort', wake);
    this.#unblock = undefined;
  }

  #interrupt(actionId: string): void {
    this.activeflow.forward_action_id = actionId;
    this.#execution?.interrupt();
    this.#unblock?.();
  }

  /** Writes the present state. Commits follow one another in the order they were asked for. */
  #commit(): Promise<void> {
    const { activeflow } = this;
    activeflow.tm_update = fromDate(this.#ports.clock.now());
    const [snapshot, variables] = [{ ...activeflow }, this.variables.all()];
    const commit = this.#lastCommit.then(() => this.#ports.commit(snapshot, 'activeflow_updated', variables));
    this.#lastCommit = commit.catch(() => undefined); // whoever awaits `commit` hears of it
    return commit;
  }

  /** The end, once (4.10): status, event, the call's release, the on-complete flow. */
  async #end(): Promise<void> {
    const step = activeflowMachine.step(this.activeflow.status, 'end');
    if (step) {
      this.activeflow.status = step.to;
      await this.#attempt('the end could not be written', () => this.#commit());
      this.#releaseCall();
      await this.#attempt('the on-complete flow was not started', () => this.#runOnComplete());
    }
    this.#resolveEnded();
  }

  /** Not awaited: the call may be waiting for this very flow to end. */
  #releaseCall(): void {
    const call = this.#call;
    if (call) void this.#attempt('the call could not be released', () => call.hangup('normal', ''));
  }

  async #runOnComplete(): Promise<void> {
    if (!isSet(this.activeflow.on_complete_flow_id)) return;
    if (this.#hops >= LIMITS.hops) throw new Error(`more than ${LIMITS.hops} on-complete flows in a row`);
    await this.#ports.runOnComplete({ ...this.activeflow }, withHops(this.variables.all(), this.#hops));
  }

  async #attempt(what: string, attempt: () => Promise<void>): Promise<void> {
    try {
      await attempt();
    } catch (error) {
      this.#warn(what, error);
    }
  }

  #warn(message: string, error: unknown): void {
    const { id, current_action } = this.activeflow;
    const about = { activeflow_id: id, action_id: current_action.id, action: current_action.type };
    this.#log.warn({ ...about, reason: reasonOf(error) }, message);
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
