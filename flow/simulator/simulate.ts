import type { FlowTemplate } from '#contract/flow';
import { isSet } from '#contract/ids';
import type { CreateCalls, HttpAnswer, HttpRequest } from '../action.ts';
import { pause } from '../pause.ts';
import { warningsOf } from '../warnings.ts';
import { dialled, SimulatedCall } from './call.ts';
import { VirtualClock } from './clock.ts';
import { Recorder } from './recorder.ts';
import type { EndReason, Simulation } from './result.ts';
import { Run, type Surroundings } from './run.ts';
import { defaultHttp, type Script } from './script.ts';

export interface SimulationRequest {
  template: FlowTemplate;
  /** `call` gives the flow a simulated call; `api` none, like POST /activeflows. */
  reference_type: 'call' | 'api';
  variables: Record<string, string>;
  script: Script;
  /** The moment it starts where the script does not say. */
  now: Date;
  /** Other flows of the customer, for fetch_flow and the like. Only read. */
  flow: (flowId: string) => Promise<FlowTemplate | undefined>;
}

/** Lets everything happen that needs no time. */
const settled = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

/** One simulation: the activeflows, the call and the virtual time they share. */
class Simulator {
  readonly #request: SimulationRequest;
  readonly #clock: VirtualClock;
  readonly #recorder: Recorder;
  readonly #runs: Run[] = [];
  readonly #http: Script['http'];
  readonly #known = new Map<string, Promise<FlowTemplate | undefined>>();
  /** Look-ups that take real time; virtual time stands still meanwhile. */
  readonly #outside = new Set<Promise<unknown>>();
  /** A look-up that failed: no fault of the flow, so the simulation has no answer. */
  #failure: { error: unknown } | undefined;

  constructor(request: SimulationRequest) {
    const { script } = request;
    this.#request = request;
    this.#clock = new VirtualClock(script.now === undefined ? request.now : new Date(script.now));
    this.#recorder = new Recorder(this.#clock);
    this.#http = [...script.http];
  }

  async run(): Promise<Simulation> {
    const call = this.#request.reference_type === 'call' ? this.#newCall() : undefined;
    const { template, reference_type, variables } = this.#request;
    const reference_id = call?.record().id ?? '';
    const run = this.#start({ template, reference_type, reference_id, variables, call });
    call?.connected();
    this.#plan(run);
    await this.#drive();
    return this.#result();
  }

  #newCall(): SimulatedCall {
    const { template, script } = this.#request;
    const call = new SimulatedCall(template.customer_id, template.id, script, this.#clock, this.#recorder);
    this.#recorder.event('call_created', 'call');
    return call;
  }

  #start(given: Omit<ConstructorParameters<typeof Run>[1], 'index'>): Run {
    const run = new Run(this.#surroundings, { ...given, index: this.#runs.length });
    this.#runs.push(run);
    // A turn later, so that what comes before the first action is written down before it.
    this.#clock.at(this.#clock.elapsed, () => void run.start());
    return run;
  }

  /** Everything the script says about the call. */
  #plan(run: Run): void {
    const { digits, digit_gap_ms, hangup_at_ms } = this.#request.script;
    const { call } = run;
    if (!call) return;
    // What we hang up ourselves ends the flow too, when the flow has not ended by itself.
    call.onEnd = () => this.#clock.at(this.#clock.elapsed, () => run.stop('hangup'));
    for (const { at_ms, digits: keys } of digits)
      [...keys].forEach((key, place) => this.#clock.at(at_ms + place * digit_gap_ms, () => this.#press(run, key)));
    if (hangup_at_ms !== undefined) this.#clock.at(hangup_at_ms, () => this.#partyHangsUp(run, call));
  }

  /** Keys come with the media, so there are none before the answer. */
  #press({ call, runner }: Run, key: string): void {
    if (call?.record().status === 'progressing') runner.digit(key);
  }

  #partyHangsUp(run: Run, call: SimulatedCall): void {
    call.onEnd = () => run.stop('party_hangup');
    call.end('normal_clearing');
  }

  async #drive(): Promise<void> {
    await settled();
    while (this.#runs.some(run => !run.done)) {
      if (this.#outside.size > 0) await Promise.allSettled(this.#outside);
      else this.#pass();
      await settled();
    }
    if (this.#failure) throw this.#failure.error;
  }

  /** Lets time pass until the next thing happens, or ends what would wait for ever. */
  #pass(): void {
    const { next } = this.#clock;
    const { max_ms } = this.#request.script;
    if (next !== undefined && next <= max_ms) this.#clock.advance();
    else if (next !== undefined) this.#outOfTime(max_ms);
    else this.#cut('blocked');
  }

  #outOfTime(max_ms: number): void {
    this.#clock.moveTo(max_ms);
    this.#cut('time_limit');
  }

  #cut(reason: EndReason): void {
    for (const run of this.#runs) if (!run.done) run.stop(reason);
  }

  get #surroundings(): Surroundings {
    return {
      clock: this.#clock,
      recorder: this.#recorder,
      continueAfterMs: this.#request.script.continue_after_ms,
      ports: {
        clock: this.#clock,
        flow: (_customerId, flowId) => this.#flow(flowId),
        createCalls: request => this.#createCalls(request),
        sendHttp: request => this.#sendHttp(request),
      },
      follow: (ended, variables) => this.#follow(ended, variables),
    };
  }

  async #createCalls({ destinations, flow_id }: CreateCalls): Promise<{ calls: []; groupcalls: [] }> {
    if (isSet(flow_id) && !(await this.#flow(flow_id))) throw new Error(`no flow ${flow_id}`);
    for (const { target } of dialled(this.#request.script, destinations)) this.#recorder.event('call_created', target);
    return { calls: [], groupcalls: [] };
  }

  async #sendHttp({ timeout_ms, keep_bytes, signal }: HttpRequest): Promise<HttpAnswer> {
    const { status, body, after_ms, fails } = this.#http.shift() ?? defaultHttp;
    await pause(this.#clock, Math.min(after_ms, timeout_ms), signal);
    if (signal.aborted) throw signal.reason as Error;
    if (fails) throw new Error('the connection failed');
    if (after_ms > timeout_ms) throw new Error('the server took too long');
    return { status, body: keep_bytes === undefined ? '' : body };
  }

  async #flow(flowId: string): Promise<FlowTemplate | undefined> {
    const known = this.#known.get(flowId) ?? this.#request.flow(flowId);
    this.#known.set(flowId, known);
    this.#outside.add(known);
    try {
      return await known;
    } catch (error) {
      this.#failure ??= { error };
      throw error;
    } finally {
      this.#outside.delete(known);
    }
  }

  async #follow({ template: { on_complete_flow_id }, runner }: Run, variables: Record<string, string>): Promise<void> {
    const template = await this.#flow(on_complete_flow_id);
    if (!template) return;
    const { reference_id, id } = runner.activeflow;
    const { reference_type } = this.#request;
    this.#start({ template, reference_type, reference_id, reference_activeflow_id: id, parentVariables: variables });
  }

  #result(): Simulation {
    const { trace, events } = this.#recorder;
    const [first, ...rest] = this.#runs.map(({ template, startedMs, ended, runner }) => ({
      flow_id: template.id,
      started_ms: startedMs,
      ended: ended ?? { at_ms: 0, reason: 'failed' as const, message: '' },
      variables: runner.variables.all(),
    }));
    const last = rest.at(-1) ?? first;
    const { template, reference_type, script } = this.#request;
    return {
      trace,
      events,
      variables: last?.variables ?? {},
      ended: first?.ended ?? { at_ms: 0, reason: 'finished', message: '' },
      on_complete: rest.map(({ flow_id, started_ms, ended }) => ({ flow_id, started_ms, ended })),
      warnings: warningsOf(template.actions, { reference_type, direction: script.call.direction }),
    };
  }
}

/**
 * Runs a flow on virtual time against a script: the platform's own runner and actions, and nothing happens outside.
 * Ends within the limits of the runner, the script's `max_ms` and the size of a trace.
 *
 * @throws what `request.flow` rejects with
 */
export const simulate = (request: SimulationRequest): Promise<Simulation> => new Simulator(request).run();
