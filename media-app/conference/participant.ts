import type { Conferencecall } from '#contract/conferencecall';
import type { LiveEventType, LiveRecord } from '#contract/events';
import { newId } from '#contract/ids';
import type { ConferenceStatus } from '#contract/machines/conference';
import { conferencecallMachine, type ConferencecallStatus } from '#contract/machines/conferencecall';
import { NEVER, timestamp } from '#contract/time';
import type { Party } from './party.ts';
import { isWell, WellBeing } from './well-being.ts';

/**
 * One call's participation in a conference (voice-and-flows 13.4): its record and its machine. Its conference's mailbox
 * is the only one who calls it.
 */
export class Participant {
  readonly call: Party;
  readonly #record: LiveRecord<'conferencecall'>;
  readonly #since = Date.now();
  readonly #wellBeing = new WellBeing();

  constructor(call: Party, conferenceId: string) {
    const { customer_id, activeflow_id, id: reference_id } = call.call;
    this.call = call;
    this.#record = call.services.store.create('conferencecall', {
      id: newId(),
      customer_id,
      activeflow_id,
      conference_id: conferenceId,
      reference_type: 'call',
      reference_id,
      status: conferencecallMachine.initial,
      tm_create: timestamp(),
      tm_update: NEVER,
      tm_delete: NEVER,
    });
  }

  get id(): string {
    return this.record.id;
  }

  get record(): Conferencecall {
    return this.#record.data;
  }

  get status(): ConferencecallStatus {
    return this.record.status;
  }

  /** Writes the new participation. */
  create(): Promise<void> {
    return this.#commit(this.record);
  }

  /** Takes a step of the machine. False where the table has none: late events are dropped. */
  async enter(event: 'enter' | 'leave' | 'end'): Promise<boolean> {
    const step = conferencecallMachine.step(this.status, event);
    if (step) await this.#commit({ ...this.record, status: step.to }, step);
    return step !== undefined;
  }

  /**
   * Sends the flow of a call that is still on its way in straight to where it would come in, and so past it. False when
   * the flow will not come there anyway.
   */
  hurry(): boolean {
    try {
      this.call.flow?.runner.forwardNow(this.id, this.id);
      return this.call.flow !== undefined;
    } catch {
      return false; // the flow is over, or has jumped elsewhere
    }
  }

  /** The health check of 13.4, made every few seconds. True when the participant is to be put out. */
  unwell(conference: ConferenceStatus): boolean {
    const { status, call } = this;
    const age_ms = Date.now() - this.#since;
    const comes = call.flow?.runner.holds(this.id) ?? false;
    return this.#wellBeing.isOver(isWell({ status, call: call.call.status, conference, age_ms, comes }));
  }

  async #commit(data: Conferencecall, step?: ReturnType<typeof conferencecallMachine.step>): Promise<void> {
    const event: LiveEventType<'conferencecall'> = `conferencecall_${data.status}`;
    await this.call.services.store.commit(this.#record, data, { events: [event], step });
  }
}
