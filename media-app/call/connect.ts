import type { ReleaseCause } from '#contract/hangup';
import type { ConnectRequest } from '#flow/action';
import { deferred } from '../deferred.ts';
import type { GroupcallSession } from '../groupcall/session.ts';
import { ConnectBridge } from './connect-bridge.ts';
import { RINGBACK } from './controls.ts';
import { causeToldOf } from './refusal.ts';
import type { CreatedCalls } from './request.ts';
import type { CallSession } from './session.ts';

/** The causes a caller is told when nobody answered, the most telling first. */
const TELLING: ReleaseCause[] = [
  'user_busy',
  'call_rejected',
  'no_answer',
  'dial_timeout',
  'no_user_response',
  'unallocated',
  'number_changed',
  'invalid_number',
  'destination_out_of_order',
  'network_out_of_order',
  'not_implemented',
  'temporary_failure',
];

/**
 * The connect action (voice-and-flows 6.4): dials the destinations as calls chained to this one, joins the first who
 * answers with the caller, and is over when the caller leaves their bridge or nobody is left to answer. Who was joined may
 * hand the conversation on: then others are in the bridge when it ends.
 */
export class Connect {
  readonly #caller: CallSession;
  readonly #request: ConnectRequest;
  readonly #signal: AbortSignal;
  readonly #over = deferred<void>();
  readonly #causes = new Map<CallSession, ReleaseCause>();
  readonly #legs: CallSession[] = [];
  /** The groupcalls among what was dialled that are not over. */
  #groups: GroupcallSession[] = [];
  #ringback = new AbortController();
  #callee: CallSession | undefined;
  /** A leg that the caller hears though it has not answered. */
  #heard: CallSession | undefined;
  /** Joining and parting of legs, one after the other. */
  #joining: Promise<void> = Promise.resolve();
  /** Resolves when the caller has left the bridge, once there is one. */
  #left: Promise<void> | undefined;
  readonly #place: () => Promise<CreatedCalls>;

  /** @param place places the calls, where it is not the destinations of the request that are dialled */
  constructor(caller: CallSession, request: ConnectRequest, signal: AbortSignal, place?: () => Promise<CreatedCalls>) {
    this.#caller = caller;
    this.#request = request;
    this.#signal = signal;
    this.#place = place ?? (() => this.#placeCalls());
  }

  /**
   * Resolves when the bridge is over, nobody answered, or the flow was stopped; with true when the caller was then released
   * as the callee was. Rejects when nobody could be dialled.
   */
  async run(): Promise<boolean> {
    const { sessions, groupcalls } = await this.#place();
    this.#groups = groupcalls.flatMap(({ id }) => this.#caller.services.registry.groupcalls.get(id) ?? []);
    this.#groups.forEach(group => this.#followGroup(group));
    this.#follow(sessions);
    this.#signal.addEventListener('abort', () => this.#over.resolve(), { once: true });
    if (this.#signal.aborted) this.#over.resolve();
    void this.#ring();
    await this.#over.promise;
    await this.#dissolve();
    const relays = this.#request.relay_reason && groupcalls.length === 0 && !this.#signal.aborted;
    if (relays) await this.#relay();
    return relays;
  }

  /** Rejects when nobody could be dialled; the caller, when it is not answered yet, is told why. */
  #placeCalls(): Promise<CreatedCalls> {
    const { call, services, leg, privacy, hops } = this.#caller;
    const { source = call.source, destinations, early_media, anonymous } = this.#request;
    const asked = services.placeCalls({
      customer_id: call.customer_id,
      source,
      destinations,
      master_call_id: call.id,
      early_media,
      anonymous,
      privacy,
      hops,
      media_server: leg.mediaServer,
      may_be_picked_up: true,
    });
    return asked.catch((error: unknown) => {
      this.#caller.refusal = causeToldOf(error);
      throw error;
    });
  }

  /** A linear groupcall rings others when those before have ended; while it is there somebody may still answer. */
  #followGroup(group: GroupcallSession): void {
    group.on('dialled', calls => {
      for (const call of calls) call.mayBePickedUp = true;
      this.#follow(calls);
    });
    group.once('ended', () => {
      this.#groups = this.#groups.filter(one => one !== group);
      this.#endWithoutAnswer();
    });
  }

  #follow(legs: CallSession[]): void {
    this.#legs.push(...legs);
    for (const leg of legs) this.#followLeg(leg);
  }

  #followLeg(leg: CallSession): void {
    if (leg.call.status === 'progressing') void this.#answered(leg);
    else if (leg.early) this.#hear(leg);
    if (leg.call.status === 'hangup') this.#ended(leg, leg.released ?? 'failure');
    leg.once('early', () => this.#hear(leg));
    leg.once('progressing', () => void this.#answered(leg));
    void leg.pickedUp.promise.then(by => this.#pickedUp(by));
    leg.once('ended', cause => this.#ended(leg, cause));
  }

  /** A caller who is answered already hears that it rings; an unanswered one has its own phone for that. */
  async #ring(): Promise<void> {
    this.#ringback = new AbortController();
    if (this.#caller.endpoint?.alive) await this.#caller.endpoint.play([RINGBACK], this.#ringback.signal);
  }

  /** Early media (6.4, step 3): the first leg that sends some is heard until it answers, another does, or it ends. */
  #hear(leg: CallSession): void {
    if (this.#callee || this.#heard || this.#causes.has(leg)) return;
    this.#heard = leg;
    this.#ringback.abort();
    this.#inTurn(async () => {
      await this.#caller.progress();
      if (this.#heard === leg) await this.#bridge(leg);
    });
  }

  /** The heard leg ended while others ring. */
  #unhear(): void {
    this.#heard = undefined;
    this.#inTurn(async () => {
      await this.#caller.endpoint?.unbridge();
      if (!this.#callee) void this.#ring();
    });
  }

  /** Early media is a courtesy: where it fails the caller hears nothing until the answer. */
  #inTurn(work: () => Promise<void>): void {
    this.#joining = this.#joining.then(work).catch((error: unknown) => {
      this.#heard = undefined;
      this.#caller.log.info({ error: String(error) }, 'no early media');
    });
  }

  /** May be told twice of a leg: its record says `progressing` a moment before it does. */
  async #answered(leg: CallSession): Promise<void> {
    if (this.#callee === leg) return;
    if (this.#callee) return void leg.hangup('answered_elsewhere');
    this.#callee = leg;
    this.#ringback.abort();
    for (const other of this.#legs) if (other !== leg) void other.hangup('answered_elsewhere');
    for (const group of this.#groups) if (!group.calls.includes(leg)) void group.hangup('answered_elsewhere');
    try {
      await this.#joining;
      await this.#caller.answer();
      if (this.#heard && this.#heard !== leg) await this.#caller.endpoint?.unbridge();
      const { registry } = this.#caller.services;
      const bridge = new ConnectBridge(registry, this.#caller.log);
      const joined = bridge.connect(this.#caller, leg, { heard: this.#heard === leg });
      this.#left = bridge.untilLeft(this.#caller);
      void this.#left.then(() => this.#over.resolve());
      await joined;
    } catch (error) {
      this.#caller.log.warn({ error: String(error) }, 'the legs could not be joined');
      this.#over.resolve();
    }
  }

  /** Another phone takes a leg that rings (RFC 3891 section 3): it is joined as if it had been dialled and had answered. */
  async #pickedUp(by: CallSession): Promise<void> {
    this.#follow([by]);
    await by.answer().catch((error: unknown) => by.log.info({ error: String(error) }, 'gave up before the pick-up'));
    if (this.#signal.aborted) await by.hangup('normal_clearing');
  }

  /** Early media: the media is joined before there is a conversation, and so a bridge. */
  async #bridge(leg: CallSession): Promise<void> {
    const [one, two] = [this.#caller.endpoint, leg.endpoint];
    if (!one || !two) throw new Error('a leg has no media');
    await one.bridge(two);
  }

  #ended(leg: CallSession, cause: ReleaseCause): void {
    this.#causes.set(leg, cause);
    if (leg === this.#callee && !this.#left) this.#over.resolve();
    else if (leg === this.#heard && !this.#callee) this.#unhear();
    this.#endWithoutAnswer();
  }

  #endWithoutAnswer(): void {
    const nobodyLeft = this.#groups.length === 0 && this.#causes.size === this.#legs.length;
    if (nobodyLeft && !this.#left) this.#over.resolve();
  }

  async #dissolve(): Promise<void> {
    await this.#joining;
    this.#ringback.abort();
    if (!this.#callee && this.#heard) await this.#caller.endpoint?.unbridge();
    this.#caller.bridge?.kick(this.#caller.id);
    await this.#left;
    if (!this.#callee) this.#caller.refusal = TELLING.find(cause => [...this.#causes.values()].includes(cause));
    // Who was handed on is in another bridge by now, and stays.
    const groups = this.#groups.filter(group => group.calls.every(leg => !leg.bridge));
    const legs = this.#legs.filter(leg => !leg.bridge);
    await Promise.all([...groups, ...legs].map(one => one.hangup('normal_clearing')));
  }

  /** The caller is released as the callee was (6.4, step 5). */
  async #relay(): Promise<void> {
    const [first] = this.#legs;
    await this.#caller.hangup((first && this.#causes.get(first)) ?? 'normal_clearing');
  }
}
