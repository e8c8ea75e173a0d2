import type { Call } from '#contract/call';
import type { ExternalMediaRequest } from '#contract/external-media';
import { causeOfReason, type ReleaseCause } from '#contract/hangup';
import { isSet } from '#contract/ids';
import type { Recording, RecordingOptions } from '#contract/recording';
import type { AmdVerdict, CallPort, ConferenceEntry, ConnectRequest, Speech } from '#flow/action';
import { detectMachine } from '../audio/detect-machine.ts';
import { startExternalMedia } from '../audio/external-media.ts';
import { joinConfbridge, joinConference } from '../conference/join.ts';
import type { MediaEndpoint } from '../media/endpoint.ts';
import { Connect } from './connect.ts';
import type { CallSession } from './session.ts';

const BEEP = 'tone_stream://%(250,0,1000)';
const DIGIT_GAP_MS = 100;

/** What a flow can do with a call: the flow's `CallPort` on a real leg. */
export class CallMedia implements CallPort {
  readonly #session: CallSession;

  constructor(session: CallSession) {
    this.#session = session;
  }

  record(): Readonly<Call> {
    return this.#session.call;
  }

  answer(): Promise<void> {
    return this.#session.answer();
  }

  async talk(speech: Speech, signal: AbortSignal): Promise<void> {
    await this.answer();
    const file = await this.#session.services.speech.synthesize(speech, signal);
    await this.#sound(signal, endpoint => endpoint.play([file], signal));
  }

  async play(urls: string[], signal: AbortSignal): Promise<void> {
    const files = await this.#session.services.audio.open(urls, signal);
    await this.#sound(signal, endpoint => endpoint.play(files, signal));
  }

  beep(signal: AbortSignal): Promise<void> {
    return this.#sound(signal, endpoint => endpoint.play([BEEP], signal));
  }

  echo(signal: AbortSignal): Promise<void> {
    return this.#sound(signal, endpoint => endpoint.echo(signal));
  }

  /** One tone after the other; the media server's own gap is fixed, so the gaps asked for are ours. */
  async sendDigits(digits: string, duration: number, interval: number): Promise<void> {
    if (interval <= DIGIT_GAP_MS) return this.#endpoint().sendDigits(digits, duration);
    for (const digit of digits) {
      await this.#endpoint().sendDigits(digit, duration);
      await new Promise(resolve => setTimeout(resolve, duration + interval));
    }
  }

  mute(): Promise<void> {
    return this.#session.controls.mute('both', true);
  }

  startRecording(options: RecordingOptions): Promise<Recording> {
    return this.#session.recordings.start(options);
  }

  async stopRecording(): Promise<void> {
    await this.#session.recordings.stop();
  }

  connect(request: ConnectRequest, signal: AbortSignal): Promise<boolean> {
    return new Connect(this.#session, request, signal).run();
  }

  joinConference(conferenceId: string): Promise<ConferenceEntry> {
    return joinConference(this.#session, conferenceId);
  }

  joinConfbridge(confbridgeId: string, signal: AbortSignal): Promise<void> {
    return joinConfbridge(this.#session, confbridgeId, signal);
  }

  detectMachine(signal: AbortSignal): Promise<AmdVerdict> {
    return detectMachine(this.#session.services.road, this.#endpoint(), signal);
  }

  startExternalMedia(request: ExternalMediaRequest, signal: AbortSignal): Promise<void> {
    return startExternalMedia(this.#session, request, signal);
  }

  stopExternalMedia(): void {
    this.#session.audio.endExternal();
  }

  async hangup(reason: string, referenceId: string): Promise<void> {
    const cause = isSet(referenceId) ? await this.#causeOf(referenceId) : causeOfReason(reason);
    await this.#session.hangup(cause);
  }

  /** The cause another call ended with; normal clearing while it has not (6.4 hangup). */
  async #causeOf(callId: string): Promise<ReleaseCause> {
    const record = await this.#session.services.store.read('call', callId);
    return record?.data.status === 'hangup' ? causeOfReason(record.data.hangup_reason) : 'normal_clearing';
  }

  /** A leg that goes away under a sound ends the flow in a moment; until then the flow must not go on. */
  async #sound(signal: AbortSignal, sound: (endpoint: MediaEndpoint) => Promise<void>): Promise<void> {
    const endpoint = this.#endpoint();
    await sound(endpoint);
    if (!endpoint.alive && !signal.aborted)
      await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }));
  }

  #endpoint(): MediaEndpoint {
    const { endpoint } = this.#session;
    if (!endpoint?.alive) throw new Error('the call has no media');
    return endpoint;
  }
}
