import type { Source } from '../hop.ts';
import { headerOf, serialize, type HeaderInput, type SipRequest, type SipResponse } from '../message.ts';
import { ClientTransaction, companion, type CancelResult } from './client.ts';

type State = 'calling' | 'proceeding' | 'completed' | 'accepted' | 'terminated';

/** INVITE client transaction (RFC 3261 17.1.1 with the Accepted state of RFC 6026 7.2). */
export class InviteClientTransaction extends ClientTransaction {
  #state: State = 'calling';
  #ack: SipRequest | undefined;
  /** Further headers of a CANCEL that waits for a provisional response. */
  #heldCancel: HeaderInput | undefined;
  #cancelled = false;

  get finished(): boolean {
    return this.#state !== 'calling' && this.#state !== 'proceeding';
  }

  start(): void {
    const { T1 } = this.wire.timers;
    this.transmit();
    if (!this.reliable) this.#repeat(T1);
    this.alarms.set('B', 64 * T1, () => this.expire());
  }

  #repeat(after: number): void {
    this.alarms.set('A', after, () => {
      this.transmit();
      if (after === this.wire.timers.T1) this.probe();
      this.#repeat(after * 2);
    });
  }

  receive(response: SipResponse, source: Source): void {
    if (this.#state === 'terminated') return;
    if (response.status < 200) this.#provisional(response, source);
    else if (response.status < 300) this.#success(response, source);
    else this.#failure(response, source);
  }

  #provisional(response: SipResponse, source: Source): void {
    if (this.finished) return;
    this.#state = 'proceeding';
    this.alarms.clear('A');
    if (!this.#cancelled) this.alarms.clear('B');
    if (this.#heldCancel) this.#sendCancel(this.#cancelWith(this.#heldCancel));
    this.#heldCancel = undefined;
    this.emit('response', response, source);
  }

  /** Every 2xx goes to the user, repeats and other forks too: he sends the ACK (RFC 6026 7.2). */
  #success(response: SipResponse, source: Source): void {
    if (this.#state === 'completed') return;
    if (this.#state !== 'accepted') this.#settle('accepted', 64 * this.wire.timers.T1);
    this.emit('response', response, source);
  }

  #failure(response: SipResponse, source: Source): void {
    if (this.#state === 'accepted') return;
    if (this.#state === 'completed') return this.#sendAck();
    this.#ack = companion('ACK', this.request, headerOf(response, 'to') ?? '');
    this.#sendAck();
    // Timer D (RFC 3261 17.1.1.2): long enough to ACK every repeat, nothing to wait for on a stream.
    this.#settle('completed', this.reliable ? 0 : 64 * this.wire.timers.T1);
    this.emit('response', response, source);
  }

  #settle(state: 'completed' | 'accepted', lingerMs: number): void {
    this.#state = state;
    this.#heldCancel = undefined;
    this.alarms.clearAll();
    this.alarms.set('linger', lingerMs, () => this.end());
  }

  #sendAck(): void {
    // The peer repeats its final response if this ACK is lost, so a failure to send needs no handling.
    if (this.#ack) this.wire.send(serialize(this.#ack), this.hop, () => undefined);
  }

  override cancel(headers: HeaderInput = {}): CancelResult | undefined {
    if (this.finished) return undefined;
    const request = this.#cancelWith(headers);
    const held = this.#state === 'calling';
    this.#cancelled = true;
    if (held) this.#heldCancel = headers;
    else this.#sendCancel(request);
    return { request, held };
  }

  #cancelWith(headers: HeaderInput): SipRequest {
    return companion('CANCEL', this.request, headerOf(this.request, 'to') ?? '', headers);
  }

  /** The CANCEL is repeated like any non-INVITE until the INVITE ends; give up after 64*T1 (RFC 3261 9.1). */
  #sendCancel(request: SipRequest): void {
    const { T1, T2 } = this.wire.timers;
    const transmit = (wait: number): void => {
      this.wire.send(serialize(request), this.hop, error => this.fail(error));
      if (!this.reliable) this.alarms.set('E', wait, () => transmit(Math.min(wait * 2, T2)));
    };
    transmit(T1);
    this.alarms.set('B', 64 * T1, () => this.expire());
  }

  /** 200 to our CANCEL: it has arrived. */
  cancelAnswered(): void {
    this.alarms.clear('E');
  }

  override end(): void {
    this.#state = 'terminated';
    super.end();
  }
}
