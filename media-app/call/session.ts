import { EventEmitter } from 'node:events';
import type { Action } from '#contract/action';
import { type Call, newCall } from '#contract/call';
import type { LiveEventType, LiveRecord } from '#contract/events';
import type { FlowTemplate } from '#contract/flow';
import { type ReleaseCause, type Verdict, verdict } from '#contract/hangup';
import { EMPTY_ID, isSet } from '#contract/ids';
import { callMachine, type CallStatus } from '#contract/machines/call';
import { timestamp } from '#contract/time';
import type { CallTrace } from '#contract/timeline';
import { callVariables } from '#flow/call-variables';
import { ActiveflowSession } from '../activeflow/session.ts';
import { Streams } from '../audio/streams.ts';
import { deferred } from '../deferred.ts';
import type { Log } from '#process/log';
import type { MediaEndpoint } from '../media/endpoint.ts';
import { CallRecordings } from '../recording/of-call.ts';
import type { Services } from '../services.ts';
import { isAnswerable, type Leg } from '../sip/leg.ts';
import type { Bridge } from './bridge.ts';
import { takeReferral } from '../transfer/refer.ts';
import { CallMedia } from './call-port.ts';
import { CallControls } from './controls.ts';
import { HealthCheck } from './health-check.ts';
import { Mailbox } from './mailbox.ts';
import { type Change, LostRecordError } from './state-store.ts';
import { callSummary } from './summary.ts';

type Notes = NonNullable<Change<'call'>['notes']>;
type CallEvent = 'ring' | 'answer' | 'cancel' | 'terminate' | 'end';

/** The event clients see when a status is entered (accounts-and-plumbing 28.1). */
const STATUS_EVENT: Record<CallStatus, LiveEventType<'call'>> = {
  dialing: 'call_dialing',
  ringing: 'call_ringing',
  progressing: 'call_progressing',
  canceling: 'call_canceling',
  terminating: 'call_terminating',
  hangup: 'call_hangup',
};

/** The moment that is noted when a status is entered. */
const STATUS_TIME: Partial<Record<CallStatus, 'tm_ringing' | 'tm_progressing' | 'tm_hangup'>> = {
  ringing: 'tm_ringing',
  progressing: 'tm_progressing',
  hangup: 'tm_hangup',
};

/** How long a change of action waits for the next one before it is told. */
const SHOW_ACTION_MS = 50;

export interface NewCall {
  call: Parameters<typeof newCall>[0];
  leg: Leg;
  /** The flow the call runs; none for the far leg of a connect. */
  flow?: FlowTemplate | undefined;
  variables?: Record<string, string> | undefined;
  /** Asked in the moment an outgoing call is answered: false makes it hang up before its flow runs. */
  mayAnswer?: (call: CallSession) => boolean;
  /** Run the flow from ringing on instead of from the answer. */
  early_execution?: boolean;
  request_id?: string | undefined;
  /** The caller wants to be withheld (RFC 3323). */
  privacy?: boolean;
  /** How often it has come round inside the house (accounts-and-plumbing 25.3). */
  hops?: number;
}

interface CallEvents {
  /** The ringing side is heard before the answer. */
  early: [];
  /** It is answered. */
  progressing: [];
  /** It is over and its record final. */
  ended: [cause: ReleaseCause];
}

/**
 * One call: its record, its leg, its flow. Everything that happens to it goes through its mailbox, every change of
 * status through `callMachine`, every change at all through the state store.
 *
 */
export class CallSession extends EventEmitter<CallEvents> {
  readonly leg: Leg;
  readonly log: Log;
  readonly services: Services;
  readonly mailbox: Mailbox;
  readonly media: CallMedia;
  readonly controls: CallControls;
  readonly recordings: CallRecordings;
  readonly flow: ActiveflowSession | undefined;
  /** What streams the call's audio out and other audio in. */
  readonly audio = new Streams('call');
  /** The caller wants to be withheld from whomever this call leads to. */
  readonly privacy: boolean;
  readonly hops: number;
  readonly #record: LiveRecord<'call'>;
  readonly #requestId: string;
  readonly #early: boolean;
  /** The action the cursor stands at, until it is told. */
  #action: Action | undefined;
  readonly #mayAnswer: (call: CallSession) => boolean;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #health: HealthCheck;
  /** What an unanswered caller is told when the call is hung up: what its callee said, or why there is none (`Connect`). */
  refusal: ReleaseCause | undefined;
  /** The call that hears this one and is heard by it. */
  peer: CallSession | undefined;
  /** Whoever waits for its answer takes another call instead: one that another phone picks it up with (RFC 3891 section 3). */
  mayBePickedUp = false;
  /** That other call, if there is one. */
  readonly pickedUp = deferred<CallSession>();
  /** True once the ringing side can be heard before its answer. */
  early = false;
  /** The bridge it is in. */
  bridge: Bridge | undefined;
  /** Why it was released; set just before its record says that it is over. */
  released: ReleaseCause | undefined;

  constructor(services: Services, given: NewCall) {
    super();
    const call = newCall({ ...given.call, ...(given.flow ? { flow_id: given.flow.id } : {}) });
    this.services = services;
    this.leg = given.leg;
    this.privacy = given.privacy ?? false;
    this.hops = given.hops ?? 0;
    this.log = services.log.child({ call_id: call.id });
    this.mailbox = new Mailbox(this.log);
    this.media = new CallMedia(this);
    this.controls = new CallControls(this);
    this.#mayAnswer = given.mayAnswer ?? (() => true);
    this.recordings = new CallRecordings(this);
    this.#requestId = given.request_id ?? '';
    this.#early = given.early_execution ?? call.direction === 'incoming';
    this.flow = given.flow && this.#newFlow(call, given.flow, given.variables);
    call.activeflow_id = this.flow?.activeflow.id ?? call.activeflow_id;
    this.#record = services.store.create('call', call);
    this.#health = new HealthCheck(this, services.settings.HEALTH_CHECK_MS);
    services.registry.calls.set(call.id, this);
    this.leg.capture.reportTo(seen => this.#trace(seen));
    this.#listen();
  }

  get call(): Call {
    return this.#record.data;
  }

  get id(): string {
    return this.call.id;
  }

  get endpoint(): MediaEndpoint | undefined {
    return this.leg.endpoint;
  }

  /** The media of the call this one is bridged with, while it is. */
  get peerEndpoint(): MediaEndpoint | undefined {
    return this.peer?.endpoint;
  }

  /** Writes the new call and its activeflow; call it first. */
  async create(): Promise<void> {
    await this.mailbox.post(async () => {
      await Promise.all([this.#commit(this.call, ['call_created']), this.flow?.create()]);
    });
    this.#arm(this.services.settings.MAX_CALL_MS, () => this.leg.release('max_duration'));
    if (this.call.direction === 'outgoing')
      this.#arm(this.services.settings.DIAL_TIMEOUT_MS, () => this.#dialTimeout());
    else this.#startFlow();
  }

  /** Answers an incoming call; on any other it does nothing. Rejects when the caller is gone. */
  answer(): Promise<void> {
    return this.mailbox.post(async () => {
      if (!isAnswerable(this.leg) || !callMachine.step(this.call.status, 'answer')) return;
      await this.leg.answer();
      await this.#enter('answer');
      this.#progressing();
    });
  }

  /** Lets an unanswered caller hear media already. On any other call it does nothing. Rejects when the caller is gone. */
  progress(): Promise<void> {
    return this.mailbox.post(async () => {
      if (isAnswerable(this.leg) && callMachine.step(this.call.status, 'answer')) await this.leg.progress();
    });
  }

  /** Ends the call from our side (voice-and-flows 8.2); nothing happens when it is ending already. */
  async hangup(cause: ReleaseCause): Promise<Call> {
    await this.mailbox.post(async () => {
      const unanswered = this.call.status === 'dialing' || this.call.status === 'ringing';
      const moved = await this.#enter(unanswered && this.call.direction === 'outgoing' ? 'cancel' : 'terminate');
      const told = unanswered && cause === 'normal_clearing' ? (this.refusal ?? cause) : cause;
      if (moved) void this.leg.release(told);
    });
    return this.call;
  }

  /** Notes a change that is no change of status, and tells it. */
  async update(changes: Partial<Call>): Promise<void> {
    await this.mailbox.post(async () => {
      if (!callMachine.isFinal(this.call.status)) await this.#commit({ ...this.call, ...changes }, ['call_updated']);
    });
  }

  /** Notes a change that is told to nobody; only within a letter of the mailbox. */
  async note(changes: Partial<Call>): Promise<void> {
    if (!callMachine.isFinal(this.call.status)) await this.#commit({ ...this.call, ...changes }, []);
  }

  /** Puts an entry into its timeline that is told to nobody. */
  remark(note: Notes[number]): Promise<void> {
    return this.mailbox.post(async () => {
      if (!callMachine.isFinal(this.call.status)) await this.#commit(this.call, [], undefined, [note]);
    });
  }

  /** Lets go of a call that another node ended for us, or whose SIP server is gone. */
  abandon(): void {
    this.leg.abandon();
  }

  #newFlow(call: Call, template: FlowTemplate, variables: Record<string, string> | undefined): ActiveflowSession {
    return new ActiveflowSession(this.services, {
      template,
      reference_type: 'call',
      reference_id: call.id,
      request_id: this.#requestId,
      call: this.media,
      callVariables: callVariables(call),
      onAction: action => this.#showAction(action),
      ...(variables ? { variables } : {}),
    });
  }

  /** Actions may follow each other within milliseconds: the call shows where they have come to, not every one passed. */
  #showAction(action: Action): void {
    const waiting = this.#action !== undefined;
    this.#action = action;
    if (!waiting) this.#arm(SHOW_ACTION_MS, async () => this.mailbox.drop('action', () => this.#tellAction()));
  }

  async #tellAction(): Promise<void> {
    const action = this.#action;
    this.#action = undefined;
    if (action && !callMachine.isFinal(this.call.status))
      await this.#commit({ ...this.call, action }, ['call_updated']);
  }

  #listen(): void {
    const { leg, mailbox } = this;
    leg.on('ringing', () => mailbox.drop('ringing', () => this.#ringing()));
    leg.on('early', () => mailbox.drop('early', async () => this.#hearsEarly()));
    leg.on('rerouted', () => mailbox.drop('rerouted', () => this.#rerouted()));
    leg.on('answered', () => mailbox.drop('answered', () => this.#answered()));
    leg.on('digit', digit => this.flow?.runner.digit(digit));
    leg.on('refer', (request, response) => void takeReferral(this, request, response));
    leg.on('released', cause => mailbox.drop('released', () => this.#end(cause)));
  }

  async #ringing(): Promise<void> {
    if ((await this.#enter('ring')) && this.#early) this.#startFlow();
  }

  #hearsEarly(): void {
    if (!callMachine.step(this.call.status, 'answer')) return;
    this.early = true;
    this.emit('early');
  }

  async #answered(): Promise<void> {
    const tooLate = callMachine.step(this.call.status, 'answer') && !this.#mayAnswer(this);
    if (tooLate) void this.hangup('answered_elsewhere');
    else if (await this.#enter('answer')) this.#progressing();
  }

  #progressing(): void {
    this.#health.start();
    if (!this.#early) this.#startFlow();
    this.emit('progressing');
  }

  #startFlow(): void {
    void this.flow?.run();
  }

  /** The same call by another route (voice-and-flows 9.4). */
  async #rerouted(): Promise<void> {
    if (!callMachine.isFinal(this.call.status))
      await this.#commit({ ...this.call, tm_update: timestamp() }, ['call_updated']);
  }

  async #dialTimeout(): Promise<void> {
    const { status } = this.call;
    if (status === 'dialing' || status === 'ringing') await this.leg.release('dial_timeout');
  }

  /** Takes a step of the machine, or none where the table has none: late events are dropped. */
  async #enter(event: CallEvent, extra: Partial<Call> = {}, notes: Notes = []): Promise<boolean> {
    const step = callMachine.step(this.call.status, event);
    if (!step) {
      this.log.debug({ status: this.call.status, event }, 'came too late');
      return false;
    }
    const time = STATUS_TIME[step.to];
    const action = this.#action ?? this.call.action;
    this.#action = undefined; // told with this change
    const call = { ...this.call, action, ...extra, status: step.to, ...(time ? { [time]: timestamp() } : {}) };
    this.log.info({ status: step.to, ...extra }, `call ${step.to}`);
    await this.#commit(call, [STATUS_EVENT[step.to]], step, notes);
    return true;
  }

  async #end(cause: ReleaseCause): Promise<void> {
    this.released = cause;
    this.#timers.forEach(clearTimeout);
    this.#health.stop();
    this.audio.end();
    const ended: Verdict = verdict(this.call.direction, this.call.status, cause);
    await this.#enter('end', { ...ended, recording_id: EMPTY_ID }, [this.#summary(cause, ended)]);
    const flowOver = this.flow?.runner.stop();
    this.emit('ended', cause);
    this.#hangupChained();
    void Promise.resolve(flowOver).then(() => this.services.registry.calls.delete(this.id));
  }

  #summary(cause: ReleaseCause, ended: Verdict) {
    const { call, leg } = this;
    return callSummary({ call, before: call.status, cause, verdict: ended, sip_status: leg.sipStatus });
  }

  /** What was seen on the wire follows the call's own changes; nothing waits for it. */
  async #trace(seen: Pick<CallTrace, 'sip_messages' | 'media'>): Promise<void> {
    const { id: call_id, customer_id } = this.call;
    await this.services.store
      .trace({ kind: 'call_trace', call_id, customer_id, ...seen })
      .catch((error: unknown) => this.log.warn({ error: String(error) }, 'what was seen on the wire is lost'));
  }

  #hangupChained(): void {
    for (const id of this.call.chained_call_ids) void this.services.registry.calls.get(id)?.hangup('normal_clearing');
  }

  async #commit(
    call: Call,
    events: LiveEventType<'call'>[],
    step?: ReturnType<typeof callMachine.step>,
    notes: Notes = [],
  ): Promise<void> {
    try {
      await this.services.store.commit(this.#record, call, {
        events,
        notes,
        request_id: this.#requestId,
        step,
      });
    } catch (error) {
      if (!(error instanceof LostRecordError)) throw error;
      this.log.error({ error: error.message }, 'another node ended this call; letting go of it');
      if (isSet(call.id)) void this.leg.release('failure');
    }
  }

  /** A call that ended while it was being written needs no timer any more. */
  #arm(ms: number, ring: () => Promise<unknown>): void {
    if (callMachine.isFinal(this.call.status)) return;
    this.#timers.push(setTimeout(() => void ring(), ms));
  }
}
