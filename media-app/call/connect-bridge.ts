import { EventEmitter } from 'node:events';
import { newId } from '#contract/ids';
import { deferred } from '../deferred.ts';
import type { Log } from '#process/log';
import type { CallRegistry } from './registry.ts';
import { type Bridge, type BridgeEvents, setCallAside } from './bridge.ts';
import type { Aside } from './controls.ts';
import { Mailbox } from './mailbox.ts';
import type { CallSession } from './session.ts';

/** One call in the bridge. It moves as it is when the call is taken over by another bridge. */
interface Seat {
  call: CallSession;
  /** Heard by nobody and hearing nobody in here, for a while. */
  aside: boolean;
  left: ReturnType<typeof deferred<void>>;
}

/**
 * The bridge of a connect action: the media server joins the two calls in it that are not set aside. It is over when one
 * is left, unless it is kept open. A call that leaves goes on with its flow; one without a flow is hung up.
 */
export class ConnectBridge extends EventEmitter<BridgeEvents> implements Bridge {
  readonly id = newId();
  inTransfer = false;
  readonly #registry: CallRegistry;
  readonly #seats = new Map<string, Seat>();
  readonly #welcome = new Map<string, CallSession | undefined>();
  /** The media server is asked for one change after the other. */
  readonly #media: Mailbox;
  readonly #log: Log;
  #keptOpen = false;
  #talking: CallSession[] = [];
  #closed = false;

  constructor(registry: CallRegistry, log: Log) {
    super();
    this.#registry = registry;
    this.#log = log.child({ confbridge_id: this.id });
    this.#media = new Mailbox(this.#log);
    registry.confbridges.set(this.id, this);
  }

  get server(): string {
    return this.calls.find(call => call.endpoint)?.endpoint?.server ?? '';
  }

  get calls(): CallSession[] {
    return [...this.#seats.values()].map(seat => seat.call);
  }

  /**
   * Joins two calls; resolves when they hear each other. Rejects, and is over, when they cannot be joined.
   * @param heard their media is joined already: the one was heard before it answered
   */
  async connect(one: CallSession, two: CallSession, { heard }: { heard: boolean }): Promise<void> {
    try {
      for (const call of [one, two]) this.#sit(call);
      if (heard) this.#talking = [one, two];
      if (heard) [one.peer, two.peer] = [two, one];
      await this.#arrange();
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Resolves when the call has left and the media server has let go of it; at once when it is not in. */
  async untilLeft(call: CallSession): Promise<void> {
    await this.#seats.get(call.id)?.left.promise;
  }

  keepOpen(on: boolean): void {
    this.#keptOpen = on;
    this.#closeWhenAlone();
  }

  welcome(flowId: string, inPlaceOf?: CallSession): void {
    this.#welcome.set(flowId, inPlaceOf);
  }

  turnAway(flowId: string): void {
    this.#welcome.delete(flowId);
  }

  async join(call: CallSession, signal: AbortSignal): Promise<void> {
    if (!this.#welcome.has(call.call.flow_id)) throw new Error('the bridge does not let the call in');
    await call.answer();
    if (signal.aborted) return;
    const replaced = this.#seats.get(this.#welcome.get(call.call.flow_id)?.id ?? '');
    if (replaced) replaced.aside = true; // it is on its way out
    const { left } = this.#sit(call);
    signal.addEventListener('abort', () => call.bridge?.kick(call.id), { once: true });
    await this.#arrange();
    this.emit('joined', call);
    await left.promise;
  }

  async setAside(call: CallSession, aside: Aside | undefined): Promise<void> {
    const seat = this.#seats.get(call.id);
    if (seat) seat.aside = aside !== undefined;
    if (aside) await setCallAside(call, aside); // before it is alone, and after it has company: no gap is heard
    await this.#rearrange();
    if (!aside) await setCallAside(call, aside);
  }

  /**
   * Takes a call over from another bridge, in place of one that is on its way out: what waits for it to leave there now
   * waits for it to leave here. False when one of the bridges is over.
   */
  async takeOver(call: CallSession, from: ConnectBridge, inPlaceOf: CallSession): Promise<boolean> {
    const [seat, replaced] = [from.#seats.get(call.id), this.#seats.get(inPlaceOf.id)];
    if (!seat || !replaced || this.#closed) return false;
    replaced.aside = true;
    seat.aside = true; // until its old bridge has let go of it
    from.#unseat(seat);
    this.#seat(seat);
    await from.#rearrange();
    seat.aside = false;
    await this.#rearrange();
    return true;
  }

  kick(callId: string): boolean {
    const seat = this.#seats.get(callId);
    if (seat) this.#leave(seat);
    return seat !== undefined;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#registry.confbridges.delete(this.id);
    for (const seat of [...this.#seats.values()]) this.#leave(seat);
    this.emit('closed');
  }

  #sit(call: CallSession): Seat {
    if (this.#closed) throw new Error('the bridge is over');
    if (call.bridge) throw new Error('the call is in a bridge already');
    if (call.released || !call.endpoint?.alive) throw new Error('the call has no media');
    const seat = { call, aside: false, left: deferred<void>() };
    this.#seat(seat);
    call.once('ended', () => call.bridge?.kick(call.id));
    return seat;
  }

  #seat(seat: Seat): void {
    this.#seats.set(seat.call.id, seat);
    seat.call.bridge = this;
  }

  #unseat({ call }: Seat): void {
    this.#seats.delete(call.id);
    part(call);
    call.bridge = undefined;
  }

  #leave(seat: Seat): void {
    this.#unseat(seat);
    if (!seat.call.flow) void seat.call.hangup('normal_clearing');
    void this.#rearrange().then(() => seat.left.resolve());
    this.emit('leaved', seat.call);
    this.#closeWhenAlone();
  }

  #closeWhenAlone(): void {
    if (this.#seats.size === 0 || (this.#seats.size === 1 && !this.#keptOpen)) this.close();
  }

  /** As `#arrange` where nobody is there to be told: a conversation that cannot be had is over. */
  async #rearrange(): Promise<void> {
    await this.#arrange().catch((error: unknown) => {
      this.#log.warn({ error: String(error) }, 'the calls could not be joined');
      this.close();
    });
  }

  /** Brings the media in line with who is in and not aside. */
  #arrange(): Promise<void> {
    return this.#media.post(async () => {
      const wanted = this.#wanted();
      if (sameCalls(wanted, this.#talking)) return;
      const before = this.#talking;
      this.#talking = wanted;
      await this.#takeApart(before);
      const [one, two] = wanted;
      if (!one?.endpoint || !two?.endpoint) return;
      await one.endpoint.bridge(two.endpoint);
      if (one.bridge === this && two.bridge === this) [one.peer, two.peer] = [two, one];
    });
  }

  #wanted(): CallSession[] {
    const calls = [...this.#seats.values()].filter(seat => !seat.aside).map(seat => seat.call);
    return calls.length === 2 ? calls : [];
  }

  async #takeApart(calls: CallSession[]): Promise<void> {
    calls.forEach(part);
    await calls.find(call => call.endpoint?.alive)?.endpoint?.unbridge();
  }
}

/** Neither of two calls hears the other any more. */
const part = (call: CallSession): void => {
  if (call.peer) call.peer.peer = undefined;
  call.peer = undefined;
};

const sameCalls = (one: CallSession[], two: CallSession[]): boolean =>
  one.length === two.length && one.every(call => two.includes(call));
