import type { z } from 'zod';
import type { Action, ActionType } from '#contract/action';
import type { Activeflow } from '#contract/activeflow';
import type { Address, Anonymous } from '#contract/address';
import type { Call } from '#contract/call';
import type { ExternalMediaRequest } from '#contract/external-media';
import type { FlowTemplate } from '#contract/flow';
import type { Groupcall } from '#contract/groupcall';
import type { Recording, RecordingOptions } from '#contract/recording';
import type { Variables } from './variables.ts';

/** What an action did with the cursor. */
export type Outcome =
  /** On to the successor. */
  | { kind: 'next' }
  /** To an action by id, in the current stack or an outer one; not found is an error of the action (4.7). */
  | { kind: 'jump'; target_id: string }
  /** Run these actions, then come back behind this one (4.5). `stack_id` names a service's own stack. */
  | { kind: 'fork'; actions: Action[]; stack_id?: string }
  /** Wait for an outside `continue` that names this action (4.9). */
  | { kind: 'block' }
  /** The flow is over. */
  | { kind: 'finish' };

export const next: Outcome = { kind: 'next' };

/** Which reference an action needs to run; where it does not fit it is skipped silently (voice-and-flows 4.8). */
export type Needs = 'any' | 'call';

/**
 * One action type: a record. `option` parses what the flow's author wrote (after substitution); a failure to parse is
 * an error of the action. `onError` is the row of voice-and-flows 4.7.
 */
export interface ActionDefinition<O = unknown> {
  type: ActionType;
  summary: string;
  needs: Needs;
  onError: 'stop' | 'next';
  /** False where this version has no engine for it: it fails when it is reached. */
  available?: false;
  option: z.ZodType<O>;
  run(context: ActionContext, option: O): Promise<Outcome>;
}

/** Declares an action type; the option's type follows from its schema. */
export const defineAction = <O>(definition: ActionDefinition<O>): ActionDefinition<O> => definition;

/** What a running action sees. `signal` aborts when the flow stops, the call ends or the cursor is moved from outside. */
export interface ActionContext {
  activeflow: Readonly<Activeflow>;
  action: Readonly<Action>;
  variables: Variables;
  ports: FlowPorts;
  /** Present when the activeflow's reference is a call. */
  call: CallPort | undefined;
  signal: AbortSignal;
  /** Digits pressed while this action runs, one at a time. Returns the function that stops listening. */
  onDigit: (listener: (digit: string) => void) => () => void;
  /** The counter of goto, kept with the activeflow's own copy of the action (6.5). */
  loops: Map<string, number>;
  log: FlowLog;
}

export interface FlowLog {
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
}

/** Everything the runner needs from the world. */
export interface FlowPorts {
  clock: Clock;
  /** A live flow of the customer, or undefined when it is missing or belongs to another. */
  flow(customerId: string, flowId: string): Promise<FlowTemplate | undefined>;
  /** Starts independent outgoing calls; rejects when every destination failed (6.4 call). */
  createCalls(request: CreateCalls): Promise<{ calls: Call[]; groupcalls: Groupcall[] }>;
  /** One HTTP attempt of webhook_send or fetch: guarded against private addresses, signed. */
  sendHttp(request: HttpRequest): Promise<HttpAnswer>;
  /** Writes the activeflow's state and tells the event; resolves when both are durable. */
  commit(
    activeflow: Activeflow,
    event: 'activeflow_created' | 'activeflow_updated',
    variables: Record<string, string>,
  ): Promise<void>;
  /** Creates and runs the on-complete flow after this one ended (4.11). Resolves when it was created. */
  runOnComplete(ended: Activeflow, variables: Record<string, string>): Promise<void>;
}

export interface Clock {
  now(): Date;
  /** Resolves after `ms`; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export interface CreateCalls {
  customer_id: string;
  source: Address;
  destinations: Address[];
  /** The flow of the new calls: by id, or inline actions of a temporary flow. */
  flow_id: string;
  actions: Action[];
  anonymous: Anonymous;
  /** Set when the new calls are chained to the current one. */
  master_call_id: string;
  early_execution: boolean;
}

export interface HttpRequest {
  customer_id: string;
  method: 'POST' | 'GET' | 'PUT' | 'DELETE';
  uri: string;
  /** Content-Type when non-empty. */
  data_type: string;
  data: string;
  timeout_ms: number;
  /** Keeps the answer's body and rejects when it has more bytes than this; absent: the body is not kept. */
  keep_bytes?: number;
  signal: AbortSignal;
}

export interface HttpAnswer {
  status: number;
  /** Empty unless the request asked to keep it. */
  body: string;
}

/** How speech is asked for (6.3 talk). */
export interface Speech {
  text: string;
  language: string;
  provider: string;
  voice_id: string;
}

/**
 * The call a flow drives. Methods that make or wait for media reject when the leg is gone, and end early, without an
 * error, when the signal aborts.
 */
export interface CallPort {
  record(): Readonly<Call>;
  /** Answers an incoming call; harmless when already answered. */
  answer(): Promise<void>;
  /** Speaks and waits for the end. */
  talk(speech: Speech, signal: AbortSignal): Promise<void>;
  /** Plays files or URLs as one playback and waits for the end. */
  play(urls: string[], signal: AbortSignal): Promise<void>;
  beep(signal: AbortSignal): Promise<void>;
  /** Sends the party's own audio back until the signal aborts. */
  echo(signal: AbortSignal): Promise<void>;
  /** Sends telephone events; times in milliseconds. */
  sendDigits(digits: string, duration: number, interval: number): Promise<void>;
  /** Neither does the party hear the other side from now on, nor the other side the party. */
  mute(): Promise<void>;
  /** Starts to record the call; resolves when it is recorded. Rejects when it cannot be, or is already. */
  startRecording(options: RecordingOptions): Promise<Recording>;
  /** Stops the recording. Rejects when none is active. */
  stopRecording(): Promise<void>;
  /**
   * Dials, bridges the first who answers and waits until the bridge is over (6.4 connect). Resolves with true when the
   * call was then released as the far end was (`relay_reason`).
   */
  connect(request: ConnectRequest, signal: AbortSignal): Promise<boolean>;
  /** Makes the call a participant of a conference that is on its way in. Rejects when it may not come (6.4). */
  joinConference(conferenceId: string): Promise<ConferenceEntry>;
  /** Enters a bridge and waits until the call has left it. Rejects when there is none or it does not let the call in. */
  joinConfbridge(confbridgeId: string, signal: AbortSignal): Promise<void>;
  /** Listens until it is clear who answered; `notsure` when it never is. Rejects when the call has no media. */
  detectMachine(signal: AbortSignal): Promise<AmdVerdict>;
  /** Connects the call with a server outside. Rejects when that fails; five streams run at a time (section 15). */
  startExternalMedia(request: ExternalMediaRequest, signal: AbortSignal): Promise<void>;
  /** Ends all external media of the call. */
  stopExternalMedia(): void;
  /** Releases the call; with `reference_id` by the cause that call ended with (6.4 hangup). */
  hangup(reason: string, referenceId: string): Promise<void>;
}

/** Who answered a call (section 16). `confidence` from 0 to 1. */
export interface AmdVerdict {
  result: 'human' | 'machine' | 'notsure';
  confidence: number;
}

/** How a participant gets into its conference. */
export interface ConferenceEntry {
  conferencecall_id: string;
  confbridge_id: string;
  /** Run before entering; the empty UUID when there is none. */
  pre_flow_id: string;
}

export interface ConnectRequest {
  source: Address | undefined;
  destinations: Address[];
  early_media: boolean;
  relay_reason: boolean;
  anonymous: Anonymous;
}
