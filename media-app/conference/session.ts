import { type Conference, type ConferenceSettings, newConference } from '#contract/conference';
import type { Conferencecall } from '#contract/conferencecall';
import { PlatformError } from '#contract/errors';
import type { LiveEventType, LiveRecord } from '#contract/events';
import { EMPTY_ID, newId } from '#contract/ids';
import { conferenceMachine } from '#contract/machines/conference';
import { NEVER, timestamp } from '#contract/time';
import type { ConferenceEntry } from '#flow/action';
import { Streams } from '../audio/streams.ts';
import { Mailbox } from '../call/mailbox.ts';
import { mustPay } from '../call/balance.ts';
import type { CallSession } from '../call/session.ts';
import { LostRecordError } from '../call/state-store.ts';
import type { Log } from '#process/log';
import type { Admission } from '../neighbours.ts';
import { ConferenceRecordings, type RecordedConference } from '../recording/of-conference.ts';
import type { Services } from '../services.ts';
import { Confbridge } from './confbridge.ts';
import { Deadline } from './deadline.ts';
import { Guest } from './guest.ts';
import { Participant } from './participant.ts';
import type { Party } from './party.ts';

type NewConference = Omit<Parameters<typeof newConference>[0], 'tm_create'>;

/** Opens a conference and resolves with it as it began; it is progressing right after.
 * @throws PlatformError ALREADY_EXISTS when its id was taken meanwhile
 */
export const openConference = (services: Services, given: NewConference, requestId: string): Promise<Conference> => {
  const record = services.store.create('conference', newConference({ ...given, tm_create: timestamp() }));
  return new ConferenceSession(services, record, requestId).create();
};

/** Goes on with a conference whose node is gone; the record is this node's already, and nobody is in it. */
export const adoptConference = (services: Services, record: LiveRecord<'conference'>): void =>
  new ConferenceSession(services, record, '').resume();

/**
 * One conference (voice-and-flows 13): its record, its participants and the bridge that mixes them. Everything that
 * happens to it or to a participant goes through one mailbox, so a join never races a deletion.
 */
export class ConferenceSession implements RecordedConference {
  readonly bridge: Confbridge;
  readonly mailbox: Mailbox;
  readonly log: Log;
  readonly recordings: ConferenceRecordings;
  /** What streams the conference out and other audio in. */
  readonly audio = new Streams('conference');
  readonly #services: Services;
  readonly #record: LiveRecord<'conference'>;
  readonly #requestId: string;
  readonly #participants = new Map<string, Participant>();
  readonly #timeout = new Deadline(() => this.mailbox.drop('timeout', () => this.#delete()));
  #check: NodeJS.Timeout | undefined;
  #handingOver = false;
  #disposed = false;

  constructor(services: Services, record: LiveRecord<'conference'>, requestId: string) {
    const { id, type } = record.data;
    this.#services = services;
    this.log = services.log.child({ conference_id: id });
    this.mailbox = new Mailbox(this.log);
    this.#requestId = requestId;
    this.#record = record;
    this.bridge = new Confbridge({
      id: newId(),
      type,
      server: { name: services.media.pick() },
      media: services.media,
      mayEnter: call => this.#of(call.id)?.status === 'joining',
    });
    this.recordings = new ConferenceRecordings(services, this);
    this.#listen();
  }

  get conference(): Conference {
    return this.#record.data;
  }

  /**
   * Writes the new conference and resolves with it as it began; it is progressing right after. */
  async create(): Promise<Conference> {
    const created = this.conference;
    this.#timeout.set(created.timeout);
    await this.mailbox.post(() => this.#commit({}, ['conference_created']));
    if (this.#disposed) throw new PlatformError('ALREADY_EXISTS', 'A conference with this id exists already.');
    this.#begin();
    return created;
  }

  /** Goes on where another node left it, with what is left of its time. */
  resume(): void {
    this.log.warn('went on with a conference whose media-app is gone');
    this.#timeout.until(Number(this.#record.internal['expires_at'] ?? 0));
    this.#begin();
  }

  /**
   * Makes a call a participant that is on its way in (6.4 conference_join).
   * @throws Error why it may not come in
   */
  async admit(call: CallSession): Promise<ConferenceEntry> {
    await mustPay(this.#services, call.call.customer_id, 'conference', 'a conference');
    return this.mailbox.post(async () => {
      const participant = await this.#admit(call);
      call.once('ended', () => this.mailbox.drop('call ended', () => this.#callEnded(participant)));
      return this.#entryOf(participant);
    });
  }

  /**
   * The same for a call of another node, which says when it is in and out. `mediaServer` is where its media is, if anywhere.
   * @throws Error why it may not come in
   */
  async admitGuest(guest: Guest, mediaServer: string): Promise<Admission> {
    const { media } = this.#services;
    await mustPay(this.#services, guest.call.customer_id, 'conference', 'a conference');
    return this.mailbox.post(async () => {
      const participant = await this.#admit(guest);
      const reachable = mediaServer !== '' && media.pick(mediaServer) === mediaServer;
      this.bridge.expect(guest.id, reachable ? mediaServer : media.pick(this.bridge.server), () => guest.putOut());
      await this.#commit({}, []); // tells other nodes where the mixer is
      return { ...this.#entryOf(participant), media_server: this.bridge.server, type: this.conference.type };
    });
  }

  /** A guest is in the mixer. True when it has company there. Rejects when it is not expected any more. */
  guestEntered(callId: string): Promise<boolean> {
    return this.mailbox.post(async () => {
      const participant = this.#of(callId);
      if (participant?.status !== 'joining') throw new Error('the call is not expected in the conference');
      const company = this.bridge.lodge(callId);
      await this.#joined(callId);
      const waits = company && this.conference.type === 'connect';
      if (waits) for (const { node } of this.#guests) this.#tellCompany(node);
      return company;
    });
  }

  /** A guest is out, or does not come. */
  guestLeft(callId: string): void {
    this.mailbox.drop('guest left', async () => {
      this.bridge.forget(callId);
      const participant = this.#of(callId);
      if (participant?.status === 'joined') await participant.enter('leave');
      await this.#leaved(callId);
    });
  }

  #tellCompany(node: string): void {
    this.#services.neighbours.tell(node, 'conference.company', { conference_id: this.conference.id });
  }

  get #guests(): Guest[] {
    return [...this.#participants.values()].map(({ call }) => call).filter(call => call instanceof Guest);
  }

  /** The call is a participant, on its way in. Only within a letter. */
  async #admit(call: Party): Promise<Participant> {
    const refusal = this.#refusal(call);
    if (refusal) throw new Error(refusal);
    const participant = new Participant(call, this.conference.id);
    await participant.create();
    this.#participants.set(participant.id, participant);
    return participant;
  }

  #entryOf({ id: conferencecall_id }: Participant): ConferenceEntry {
    return { conferencecall_id, confbridge_id: this.bridge.id, pre_flow_id: this.conference.pre_flow_id };
  }

  /**
   * Changes what a client may change. A timeout that is given runs from now.
   * @throws PlatformError STATE_INVALID when the conference is ending
   */
  update(changes: Partial<ConferenceSettings & { direct_hash: string }>): Promise<Conference> {
    return this.mailbox.post(async () => {
      if (!this.#up) throw new PlatformError('STATE_INVALID', 'The conference is ending.');
      if (changes.timeout !== undefined) this.#timeout.set(changes.timeout);
      await this.#commit(changes, ['conference_updated']);
      return this.conference;
    });
  }

  /** Deletes it, by a client or by its timeout: nobody comes in any more and everybody is put out. Idempotent. */
  end(): Promise<Conference> {
    return this.mailbox.post(() => this.#delete());
  }

  /** Ends it without deleting it: a connect conference lost one of its two, or its node stops. */
  terminate(): void {
    this.mailbox.drop('terminate', async () => {
      if (!this.#disposed && (await this.#enter('terminate'))) await this.#putAllOut();
    });
  }

  /**
   * Its node stops. Whoever is in leaves with its call; a room that may stand empty waits in the store for the node
   * that adopts it, any other is over.
   */
  handOver(): void {
    if (this.conference.type === 'connect') return this.terminate();
    this.#silence();
    for (const guest of this.#guests) guest.putOut();
    this.mailbox.drop('hand over', async () => {
      this.#handingOver = this.#up;
      await this.#maybeOver();
    });
  }

  /** Writes facts of the conference that are told to nobody; nothing when it is over. */
  async note(changes: Partial<Conference>): Promise<void> {
    if (!conferenceMachine.isFinal(this.conference.status)) await this.#commit(changes, []);
  }

  /**
   * Puts one participant out; one that is leaving or has left is shown as it is.
   * @returns undefined when it is not one of this conference's present participants
   */
  kick(participantId: string): Promise<Conferencecall | undefined> {
    return this.mailbox.post(async () => {
      const participant = this.#participants.get(participantId);
      if (!participant || !(await participant.enter('leave'))) return participant?.record;
      const leaving = participant.record;
      await this.#putOut(participant);
      return leaving;
    });
  }

  get #up(): boolean {
    return this.conference.status === 'starting' || this.conference.status === 'progressing';
  }

  async #delete(): Promise<Conference> {
    if (this.conference.tm_delete !== NEVER) return this.conference;
    const tm_delete = timestamp();
    const events = ['conference_updated', 'conference_deleted'] as const;
    if (!(await this.#enter('terminate', { tm_delete }, events))) await this.#commit({ tm_delete }, [...events]);
    const deleted = this.conference;
    await this.#putAllOut();
    return deleted;
  }

  /** Nothing records it or streams it any more. */
  #silence(): void {
    this.recordings.end();
    this.audio.end();
  }

  #begin(): void {
    const { registry, settings } = this.#services;
    registry.conferences.set(this.conference.id, this);
    registry.confbridges.set(this.bridge.id, this.bridge);
    this.mailbox.drop('ready', async () => void (await this.#enter('ready')));
    this.#check = setInterval(
      () => void this.#lookAtGuests().then(() => this.mailbox.drop('health check', () => this.#checkAll())),
      settings.CONFERENCE_CHECK_MS,
    );
  }

  #listen(): void {
    const { bridge } = this;
    bridge.on('joined', call => {
      if (this.conference.type === 'connect' && bridge.size > 1)
        for (const { node } of this.#guests) this.#tellCompany(node);
      this.mailbox.drop('joined', () => this.#joined(call.id));
    });
    bridge.on('leaved', call => this.mailbox.drop('leaved', () => this.#leaved(call.id)));
    bridge.on('closed', () => this.terminate());
  }

  #refusal(call: Party): string | undefined {
    const { customer_id, status } = call.call;
    if (customer_id !== this.conference.customer_id) return `there is no conference ${this.conference.id}`;
    if (!this.#up || this.#handingOver) return `the conference is ${this.conference.status} and takes nobody in`;
    return status === 'progressing' ? undefined : `the call is ${status}, not progressing`;
  }

  /** The participation of a call that matters now: a call may be on its way into the same conference twice. */
  #of(callId: string): Participant | undefined {
    const own = [...this.#participants.values()].filter(one => one.call.id === callId);
    return own.find(one => one.status === 'joined') ?? own.at(-1);
  }

  async #joined(callId: string): Promise<void> {
    const participant = this.#of(callId);
    if (!participant || !(await participant.enter('enter'))) return;
    const conferencecall_ids = [...this.conference.conferencecall_ids, participant.id];
    await this.#commit({ conferencecall_ids }, ['conference_updated']);
  }

  async #leaved(callId: string): Promise<void> {
    const participant = this.#of(callId);
    if (participant) await this.#gone(participant);
    else await this.#maybeOver(); // a guest of a transfer may be the last
  }

  async #callEnded(participant: Participant): Promise<void> {
    if (participant.status === 'joined')
      await participant.enter('leave'); // its bridge says when it is out
    else if (!this.bridge.kick(participant.call.id)) await this.#gone(participant);
  }

  async #gone(participant: Participant): Promise<void> {
    if (!(await participant.enter('end'))) return;
    this.#participants.delete(participant.id);
    const { conferencecall_ids } = this.conference;
    const left = conferencecall_ids.filter(id => id !== participant.id);
    if (left.length < conferencecall_ids.length)
      await this.#commit({ conferencecall_ids: left }, ['conference_updated']);
    await this.#maybeOver();
  }

  /** Nobody is left: a conference that is ending has ended, and so has a connect conference. */
  async #maybeOver(): Promise<void> {
    if (this.#participants.size > 0 || this.bridge.size > 0) return;
    if (this.#handingOver && this.#up) return this.#dispose();
    if (this.conference.type === 'connect' && this.#up) await this.#enter('terminate');
    const over = await this.#enter('empty', { tm_end: timestamp() }, ['conference_updated', 'conference_deleted']);
    if (over) this.#dispose();
  }

  #dispose(): void {
    this.#disposed = true;
    clearInterval(this.#check);
    this.#timeout.set(0);
    this.bridge.close();
    const { confbridges, conferences } = this.#services.registry;
    confbridges.delete(this.bridge.id);
    if (conferences.get(this.conference.id) === this) conferences.delete(this.conference.id);
  }

  async #putAllOut(): Promise<void> {
    for (const participant of [...this.#participants.values()]) {
      await participant.enter('leave');
      await this.#putOut(participant);
    }
    this.bridge.close();
    await this.#maybeOver();
  }

  /** Out of the bridge when it is in; past it when its flow is on the way; gone when it would never come there. */
  async #putOut(participant: Participant): Promise<void> {
    if (!this.bridge.kick(participant.call.id) && !participant.hurry()) await this.#gone(participant);
  }

  /** Those whose node is gone are gone with it. Never rejects. */
  async #lookAtGuests(): Promise<void> {
    const look = async (guest: Guest) => {
      if (await guest.look()) return;
      this.log.warn({ call_id: guest.id, node: guest.node }, 'a participant is gone with its node');
      this.guestLeft(guest.id);
    };
    await Promise.all(this.#guests.map(look)).catch((error: unknown) =>
      this.log.warn({ error: String(error) }, 'could not look after participants at other nodes'),
    );
  }

  async #checkAll(): Promise<void> {
    for (const participant of [...this.#participants.values()]) {
      if (!participant.unwell(this.conference.status)) continue;
      this.log.warn({ conferencecall_id: participant.id, call_id: participant.call.id }, 'a participant is put out');
      await participant.enter('leave');
      await this.#putOut(participant);
    }
  }

  async #enter(
    event: 'ready' | 'terminate' | 'empty',
    extra: Partial<Conference> = {},
    events: readonly LiveEventType<'conference'>[] = ['conference_updated'],
  ): Promise<boolean> {
    const step = conferenceMachine.step(this.conference.status, event);
    if (!step) return false;
    this.log.info({ status: step.to }, `conference ${step.to}`);
    const recorded = step.to === 'progressing' ? {} : { recording_id: EMPTY_ID };
    await this.#commit({ ...extra, ...recorded, status: step.to }, [...events], step);
    if (step.to === 'terminating') this.#silence();
    return true;
  }

  async #commit(
    changes: Partial<Conference>,
    events: LiveEventType<'conference'>[],
    step?: ReturnType<typeof conferenceMachine.step>,
  ): Promise<void> {
    const internal = { expires_at: this.#timeout.at, media_server: this.bridge.server };
    const change = { events, request_id: this.#requestId, internal, step };
    try {
      await this.#services.store.commit(this.#record, { ...this.conference, ...changes }, change);
    } catch (error) {
      if (!(error instanceof LostRecordError)) throw error;
      this.log.error({ error: error.message }, 'another node holds this conference; letting go of it');
      this.#dispose();
    }
  }
}
