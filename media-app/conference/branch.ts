import type { Admission } from '../neighbours.ts';
import type { CallSession } from '../call/session.ts';
import type { Services } from '../services.ts';
import { Confbridge } from './confbridge.ts';

/**
 * What this node has of a conference that lives on another: a bridge to the same mixer, for calls of ours that were admitted
 * there. The other node counts them as participants, hears who comes and goes, and has them put out.
 */
export class Branch {
  readonly bridge: Confbridge;
  readonly #services: Services;
  readonly #conferenceId: string;
  readonly #owner: string;
  /** Our participants, by the id of their call, with the id of their participation. */
  readonly #admitted = new Map<string, { call: CallSession; participant: string; unwanted: boolean }>();
  readonly #check: NodeJS.Timeout;

  constructor(services: Services, conferenceId: string, owner: string, admission: Admission) {
    this.#services = services;
    this.#conferenceId = conferenceId;
    this.#owner = owner;
    this.bridge = new Confbridge({
      id: admission.confbridge_id,
      type: admission.type,
      server: { name: admission.media_server, fixed: true },
      media: services.media,
      mayEnter: call => this.#admitted.get(call.id)?.unwanted === false,
    });
    this.bridge.keepOpen(true); // whether anybody is left is known at the other node
    this.#listen();
    services.registry.confbridges.set(this.bridge.id, this.bridge);
    services.registry.branches.set(conferenceId, this);
    this.#check = setInterval(() => void this.#look(), services.settings.CONFERENCE_CHECK_MS);
  }

  /** Expects a call that was admitted. */
  expect(call: CallSession, { conferencecall_id: participant }: Admission): void {
    this.#admitted.set(call.id, { call, participant, unwanted: false });
    call.once('ended', () => void (this.bridge.kick(call.id) || this.#gone(call)));
  }

  /** Puts a call out of the mixer, or past it when it is not in yet. */
  putOut(callId: string): void {
    const admitted = this.#admitted.get(callId);
    if (!admitted) return this.#tellLeft(callId);
    const { call, participant } = admitted;
    admitted.unwanted = true;
    if (this.bridge.kick(callId)) return;
    try {
      call.flow?.runner.forwardNow(participant, participant);
    } catch {
      this.#gone(call); // its flow is over, or has jumped elsewhere: it will never come
    }
  }

  /** How an admitted call is; undefined when it is none. */
  look(callId: string): { there: boolean; comes: boolean } | undefined {
    const admitted = this.#admitted.get(callId);
    return admitted && { there: true, comes: admitted.call.flow?.runner.holds(admitted.participant) ?? false };
  }

  #listen(): void {
    const { bridge } = this;
    const { neighbours } = this.#services;
    bridge.on('joined', call => void this.#entered(call));
    bridge.on('leaved', call => this.#gone(call));
    bridge.on('digit', digit =>
      neighbours.tell(this.#owner, 'conference.digit', { conference_id: this.#conferenceId, digit }),
    );
    bridge.on('closed', () => this.#dispose());
  }

  async #entered(call: CallSession): Promise<void> {
    if (!this.#admitted.has(call.id)) return; // a guest of a transfer, who is no participant
    const name = { conference_id: this.#conferenceId, call_id: call.id };
    try {
      const { company } = await this.#services.neighbours.ask(this.#owner, 'conference.entered', name);
      if (company) this.bridge.accompany();
    } catch (error) {
      call.log.warn({ error: String(error) }, 'the node of the conference did not take the call in');
      this.putOut(call.id);
    }
  }

  #gone(call: CallSession): void {
    if (this.#admitted.delete(call.id)) this.#tellLeft(call.id);
    if (this.#admitted.size + this.bridge.size === 0) this.bridge.close();
  }

  #tellLeft(call_id: string): void {
    this.#services.neighbours.tell(this.#owner, 'conference.left', { conference_id: this.#conferenceId, call_id });
  }

  /** A conference that is over, or whose node is gone, has nobody in it. */
  async #look(): Promise<void> {
    const { store, neighbours, log } = this.#services;
    try {
      const record = await store.read('conference', this.#conferenceId);
      if (record && !record.final && record.owner === this.#owner && (await neighbours.lives(this.#owner))) return;
      log.warn({ conference_id: this.#conferenceId }, 'the node of a conference is gone; putting our calls out');
      this.bridge.close();
    } catch (error) {
      log.warn({ conference_id: this.#conferenceId, error: String(error) }, 'could not look after a conference');
    }
  }

  #dispose(): void {
    clearInterval(this.#check);
    const { confbridges, branches } = this.#services.registry;
    confbridges.delete(this.bridge.id);
    if (branches.get(this.#conferenceId) === this) branches.delete(this.#conferenceId);
  }
}
