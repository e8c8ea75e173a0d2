import type { Source } from '../hop.ts';
import { responseTo, type SipRequest, type SipResponse } from '../message.ts';
import type { Remains } from './afterlife.ts';
import { ServerTransaction } from './server.ts';

type State = 'proceeding' | 'completed' | 'accepted' | 'terminated';

/** RFC 3261 17.2.1: the stack says Trying when the user has said nothing after 200 ms. */
const TRYING_MS = 200;

/**
 * INVITE server transaction (RFC 3261 17.2.1 with the Accepted state of RFC 6026 7.1). It also repeats a 2xx over UDP
 * until its ACK (RFC 3261 13.3.1.4), so that no user has to. With the ACK it is over; what still comes is swallowed.
 */
export class InviteServerTransaction extends ServerTransaction {
  #state: State = 'proceeding';
  #waiting = false;
  /** The highest status that was sent. */
  #said = 0;

  get answered(): boolean {
    return this.#state !== 'proceeding';
  }

  /** A 2xx is out; the ACK may or may not have come. */
  get accepted(): boolean {
    return this.#state === 'accepted';
  }

  override get served(): boolean {
    return this.#said > 100 && this.#said < 300;
  }

  start(): void {
    this.alarms.set('100', TRYING_MS, () => this.respond(responseTo(this.request, 100)));
  }

  respond(response: SipResponse): void {
    if (this.answered) return;
    this.alarms.clear('100');
    const before = this.#said;
    this.#said = response.status;
    this.complete(response);
    if (response.status >= 200 && response.status < 300) this.#accept(response);
    this.transmit(response);
    if (response.status >= 300) this.#fail(before);
  }

  #accept(response: SipResponse): void {
    this.#enter('accepted', 'L');
    this.emit('accepted', response);
  }

  /**
   * Whom nobody began to serve is a stranger as far as we know, and its address may be a third party's: such a one is not
   * told again and again for half a minute, nor remembered so long. One that heard nothing yet asks again itself and hears
   * the same, as without state (RFC 3261 8.2.7, 26.3.2.4); one that heard Trying does not, and gets a few repeats.
   */
  #fail(saidBefore: number): void {
    if (saidBefore > 100) return this.#enter('completed', 'H');
    const { T1, T4 } = this.wire.timers;
    this.#state = 'completed';
    if (this.reliable || saidBefore === 0) return this.leave(this.reliable ? 0 : T4);
    this.#repeat(T1);
    this.alarms.set('H', T4, () => this.end());
  }

  #enter(state: 'completed' | 'accepted', deadline: 'H' | 'L'): void {
    const { T1 } = this.wire.timers;
    this.#state = state;
    this.#waiting = true;
    if (!this.reliable) this.#repeat(T1);
    this.alarms.set(deadline, 64 * T1, () => this.#unacknowledged());
  }

  #repeat(after: number): void {
    this.alarms.set('G', after, () => {
      this.repeat();
      this.#repeat(Math.min(after * 2, this.wire.timers.T2));
    });
  }

  #unacknowledged(): void {
    const missing = this.#waiting;
    this.end();
    if (missing) this.emit('timeout');
  }

  retransmitted(): void {
    this.repeat();
  }

  /** An ACK that belongs to this INVITE. After a failure it ends here; after a 2xx the user hears 'ack'. */
  acknowledged(request: SipRequest, source: Source): void {
    this.alarms.clear('G');
    const first = this.#waiting;
    this.#waiting = false;
    if (this.#state === 'completed') return this.leave(this.reliable ? 0 : this.wire.timers.T4, true); // timer I
    if (this.#state !== 'accepted' || !first) return;
    this.emit('ack', request, source);
    this.leave(64 * this.wire.timers.T1, true);
  }

  override relax(): void {
    if (this.#state !== 'accepted') return;
    this.#waiting = false;
    this.leave(64 * this.wire.timers.T1, true);
  }

  override end(remains?: Remains): void {
    this.#state = 'terminated';
    super.end(remains);
  }
}
