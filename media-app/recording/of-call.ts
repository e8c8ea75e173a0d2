import type { Call } from '#contract/call';
import { PlatformError } from '#contract/errors';
import { EMPTY_ID, isSet } from '#contract/ids';
import type { Recording, RecordingOptions } from '#contract/recording';
import { mustPay } from '../call/balance.ts';
import type { CallSession } from '../call/session.ts';
import type { MediaEndpoint } from '../media/endpoint.ts';
import { RecordingSession, type Subject } from './session.ts';

/** The recordings of one call: one at a time, each noted in the call's record (voice-and-flows 8.9, 14.2). */
export class CallRecordings {
  readonly #call: CallSession;
  #current: RecordingSession | undefined;

  constructor(call: CallSession) {
    this.#call = call;
  }

  /**
   * Starts a recording; resolves when it captures.
   * @throws PlatformError CALL_STATE_INVALID, RECORDING_ALREADY_ACTIVE, INSUFFICIENT_BALANCE, SERVICE_UNAVAILABLE
   */
  async start(options: RecordingOptions, requestId = ''): Promise<Recording> {
    const session = await this.#call.mailbox.post(() => this.#begin(options, requestId));
    await session.start();
    return session.recording;
  }

  /**
   * Ends the recording that is active; resolves with the call, which no longer names it.
   * @throws PlatformError RECORDING_NOT_ACTIVE
   */
  async stop(): Promise<Call> {
    if (!(await this.#current?.stop()))
      throw new PlatformError('RECORDING_NOT_ACTIVE', 'No recording of this call is active.');
    return this.#call.call;
  }

  async #begin(options: RecordingOptions, requestId: string): Promise<RecordingSession> {
    const { call, endpoint, services } = this.#call;
    if (call.status !== 'progressing' || !endpoint?.alive)
      throw new PlatformError('CALL_STATE_INVALID', 'Only a call that is progressing can be recorded.');
    if (isSet(call.recording_id))
      throw new PlatformError('RECORDING_ALREADY_ACTIVE', 'A recording of this call is active already.');
    await mustPay(services, call.customer_id, 'recording', 'a recording');
    const session = new RecordingSession(services, this.#subject(endpoint), options, requestId);
    await session.create();
    const { id } = session.recording;
    await this.#call.note({ recording_id: id, recording_ids: [...call.recording_ids, id] });
    this.#current = session;
    this.#call.once('ended', () => void session.stop());
    return session;
  }

  #subject(endpoint: MediaEndpoint): Subject {
    const { call, leg, flow, mailbox } = this.#call;
    const { customer_id, activeflow_id, id } = call;
    return {
      reference: { customer_id, activeflow_id, reference_type: 'call', reference_id: id },
      record: (file, limit) => endpoint.record(file, limit),
      stopRecording: file => endpoint.stopRecording(file),
      onDigit: listener => {
        leg.on('digit', listener);
        return () => leg.off('digit', listener);
      },
      variables: () => flow?.runner.variables.all() ?? {},
      left: () => mailbox.post(() => this.#call.note({ recording_id: EMPTY_ID })),
    };
  }
}
