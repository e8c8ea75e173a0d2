import { START_ACTION } from '#contract/action';
import { normalizeAddress, type Address } from '#contract/address';
import { newCall, type Call } from '#contract/call';
import { causeOfReason, verdict, type ReleaseCause } from '#contract/hangup';
import { EMPTY_ID, isSet, newId } from '#contract/ids';
import { callMachine } from '#contract/machines/call';
import { newRecording, type Recording, type RecordingOptions } from '#contract/recording';
import { fromDate } from '#contract/time';
import type { AmdVerdict, CallPort, ConferenceEntry, ConnectRequest, Speech } from '../action.ts';
import { pause } from '../pause.ts';
import type { VirtualClock } from './clock.ts';
import type { Recorder } from './recorder.ts';
import { defaultAnswer, type Script, type ScriptedAnswer } from './script.ts';

interface Leg extends ScriptedAnswer {
  target: string;
  /** It is reached by a groupcall (voice-and-flows 9.2), whose end is nobody's cause. */
  groups: boolean;
}

/** Shorter speech than this is not heard as speech; silence before and after it counts. Milliseconds. */
const SHORTEST_SPEECH_MS = 300;

/** How long it takes to tell a person from a machine, in milliseconds. */
const AMD_MS = 2000;
/** How long it listens to a party that it cannot hear, in milliseconds. */
const AMD_PATIENCE_MS = 6000;

const TAGS = /<[^<>]*>/g;

/** What the script says a destination does: by its target as written or as normalised, or the answer of any other. */
const legTo = (script: Script, address: Address): Leg => {
  const target = address.target;
  const names = [target, normalizeAddress(address).target, address.target_name, '*'];
  const found = names.find(name => name !== '' && Object.hasOwn(script.answer, name));
  const groups = address.type === 'agent' || address.type === 'extension';
  return { target, groups, ...((found && script.answer[found]) || defaultAnswer) };
};

/**
 * The destinations of an action that can be dialled.
 *
 * @throws Error when the platform could dial none of them (voice-and-flows 6.4)
 */
export const dialled = (script: Script, destinations: Address[]): Leg[] => {
  const legs = destinations.map(address => legTo(script, address)).filter(leg => leg.result !== 'refused');
  if (legs.length === 0) throw new Error('nobody could be dialled');
  return legs;
};

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** A call that exists only in virtual time: the flow's `CallPort` against a script. */
export class SimulatedCall implements CallPort {
  readonly #script: Script;
  readonly #clock: VirtualClock;
  readonly #recorder: Recorder;
  readonly #call: Call;
  /** Of the conferences it was let into. */
  readonly #bridges = new Set<string>();
  /** Called once, when the call has ended for whatever reason. */
  onEnd: () => void = () => undefined;

  constructor(customerId: string, flowId: string, script: Script, clock: VirtualClock, recorder: Recorder) {
    [this.#script, this.#clock, this.#recorder] = [script, clock, recorder];
    const { direction, source, destination } = script.call;
    const status = direction === 'incoming' ? 'ringing' : 'dialing';
    const tm_create = fromDate(clock.now());
    const parties = { source: normalizeAddress(source), destination: normalizeAddress(destination) };
    const given = { id: newId(), customer_id: customerId, flow_id: flowId, direction, status, tm_create } as const;
    this.#call = newCall({ ...given, ...parties, action: { ...START_ACTION } });
  }

  record(): Readonly<Call> {
    return this.#call;
  }

  get #gone(): boolean {
    return callMachine.isFinal(this.#call.status);
  }

  /** What a real call tells when the flow enters an action. */
  showAction(action: Call['action']): void {
    if (this.#gone) return;
    this.#call.action = action;
    this.#recorder.event('call_updated', 'call');
  }

  /** An outgoing call rings and is answered before its flow runs. */
  connected(): void {
    if (this.#enter('ring')) this.#enter('answer');
  }

  async answer(): Promise<void> {
    if (this.#gone) throw new Error('the caller is gone');
    this.#enter('answer');
  }

  async talk({ text }: Speech, signal: AbortSignal): Promise<void> {
    await this.answer();
    const spoken = text.replace(TAGS, '').trim().length;
    await this.#media(Math.max(SHORTEST_SPEECH_MS, spoken * this.#script.speech_ms_per_character), signal);
  }

  play(urls: string[], signal: AbortSignal): Promise<void> {
    return this.#media(urls.length * this.#script.play_ms, signal);
  }

  beep(signal: AbortSignal): Promise<void> {
    return this.#media(this.#script.beep_ms, signal);
  }

  async echo(signal: AbortSignal): Promise<void> {
    this.#mustHaveMedia();
    await untilAborted(signal);
  }

  async sendDigits(): Promise<void> {
    this.#mustHaveMedia();
  }

  async mute(): Promise<void> {
    this.#mustHaveMedia();
    this.#call.mute_direction = 'both';
  }

  async startRecording({ on_end_flow_id }: RecordingOptions): Promise<Recording> {
    this.#mustHaveMedia();
    if (isSet(this.#call.recording_id)) throw new Error('a recording of this call is active already');
    const { customer_id, activeflow_id, id: reference_id } = this.#call;
    const given = { customer_id, activeflow_id, reference_type: 'call', reference_id, on_end_flow_id } as const;
    const recording = newRecording({ ...given, id: newId(), tm_create: fromDate(this.#clock.now()) });
    this.#call.recording_id = recording.id;
    this.#call.recording_ids.push(recording.id);
    this.#recorder.event('recording_started', 'call');
    return recording;
  }

  async stopRecording(): Promise<void> {
    if (!isSet(this.#call.recording_id)) throw new Error('no recording of this call is active');
    this.#endRecording();
  }

  /** Dials all at once; the first who answers talks, and the caller waits until that is over or nobody is left. */
  async connect({ destinations, relay_reason }: ConnectRequest, signal: AbortSignal): Promise<boolean> {
    const legs = dialled(this.#script, destinations);
    await this.#talkWith(legs, signal);
    const relays = relay_reason && !legs.some(({ groups }) => groups) && !signal.aborted;
    if (relays) await this.hangup('normal', '');
    return relays;
  }

  async #talkWith(legs: Leg[], signal: AbortSignal): Promise<void> {
    const ringing = new Set(legs.sort((a, b) => a.after_ms - b.after_ms));
    for (const leg of ringing) this.#recorder.event('call_created', leg.target);
    let waited = 0;
    for (const leg of ringing) {
      await pause(this.#clock, leg.after_ms - waited, signal);
      if (signal.aborted) break;
      waited = leg.after_ms;
      ringing.delete(leg);
      if (leg.result === 'answered') return this.#bridge(leg, ringing, signal);
      this.#recorder.event('call_hangup', leg.target);
    }
    this.#release(ringing);
  }

  /** Any conference lets a simulated call in at once. */
  async joinConference(): Promise<ConferenceEntry> {
    await this.answer();
    const confbridge_id = newId();
    this.#bridges.add(confbridge_id);
    return { conferencecall_id: newId(), confbridge_id, pre_flow_id: EMPTY_ID };
  }

  /** Only the bridges of conferences can be entered; nobody else's are known to flows. */
  async joinConfbridge(confbridgeId: string, signal: AbortSignal): Promise<void> {
    if (!this.#bridges.has(confbridgeId)) throw new Error(`there is no confbridge ${confbridgeId}`);
    await this.#media(this.#script.conference_ms, signal);
  }

  async detectMachine(signal: AbortSignal): Promise<AmdVerdict> {
    const muted = this.#call.mute_direction !== '';
    await this.#media(muted ? AMD_PATIENCE_MS : AMD_MS, signal);
    return muted ? { result: 'notsure', confidence: 0 } : { result: this.#script.amd, confidence: 1 };
  }

  /** Any server answers at once. */
  async startExternalMedia(): Promise<void> {
    this.#mustHaveMedia();
  }

  stopExternalMedia(): void {
    // A simulated call has no audio to stop.
  }

  async hangup(reason: string, referenceId: string): Promise<void> {
    if (this.#gone) return;
    const unanswered = this.#call.status === 'dialing' || this.#call.status === 'ringing';
    this.#enter(unanswered && this.#call.direction === 'outgoing' ? 'cancel' : 'terminate');
    this.end(referenceId === '' ? causeOfReason(reason) : 'normal_clearing');
  }

  /** The call is over: the party hung up, or ours did. */
  end(cause: ReleaseCause): void {
    const how = verdict(this.#call.direction, this.#call.status, cause);
    if (!this.#enter('end')) return;
    Object.assign(this.#call, how);
    if (isSet(this.#call.recording_id)) this.#endRecording();
    this.onEnd();
  }

  #endRecording(): void {
    this.#call.recording_id = EMPTY_ID;
    this.#recorder.event('recording_finished', 'call');
  }

  async #bridge(leg: Leg, others: Iterable<Leg>, signal: AbortSignal): Promise<void> {
    this.#recorder.event('call_progressing', leg.target);
    this.#release(others);
    await this.answer();
    await pause(this.#clock, leg.talk_ms, signal);
    this.#release([leg]);
  }

  #release(legs: Iterable<Leg>): void {
    for (const { target } of legs) this.#recorder.event('call_hangup', target);
  }

  async #media(ms: number, signal: AbortSignal): Promise<void> {
    this.#mustHaveMedia();
    await pause(this.#clock, Math.round(ms), signal);
  }

  /** There is no media before the answer and none after the end. */
  #mustHaveMedia(): void {
    if (this.#call.status !== 'progressing') throw new Error('the call has no media: it is not answered');
  }

  #enter(event: Parameters<typeof callMachine.step>[1]): boolean {
    const step = callMachine.step(this.#call.status, event);
    if (!step) return false;
    this.#call.status = step.to;
    this.#recorder.event(`call_${step.to}`, 'call');
    return true;
  }
}
