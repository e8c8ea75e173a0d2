import type { Address } from '#contract/address';
import type { LiveEventType, LiveRecord } from '#contract/events';
import type { Groupcall } from '#contract/groupcall';
import { EMPTY_ID } from '#contract/ids';
import { groupcallMachine } from '#contract/machines/groupcall';
import { NEVER, timestamp } from '#contract/time';
import type { CallRequest } from '../call/request.ts';
import { Mailbox } from '../call/mailbox.ts';
import type { CallSession } from '../call/session.ts';
import type { Services } from '../services.ts';

/**
 * Several legs rung at once for one destination (voice-and-flows 11.2, ring_all): the first to answer wins, the others
 * are hung up, and the groupcall ends with its last leg.
 */
export class GroupcallSession {
  readonly #services: Services;
  readonly #record: LiveRecord<'groupcall'>;
  readonly #legs: CallSession[];
  readonly #mailbox: Mailbox;
  readonly #requestId: string;

  constructor(services: Services, request: CallRequest, destination: Address, id: string, legs: CallSession[]) {
    this.#services = services;
    this.#legs = legs;
    this.#requestId = request.request_id ?? '';
    this.#mailbox = new Mailbox(services.log.child({ groupcall_id: id }));
    this.#record = services.store.create('groupcall', newGroupcall(request, destination, id, legs));
    services.registry.groupcalls.set(id, this);
    for (const leg of legs) {
      leg.once('progressing', () => this.#mailbox.drop('leg answered', () => this.#answered(leg)));
      leg.once('ended', () => this.#mailbox.drop('leg ended', () => this.#ended()));
    }
  }

  get groupcall(): Groupcall {
    return this.#record.data;
  }

  create(): Promise<void> {
    return this.#mailbox.post(() => this.#commit({}, 'groupcall_created'));
  }

  async #answered(winner: CallSession): Promise<void> {
    const losers = this.#legs.filter(leg => leg !== winner);
    if (this.groupcall.answer_call_id !== EMPTY_ID) return void winner.hangup('answered_elsewhere');
    const hungUp = losers.map(leg => leg.hangup('answered_elsewhere'));
    await this.#commit({ answer_call_id: winner.id }, 'groupcall_progressing');
    await Promise.all(hungUp);
  }

  async #ended(): Promise<void> {
    const call_count = this.groupcall.call_count - 1;
    const step = call_count === 0 ? groupcallMachine.step(this.groupcall.status, 'end') : undefined;
    if (!step) return this.#commit({ call_count });
    await this.#commit({ call_count, status: step.to }, 'groupcall_hangup', step);
    this.#services.registry.groupcalls.delete(this.groupcall.id);
  }

  async #commit(
    changes: Partial<Groupcall>,
    event?: LiveEventType<'groupcall'>,
    step?: ReturnType<typeof groupcallMachine.step>,
  ): Promise<void> {
    const change = { events: event ? [event] : [], request_id: this.#requestId, ...(step ? { step } : {}) };
    await this.#services.store.commit(this.#record, { ...this.groupcall, ...changes }, change);
  }
}

const newGroupcall = (request: CallRequest, destination: Address, id: string, legs: CallSession[]): Groupcall => ({
  id,
  customer_id: request.customer_id,
  owner_type: '',
  owner_id: EMPTY_ID,
  status: 'progressing',
  flow_id: request.flow?.id ?? EMPTY_ID,
  source: request.source,
  destinations: [destination],
  master_call_id: request.master_call_id || EMPTY_ID,
  master_groupcall_id: EMPTY_ID,
  ring_method: 'ring_all',
  answer_method: 'hangup_others',
  answer_call_id: EMPTY_ID,
  call_ids: legs.map(leg => leg.id),
  answer_groupcall_id: EMPTY_ID,
  groupcall_ids: [],
  call_count: legs.length,
  groupcall_count: 0,
  dial_index: 0,
  tm_create: timestamp(),
  tm_update: NEVER,
  tm_delete: NEVER,
});
