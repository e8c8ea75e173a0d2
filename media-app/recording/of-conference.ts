import type { Conference } from '#contract/conference';
import { PlatformError } from '#contract/errors';
import { EMPTY_ID, isSet } from '#contract/ids';
import type { Recording, RecordingOptions } from '#contract/recording';
import { mustPay } from '../call/balance.ts';
import type { Mailbox } from '../call/mailbox.ts';
import type { Confbridge } from '../conference/confbridge.ts';
import { OwnLeg } from '../conference/own-leg.ts';
import type { Services } from '../services.ts';
import { RecordingSession, type Subject } from './session.ts';

/** A conference, as its recordings see it. */
export interface RecordedConference {
  readonly conference: Conference;
  readonly bridge: Confbridge;
  readonly mailbox: Mailbox;
  /** Notes a change that is told to nobody; only within a letter of the mailbox. */
  note(changes: Pick<Partial<Conference>, 'recording_id' | 'recording_ids'>): Promise<void>;
}

/**
 * The recordings of one conference: one at a time, each noted in the conference's record (voice-and-flows 13.2, 14.2). What is
 * recorded is the mix, through a leg of ours that sits in it, so an empty conference is recorded as silence.
 */
export class ConferenceRecordings {
  readonly #services: Services;
  readonly #of: RecordedConference;
  #current: RecordingSession | undefined;

  constructor(services: Services, of: RecordedConference) {
    this.#services = services;
    this.#of = of;
  }

  /**
   * Starts a recording; resolves when it captures.
   * @throws PlatformError STATE_INVALID, RECORDING_ALREADY_ACTIVE, INSUFFICIENT_BALANCE, SERVICE_UNAVAILABLE
   */
  async start(options: RecordingOptions, requestId = ''): Promise<Recording> {
    const session = await this.#of.mailbox.post(() => this.#begin(options, requestId));
    await session.start();
    return session.recording;
  }

  /**
   * Ends the recording that is active; the conference does not name it any more then.
   * @throws PlatformError RECORDING_NOT_ACTIVE
   */
  async stop(): Promise<void> {
    if (!(await this.#current?.stop()))
      throw new PlatformError('RECORDING_NOT_ACTIVE', 'No recording of this conference is active.');
  }

  /** The conference ends, and the recording with it. */
  end(): void {
    void this.#current?.stop();
  }

  async #begin(options: RecordingOptions, requestId: string): Promise<RecordingSession> {
    const { customer_id, status, recording_id, recording_ids } = this.#of.conference;
    if (status !== 'progressing')
      throw new PlatformError(
        'STATE_INVALID',
        `The conference is ${status}; only one that is progressing is recorded.`,
      );
    if (isSet(recording_id))
      throw new PlatformError('RECORDING_ALREADY_ACTIVE', 'A recording of this conference is active already.');
    await mustPay(this.#services, customer_id, 'recording', 'a recording');
    const session: RecordingSession = new RecordingSession(
      this.#services,
      this.#subject(() => void session.stop()),
      options,
      requestId,
    );
    await session.create();
    const { id } = session.recording;
    await this.#of.note({ recording_id: id, recording_ids: [...recording_ids, id] });
    this.#current = session;
    return session;
  }

  #subject(lost: () => void): Subject {
    const { conference, bridge, mailbox } = this.#of;
    const { customer_id, id } = conference;
    const leg = new OwnLeg(this.#services.media, bridge, 'listens');
    return {
      reference: { customer_id, activeflow_id: EMPTY_ID, reference_type: 'confbridge', reference_id: id },
      record: async file => {
        await leg.open();
        void leg.left.then(lost);
        await leg.seat?.recordConference(bridge.id, file);
      },
      stopRecording: async file => {
        await leg.seat?.stopConferenceRecording(bridge.id, file);
        await leg.close();
      },
      onDigit: listener => {
        bridge.on('digit', listener);
        return () => bridge.off('digit', listener);
      },
      variables: () => ({}),
      left: () => mailbox.post(() => this.#of.note({ recording_id: EMPTY_ID })),
    };
  }
}
