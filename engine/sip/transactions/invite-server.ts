import type { Source } from '../hop.ts';
import { headerOf, responseTo, type SipRequest, type SipResponse } from '../message.ts';
import type { Remains } from './afterlife.ts';
import { isChallenge, ServerTransaction } from './server.ts';

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
  #provisional = false;
  #taggedTo: string | undefined;

  get answered(): boolean {
    return this.#state !== 'proceeding';
  }

  /** A 2xx is out; the ACK may or may not have come. */
  get accepted(): boolean {
    return this.#state === 'accepted';
  }

  /** The To value of the responses sent so far, tag included. */
  get taggedTo(): string | undefined {
    return this.#taggedTo;
  }

  start(): void {
    this.alarms.set('100', TRYING_MS, () => this.respond(responseTo(this.request, 100)));
  }

  respond(response: SipResponse): void {
    if (this.answered) return;
    this.alarms.clear('100');
    this.#provisional ||= response.status < 200;
    this.complete(response);
    this.#taggedTo = headerOf(response, 'to');
    if (isChallenge(response.status)) this.#challenge();
    else if (response.status >= 300) this.#enter('completed', 'H');
    else if (response.status >= 200) this.#enter('accepted', 'L');
    if (this.#state === 'accepted') this.emit('accepted', response);
    this.transmit(response);
  }

  /**
   * A stranger is not told again and again for half a minute, nor remembered so long (RFC 3261 26.3.2.4): one who has not
   * heard a provisional response asks again itself, one who has gets a few repeats in case the challenge was lost.
   */
  #challenge(): void {
    const { T1, T4 } = this.wire.timers;
    this.#state = 'completed';
    if (!this.reliable && this.#provisional) this.#repeat(T1);
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
