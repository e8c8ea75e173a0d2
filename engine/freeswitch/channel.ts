import { randomUUID } from 'node:crypto';
import type { EslConnection } from '../esl/connection.ts';
import type { AudioLeg } from '../media/audio-leg.ts';
import { applications } from './applications/index.ts';
import type { Core } from './core.ts';
import type { ExecuteRequest, ExecutionLevel } from './executions.ts';
import { AudioForks } from './audio-fork/audio-forks.ts';
import { ExecutionStack } from './executions.ts';
import type { SessionRecording } from './session-recording.ts';

/** Call states as CHANNEL_CALLSTATE shows them. */
export type CallState = 'DOWN' | 'RINGING' | 'ACTIVE' | 'HELD' | 'UNHELD' | 'HANGUP';

/** Where a key press came from, as DTMF-Source shows it. */
export type DigitSource = 'RTP' | 'INBAND_AUDIO' | 'ENDPOINT' | 'APP';

/** What a channel needs from its SIP dialog. */
export interface ChannelDialog {
  /** Sends the BYE; does nothing when the dialog has ended already. */
  bye(cause: string): void;
}

const maxVariables = 2000;
const maxValue = 64 * 1024;

/** One call leg as the event socket sees it: variables, states, applications and audio. */
export class Channel {
  readonly uuid = randomUUID();
  readonly core: Core;
  readonly leg: AudioLeg;
  readonly variables = new Map<string, string>();
  readonly executions: ExecutionStack;
  readonly recordings = new Map<string, SessionRecording>();
  readonly forks = new AudioForks(this);
  readonly createdAt = Date.now();
  answeredAt = 0;
  hungUpAt = 0;
  name = '';
  callState: CallState = 'DOWN';
  answerState: 'ringing' | 'answered' | 'hangup' = 'ringing';
  hangupCause: string | null = null;
  dialog: ChannelDialog | null = null;
  /** The outbound connection that controls this channel. */
  connection: EslConnection | null = null;
  /** The channel that this one is bridged with. */
  peer: Channel | null = null;
  /** Told once when the channel is gone, with everything closed. */
  onDestroyed: (() => void) | null = null;
  /** What the dialplan runs beneath everything: `socket`, after a bridge `park`. Null while bridged. */
  #base: ExecuteRequest | null = null;

  constructor(core: Core, leg: AudioLeg) {
    this.core = core;
    this.leg = leg;
    this.executions = new ExecutionStack({
      run: level => this.#run(level),
      listenTo: source => this.leg.setSource(source),
      started: request => this.#started(request),
      completed: (request, response) => this.#completed(request, response),
    });
    leg.on('insecure', reason =>
      core.options.log.warn({ uuid: this.uuid, reason }, 'the DTLS handshake failed; nothing is heard or sent'),
    );
    leg.on('digit', ({ digit, duration_samples, inband }) =>
      this.pressed(digit, duration_samples, inband ? 'INBAND_AUDIO' : 'RTP'),
    );
    this.set('uuid', this.uuid);
    this.set('call_uuid', this.uuid);
    core.add(this);
  }

  /** Sets a variable, or unsets it with an empty value, as FreeSWITCH does. Names and values are bounded. */
  set(name: string, value: string): void {
    if (value === '') this.variables.delete(name);
    else if (this.variables.size < maxVariables || this.variables.has(name))
      this.variables.set(name.slice(0, 256), value.slice(0, maxValue));
  }

  /** A variable, or undefined. */
  get(name: string): string | undefined {
    return this.variables.get(name);
  }

  /** Forgets results, so that no application shows those of an earlier one. */
  forget(...names: string[]): void {
    for (const name of names) this.variables.delete(name);
  }

  /** Raises an event of this channel. */
  raise(name: string, extra: Record<string, string> = {}, withVariables = true): void {
    this.core.raiseFor(this, name, extra, withVariables);
  }

  /** Moves to another call state and says so. */
  setCallState(state: CallState): void {
    if (this.callState === state) return;
    const original = this.callState;
    this.callState = state;
    this.raise('CHANNEL_CALLSTATE', { 'Original-Channel-Call-State': original }, false);
  }

  /** The call has its name: it exists for whoever listens, and rings until it is answered. */
  created(): void {
    this.raise('CHANNEL_CREATE');
    this.setCallState('RINGING');
  }

  /** The call has been answered and acknowledged. */
  answered(): void {
    this.answeredAt = Date.now();
    this.answerState = 'answered';
    this.raise('CHANNEL_ANSWER');
    this.setCallState('ACTIVE');
  }

  /** The dialplan runs `socket`, which completes when the channel goes elsewhere or ends. */
  socketOpened(data: string): void {
    this.#beginBase('socket', data);
    this.raise('CHANNEL_PARK');
  }

  /** The dialplan goes on elsewhere: what it ran completes. */
  endBase(): void {
    if (this.#base) this.#completed(this.#base, '_none_');
    this.#base = null;
  }

  #beginBase(application: string, data = ''): void {
    this.#base = { application, data, uuid: randomUUID(), loops: 1, lock: false };
    this.#announce(this.#base);
  }

  /** A key was pressed: reported at once, then offered to the application on top. */
  pressed(digit: string, durationSamples: number, source: DigitSource): void {
    if (this.hangupCause !== null) return;
    if (source === 'ENDPOINT') this.leg.hearTones(false); // it tells its keys by INFO, and would be heard twice
    const extra = { 'DTMF-Digit': digit, 'DTMF-Duration': String(durationSamples), 'DTMF-Source': source };
    this.raise('DTMF', extra, false);
    this.executions.digit(digit);
  }

  /** Runs an application; false when the channel already has too many. */
  execute(
    application: string,
    data: string,
    options: Partial<Omit<ExecuteRequest, 'application' | 'data'>> = {},
  ): boolean {
    const request = { application, data, uuid: randomUUID(), loops: 1, lock: false, ...options };
    return this.executions.submit(request);
  }

  /** Joins two channels: each party hears the other, and what both were running ends. */
  bridge(other: Channel): void {
    this.unbridge();
    other.unbridge();
    for (const one of [this, other]) one.executions.breakEverything();
    for (const one of [other, this]) one.raise('CHANNEL_UNPARK');
    for (const one of [this, other]) one.endBase();
    this.peer = other;
    other.peer = this;
    this.leg.bridge(other.leg);
    this.raise('CHANNEL_BRIDGE', { 'Bridge-A-Unique-ID': this.uuid, 'Bridge-B-Unique-ID': other.uuid });
    for (const one of [this, other]) one.#bridged();
  }

  /** Takes a bridge apart; both channels are parked. Where one hangs up, the other notices nothing of the dialplan. */
  unbridge(): void {
    const other = this.peer;
    if (!other) return;
    this.leg.unbridge();
    this.peer = null;
    other.peer = null;
    const [first, second] = this.hangupCause === null ? [this, other] : [other, this];
    const goesOn = [this, other].every(one => one.hangupCause === null);
    second.#parked(goesOn);
    first.raise('CHANNEL_UNBRIDGE', { 'Bridge-A-Unique-ID': first.uuid, 'Bridge-B-Unique-ID': second.uuid });
    first.#parked(goesOn);
  }

  /** Hangs up: BYE at once, then the completion of everything that runs, then the end of the control connection. */
  async hangup(cause: string): Promise<void> {
    if (this.hangupCause !== null) return;
    this.hangupCause = cause;
    this.hungUpAt = Date.now();
    this.answerState = 'hangup';
    this.set('hangup_cause', cause);
    this.dialog?.bye(cause);
    this.raise('CHANNEL_HANGUP');
    this.unbridge();
    this.forks.close();
    await this.executions.end();
    for (const recording of [...this.recordings.values()]) await recording.stop(); // told in the order they were begun
    this.#gone();
  }

  #gone(): void {
    if (this.#base) this.raise('CHANNEL_UNPARK');
    this.endBase();
    this.setCallState('HANGUP');
    this.raise('CHANNEL_HANGUP_COMPLETE');
    this.raise('CHANNEL_DESTROY');
    this.connection?.sessionEnded();
    this.leg.close();
    this.core.channels.delete(this.uuid);
    this.onDestroyed?.();
  }

  #bridged(): void {
    this.set('bridge_uuid', this.peer?.uuid ?? '');
    this.set('bridge_channel', this.peer?.name ?? '');
    this.raise('CHANNEL_EXECUTE', { Application: 'uuid_bridge', 'Application-Data': this.peer?.uuid ?? '' });
  }

  #parked(goesOn: boolean): void {
    if (this.hangupCause !== null) return;
    if (goesOn) {
      this.setCallState('RINGING');
      this.setCallState('ACTIVE');
      this.#beginBase('park');
    }
    this.raise('CHANNEL_PARK');
  }

  #run(level: ExecutionLevel): string | Promise<string> {
    const application = applications.get(level.request.application);
    if (!application) return `-ERR ${level.request.application} Application not found!`;
    return application.run({ channel: this, level, data: level.request.data });
  }

  #started(request: ExecuteRequest): void {
    this.set('current_application', request.application);
    this.set('current_application_data', request.data);
    this.#announce(request);
  }

  #announce({ application, data, uuid }: ExecuteRequest): void {
    this.raise('CHANNEL_EXECUTE', {
      Application: application,
      ...(data === '' ? {} : { 'Application-Data': data }),
      'Application-UUID': uuid,
    });
  }

  #completed({ application, data, uuid }: ExecuteRequest, response: string): void {
    if (response !== '_none_') this.set('current_application_response', response);
    this.raise('CHANNEL_EXECUTE_COMPLETE', {
      Application: application,
      ...(data === '' ? {} : { 'Application-Data': data }),
      'Application-Response': response,
      'Application-UUID': uuid,
    });
  }
}
