import { EventEmitter } from 'node:events';
import type { Address } from '#contract/address';
import type { LiveEventType, LiveRecord } from '#contract/events';
import type { Groupcall } from '#contract/groupcall';
import type { ReleaseCause } from '#contract/hangup';
import { EMPTY_ID, isSet, newId } from '#contract/ids';
import { groupcallMachine } from '#contract/machines/groupcall';
import { NEVER, timestamp } from '#contract/time';
import type { Dial, Dialer } from '../call/dialer.ts';
import { Mailbox } from '../call/mailbox.ts';
import type { CallRequest } from '../call/request.ts';
import { CallSession } from '../call/session.ts';
import { LostRecordError } from '../call/state-store.ts';
import type { Log } from '#process/log';
import type { Services } from '../services.ts';
import type { DialTarget } from '../sip/outgoing-leg.ts';

/** Whom a groupcall rings, and how. */
export interface GroupcallPlan extends Pick<Groupcall, 'destinations' | 'ring_method' | 'answer_method'> {
  /** The groupcall this one is a leg of. */
  parent?: GroupcallSession;
  /** What is rung in turn or at once, where that is not `destinations`: the addresses of an agent. */
  addresses?: Address[];
  /** The agent it is for. */
  owner_id?: string;
}

/** What a groupcall rings: a call, or a groupcall for a destination that has legs of its own. */
type Leg = CallSession | GroupcallSession;

/**
 * Several legs rung for one purpose (voice-and-flows 11.2). `ring` sends the INVITEs of a dial; `create` writes them.
 * With `ring_all` there is one dial of all destinations; with `linear` one destination follows the other until somebody
 * answers. Who answers is decided at once, in `#mayAnswer`; what follows from it goes through the mailbox.
 *
 * Emits `dialled` when `linear` rings the next destination, here or in a groupcall within it, and `ended` when its last leg is
 * over and its record final.
 */
export class GroupcallSession extends EventEmitter<{ dialled: [calls: CallSession[]]; ended: [] }> {
  readonly id = newId();
  readonly #services: Services;
  readonly #dialer: Dialer;
  readonly #request: CallRequest;
  readonly #parent: GroupcallSession | undefined;
  /** The addresses of an agent; `undefined` when the destinations themselves are rung. */
  readonly #addresses: Address[] | undefined;
  readonly #record: LiveRecord<'groupcall'>;
  readonly #mailbox: Mailbox;
  readonly #log: Log;
  /** Legs of the present dial that are not over. */
  readonly #alive = new Set<Leg>();
  #winner: Leg | undefined;

  constructor(services: Services, dialer: Dialer, request: CallRequest, plan: GroupcallPlan) {
    super();
    this.#services = services;
    this.#dialer = dialer;
    this.#request = request;
    this.#parent = plan.parent;
    this.#addresses = plan.addresses;
    this.#log = services.log.child({ groupcall_id: this.id });
    this.#mailbox = new Mailbox(this.#log);
    this.#record = services.store.create('groupcall', newGroupcall(this.id, request, plan));
    services.registry.groupcalls.set(this.id, this);
  }

  get groupcall(): Groupcall {
    return this.#record.data;
  }

  /** The calls of the present dial, those of nested groupcalls included. */
  get calls(): CallSession[] {
    return [...this.#alive].flatMap(leg => (leg instanceof CallSession ? [leg] : leg.calls));
  }

  /** Rings destinations, each a leg. */
  ring(dials: Dial[]): void {
    this.#ring(
      dials.map(dial => this.#leg(dial)),
      dials[0]?.index ?? 0,
    );
  }

  /** Rings the one destination expanded: its phones, or the addresses of its agent, are the legs. */
  expand(dial: Dial): void {
    const { way } = dial;
    if (way.kind === 'agent') return this.ring(way.dials);
    this.#ring(
      way.targets.map(target => this.#call(dial, target)),
      0,
    );
  }

  #ring(legs: Leg[], dial_index: number): void {
    for (const leg of legs) this.#follow(leg);
    this.#record.data = { ...this.groupcall, ...this.#rung(legs), dial_index };
  }

  /** Writes the groupcall and the legs of its first dial. */
  async create(): Promise<void> {
    const own = this.#mailbox.post(() => this.#commit({}, 'groupcall_created'));
    await Promise.all([own, ...[...this.#alive].map(leg => leg.create())]);
  }

  /** Hangs every leg up, and dials no other; nothing happens when it is ending already. */
  async hangup(cause: ReleaseCause): Promise<Groupcall> {
    await this.#mailbox.post(async () => {
      const step = groupcallMachine.step(this.groupcall.status, 'hangup');
      if (!step) return;
      await this.#commit({ status: step.to }, undefined, step);
      for (const leg of this.#alive) this.#release(leg, cause);
      if (!this.#alive.size) await this.#end();
    });
    return this.groupcall;
  }

  #leg(dial: Dial): Leg {
    const { way } = dial;
    const [target] = way.kind === 'call' ? way.targets : [];
    if (target) return this.#call(dial, target);
    return groupcallOf(this.#services, this.#dialer, this.#request, dial, { parent: this });
  }

  #call(dial: Dial, target: DialTarget): CallSession {
    const mayAnswer = (call: CallSession) => this.#mayAnswer(call, call);
    return this.#dialer.call(dial, target, { groupcall_id: this.id, mayAnswer });
  }

  #follow(leg: Leg): void {
    this.#alive.add(leg);
    leg.once('ended', () => this.#mailbox.drop('leg ended', () => this.#ended(leg)));
  }

  /**
   * Asked by a leg in the moment it is answered: the first one wins, here and in the groupcall above, and a loser is
   * hung up before its flow has run. Without `hangup_others` everybody may answer.
   */
  #mayAnswer(leg: Leg, call: CallSession): boolean {
    if (this.groupcall.status !== 'progressing') return false;
    if (this.#winner && this.groupcall.answer_method === 'hangup_others') return false;
    if (this.#parent && !this.#parent.#mayAnswer(this, call)) return false;
    if (!this.#winner) this.#mailbox.drop('leg answered', () => this.#answered(leg, call));
    this.#winner ??= leg;
    return true;
  }

  async #answered(winner: Leg, call: CallSession): Promise<void> {
    if (this.groupcall.answer_method === 'hangup_others')
      for (const leg of this.#alive) if (leg !== winner) this.#release(leg, 'answered_elsewhere');
    const nested = winner instanceof GroupcallSession ? { answer_groupcall_id: winner.id } : {};
    await this.#commit({ answer_call_id: call.id, ...nested }, 'groupcall_progressing');
  }

  async #ended(leg: Leg): Promise<void> {
    this.#alive.delete(leg);
    if (this.#alive.size) await this.#commit(this.#counts());
    else if (!(await this.#rungNext())) await this.#end();
  }

  /** The next destination of `linear`; false when nobody is left, somebody answered, or nobody waits for it any more. */
  async #rungNext(): Promise<boolean> {
    if (this.groupcall.ring_method !== 'linear' || !this.#goesOn()) return false;
    try {
      const addresses = this.#addresses ?? this.groupcall.destinations;
      const dial = await this.#dialer.next(addresses, this.groupcall.dial_index + 1, this.#addresses !== undefined);
      if (!this.#goesOn()) return false;
      this.ring([dial]);
    } catch (error) {
      this.#log.info({ reason: String(error) }, 'nobody is left to ring');
      return false;
    }
    await Promise.all([this.#commit({}), ...[...this.#alive].map(leg => leg.create())]);
    await this.#dialer.chain(this.calls);
    if (!this.#goesOn()) for (const leg of this.#alive) this.#release(leg, 'normal_clearing');
    this.#tellDialled(this.calls);
    return true;
  }

  #tellDialled(calls: CallSession[]): void {
    this.emit('dialled', calls);
    if (this.#parent) this.#parent.#tellDialled(calls);
  }

  #goesOn(): boolean {
    return !this.#winner && this.groupcall.status === 'progressing' && this.#dialer.wanted;
  }

  async #end(): Promise<void> {
    const step = groupcallMachine.step(this.groupcall.status, 'end');
    if (!step) return;
    await this.#commit({ ...this.#counts(), status: step.to }, 'groupcall_hangup', step);
    this.#services.registry.groupcalls.delete(this.id);
    this.emit('ended');
  }

  /** Not awaited: the leg may be waiting for us. */
  #release(leg: Leg, cause: ReleaseCause): void {
    leg
      .hangup(cause)
      .catch((error: unknown) => this.#log.error({ leg: leg.id, error: String(error) }, 'a leg could not be hung up'));
  }

  #rung(legs: Leg[]): Partial<Groupcall> {
    const { call_ids, groupcall_ids } = this.groupcall;
    const calls = legs.filter(leg => leg instanceof CallSession).map(({ id }) => id);
    const groupcalls = legs.filter(leg => leg instanceof GroupcallSession).map(({ id }) => id);
    return {
      call_ids: [...call_ids, ...calls],
      groupcall_ids: [...groupcall_ids, ...groupcalls],
      ...this.#counts(),
    };
  }

  #counts(): Pick<Groupcall, 'call_count' | 'groupcall_count'> {
    const call_count = [...this.#alive].filter(leg => leg instanceof CallSession).length;
    return { call_count, groupcall_count: this.#alive.size - call_count };
  }

  async #commit(
    changes: Partial<Groupcall>,
    event?: LiveEventType<'groupcall'>,
    step?: ReturnType<typeof groupcallMachine.step>,
  ): Promise<void> {
    const request_id = this.#request.request_id ?? '';
    const change = { events: event ? [event] : [], request_id, step };
    try {
      await this.#services.store.commit(this.#record, { ...this.groupcall, ...changes }, change);
    } catch (error) {
      if (!(error instanceof LostRecordError)) throw error;
      this.#log.error({ error: error.message }, 'another node ended this groupcall'); // and its calls, which let go
    }
  }
}

/** A groupcall for one destination: all phones of an extension, or an agent by the agent's own ring method (9.2). */
export const groupcallOf = (
  services: Services,
  dialer: Dialer,
  request: CallRequest,
  dial: Dial,
  given: Partial<GroupcallPlan> = {},
): GroupcallSession => {
  const { way, destination, owner_id } = dial;
  const plan: GroupcallPlan = {
    destinations: [destination],
    ring_method: way.kind === 'agent' ? way.ring_method : 'ring_all',
    answer_method: 'hangup_others',
    ...(way.kind === 'agent' ? { addresses: way.addresses } : {}),
    ...(isSet(owner_id) ? { owner_id } : {}),
    ...given,
  };
  const session = new GroupcallSession(services, dialer, request, plan);
  session.expand(dial);
  return session;
};

const newGroupcall = (id: string, request: CallRequest, plan: GroupcallPlan): Groupcall => ({
  id,
  customer_id: request.customer_id,
  owner_type: plan.owner_id ? 'agent' : '',
  owner_id: plan.owner_id ?? EMPTY_ID,
  status: 'progressing',
  flow_id: request.flow?.id ?? EMPTY_ID,
  source: request.source,
  destinations: plan.destinations,
  master_call_id: request.master_call_id || EMPTY_ID,
  master_groupcall_id: plan.parent?.id ?? EMPTY_ID,
  ring_method: plan.ring_method,
  answer_method: plan.answer_method,
  answer_call_id: EMPTY_ID,
  call_ids: [],
  answer_groupcall_id: EMPTY_ID,
  groupcall_ids: [],
  call_count: 0,
  groupcall_count: 0,
  dial_index: 0,
  tm_create: timestamp(),
  tm_update: NEVER,
  tm_delete: NEVER,
});
