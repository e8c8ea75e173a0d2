import type { ActionInput } from '#contract/action';
import type { Activeflow, ReferenceType } from '#contract/activeflow';
import type { Address } from '#contract/address';
import { newCall, type Call } from '#contract/call';
import type { ExternalMediaRequest } from '#contract/external-media';
import type { FlowTemplate } from '#contract/flow';
import { EMPTY_ID, newId } from '#contract/ids';
import { newRecording } from '#contract/recording';
import { fromDate } from '#contract/time';
import type {
  AmdVerdict,
  ActionDefinition,
  CallPort,
  Clock,
  ConferenceEntry,
  ConnectRequest,
  CreateCalls,
  FlowPorts,
  HttpRequest,
} from '#flow/action';
import { callVariables } from '#flow/call-variables';
import { pause } from '#flow/pause';
import { createActiveflow, FlowRunner } from '#flow/runner';
import { validateActions } from '#flow/validate';

/** A clock that moves only when everything else stands still. */
export class VirtualClock implements Clock {
  readonly start: number;
  #ms: number;
  #due: { at: number; fire: () => void }[] = [];

  constructor(start = '2026-11-21T10:30:00Z') {
    this.start = this.#ms = Date.parse(start);
  }

  now(): Date {
    return new Date(this.#ms);
  }

  get elapsed(): number {
    return this.#ms - this.start;
  }

  get waiting(): number {
    return this.#due.length;
  }

  /** Does something at a moment, in milliseconds after the start. */
  at(ms: number, fire: () => void): void {
    this.#due.push({ at: this.start + ms, fire });
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const entry = { at: this.#ms + ms, fire: resolve };
      const abort = (): void => {
        this.#due = this.#due.filter(other => other !== entry);
        reject(signal.reason as Error);
      };
      if (signal.aborted) return abort();
      signal.addEventListener('abort', abort, { once: true });
      this.#due.push(entry);
    });
  }

  /** Jumps to the next thing that is due. False when nothing is. */
  advance(): boolean {
    const first = this.#due.sort((a, b) => a.at - b.at).shift();
    if (!first) return false;
    this.#ms = Math.max(this.#ms, first.at);
    first.fire();
    return true;
  }
}

export const CUSTOMER = '11111111-1111-4111-8111-111111111111';
const tel = (target: string): Address => ({ type: 'tel', target, target_name: '', name: '', detail: '' });

const settled = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

export interface WorldOptions {
  actions?: ActionInput[];
  template?: Partial<FlowTemplate>;
  reference?: ReferenceType;
  direction?: 'incoming' | 'outgoing';
  variables?: Record<string, string>;
  parentVariables?: Record<string, string>;
  start?: string;
  registry?: ReadonlyMap<string, ActionDefinition>;
  /** Flows by id that fetch_flow finds. */
  flows?: Record<string, ActionInput[]>;
  /** Answers of sendHttp in order, a status or a body of a 200; an Error is thrown; the last repeats. */
  http?: (number | string | Error)[];
  /** Methods of the call that fail. */
  broken?: (keyof CallPort)[];
}

/** Everything a flow touches, faked at its ports: what the party heard, what was written, what was asked for. */
export class World {
  readonly clock: VirtualClock;
  /** What a conference says to a call that joins it. */
  conference: ConferenceEntry = { conferencecall_id: newId(), confbridge_id: newId(), pre_flow_id: EMPTY_ID };
  readonly external: ExternalMediaRequest[] = [];
  /** What machine detection finds. */
  verdict: AmdVerdict = { result: 'human', confidence: 0.9 };
  readonly heard: string[] = [];
  readonly commits: { activeflow: Activeflow; variables: Record<string, string> }[] = [];
  readonly warnings: Record<string, unknown>[] = [];
  readonly created: CreateCalls[] = [];
  readonly connected: ConnectRequest[] = [];
  readonly requests: HttpRequest[] = [];
  readonly completed: { ended: Activeflow; variables: Record<string, string> }[] = [];
  readonly runner: FlowRunner;
  readonly record: Call;
  failCommits = false;
  /** Awaited before each commit is done. */
  beforeCommit: () => Promise<void> = async () => undefined;
  readonly #options: WorldOptions;

  constructor(options: WorldOptions = {}) {
    this.#options = options;
    this.clock = new VirtualClock(options.start);
    this.record = this.#newRecord();
    const reference = options.reference ?? 'call';
    const created = createActiveflow({
      template: this.#template(),
      reference_type: reference,
      reference_id: reference === 'call' ? this.record.id : EMPTY_ID,
      now: this.clock.now(),
      ...(options.variables ? { variables: options.variables } : {}),
      ...(options.parentVariables ? { parentVariables: options.parentVariables } : {}),
    });
    if (reference === 'call')
      for (const [name, value] of Object.entries(callVariables(this.record))) created.variables.set(name, value);
    this.runner = new FlowRunner({
      ...created,
      ports: this.#ports(),
      log: { info: () => undefined, warn: (fields, message) => this.warnings.push({ ...fields, message }) },
      ...(reference === 'call' ? { call: this.#call() } : {}),
      ...(options.registry ? { actions: options.registry } : {}),
    });
  }

  /** Runs the flow to its end, letting virtual time pass whenever nothing else happens. */
  async run(): Promise<this> {
    const done = this.runner.run().then(() => true);
    while (!(await Promise.race([done, settled().then(() => false)]))) if (!this.clock.advance()) await settled();
    return this;
  }

  /** Starts the flow and lets it go as far as it goes without time passing. */
  async begin(): Promise<this> {
    void this.runner.run();
    for (let turn = 0; turn < 20; turn += 1) await settled();
    return this;
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < 20; turn += 1) await settled();
  }

  /** Types of the actions that were executed, in order, the current one last; markers as `start` and `finish`. */
  get path(): string[] {
    const { executed_actions, current_action } = this.runner.activeflow;
    return [...executed_actions, current_action].map(
      ({ type, id }) => type || (id.endsWith('1') ? 'start' : id.endsWith('2') ? 'finish' : 'empty'),
    );
  }

  #template(): FlowTemplate {
    const { actions = [], template } = this.#options;
    return {
      id: newId(),
      customer_id: CUSTOMER,
      actions: validateActions(actions),
      on_complete_flow_id: EMPTY_ID,
      ...template,
    };
  }

  #newRecord(): Call {
    return newCall({
      id: newId(),
      customer_id: CUSTOMER,
      direction: this.#options.direction ?? 'incoming',
      status: 'ringing',
      tm_create: null,
      source: tel('+15550001'),
      destination: tel('+899123456789'),
      action: { id: EMPTY_ID, next_id: EMPTY_ID, type: '', option: {}, tm_execute: null },
    });
  }

  #ports(): FlowPorts {
    const http = [...(this.#options.http ?? [200])];
    return {
      clock: this.clock,
      flow: async (customerId, flowId) => {
        const actions = this.#options.flows?.[flowId];
        if (!actions || customerId !== CUSTOMER) return undefined;
        return {
          id: flowId,
          customer_id: customerId,
          actions: validateActions(actions),
          on_complete_flow_id: EMPTY_ID,
        };
      },
      createCalls: async request => {
        this.created.push(request);
        return { calls: [], groupcalls: [] };
      },
      sendHttp: async request => {
        this.requests.push(request);
        const answer = http.length > 1 ? http.shift() : http[0];
        if (answer instanceof Error) throw answer;
        return typeof answer === 'string' ? { status: 200, body: answer } : { status: answer ?? 200, body: '' };
      },
      commit: async (activeflow, _event, variables) => {
        await this.beforeCommit();
        if (this.failCommits) throw new Error('the store is away');
        this.commits.push({ activeflow, variables });
      },
      runOnComplete: async (ended, variables) => void this.completed.push({ ended, variables }),
    };
  }

  #call(): CallPort {
    const act = async (name: keyof CallPort, what: string, ms: number, signal?: AbortSignal): Promise<void> => {
      if (this.#options.broken?.includes(name)) throw new Error('the leg is gone');
      this.heard.push(what);
      if (ms > 0) await pause(this.clock, ms, signal ?? new AbortController().signal);
    };
    return {
      record: () => this.record,
      answer: async () => {
        await act('answer', 'answer', 0);
        this.record.status = 'progressing';
      },
      talk: ({ text, provider }, signal) => act('talk', `talk ${provider} ${text}`, 2000, signal),
      play: (urls, signal) => act('play', `play ${urls.join(' ')}`, 3000, signal),
      beep: signal => act('beep', 'beep', 200, signal),
      echo: signal => act('echo', 'echo', 10_000_000, signal),
      sendDigits: (digits, duration, interval) => act('sendDigits', `digits ${digits} ${duration} ${interval}`, 0),
      mute: () => act('mute', 'mute', 0),
      startRecording: async options => {
        await act('startRecording', `record ${options.duration} ${options.end_of_silence} ${options.end_of_key}`, 0);
        const { id: reference_id, customer_id, activeflow_id } = this.record;
        const given = { customer_id, activeflow_id, reference_type: 'call', reference_id } as const;
        const tm_create = fromDate(this.clock.now());
        return newRecording({ ...given, id: id('rec'), on_end_flow_id: options.on_end_flow_id, tm_create });
      },
      stopRecording: () => act('stopRecording', 'record no more', 0),
      connect: async (request, signal) => {
        this.connected.push(request);
        await act('connect', 'connect', 5000, signal);
        return request.relay_reason;
      },
      joinConference: async conferenceId => {
        await act('joinConference', `conference ${conferenceId}`, 0);
        return this.conference;
      },
      joinConfbridge: (confbridgeId, signal) => act('joinConfbridge', `confbridge ${confbridgeId}`, 5000, signal),
      detectMachine: async signal => {
        await act('detectMachine', 'amd', 2000, signal);
        return this.verdict;
      },
      startExternalMedia: async request => {
        this.external.push(request);
        await act('startExternalMedia', 'external media', 0);
      },
      stopExternalMedia: () => void this.heard.push('no external media'),
      hangup: async (reason, reference) => {
        if (this.record.status !== 'hangup') await act('hangup', `hangup ${reason} ${reference}`.trim(), 0);
        this.record.status = 'hangup';
      },
    };
  }
}

/** A UUID for a short name (its last six letters count). */
export const id = (name: string | number): string =>
  `aaaaaaaa-0000-4000-8000-${Buffer.from(String(name)).toString('hex').slice(-12).padStart(12, '0')}`;

/** An action as a flow's author writes it; targets are short names too. */
export const action = (name: string, type: string, option: Record<string, unknown> = {}, nextId = ''): ActionInput => ({
  id: id(name),
  type,
  option,
  ...(nextId ? { next_id: id(nextId) } : {}),
});
