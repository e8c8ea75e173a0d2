import type { Source } from '../hop.ts';
import type { SipResponse } from '../message.ts';
import { ClientTransaction } from './client.ts';

type State = 'trying' | 'proceeding' | 'completed' | 'terminated';

/** Non-INVITE client transaction (RFC 3261 17.1.2). */
export class NonInviteClientTransaction extends ClientTransaction {
  #state: State = 'trying';

  get finished(): boolean {
    return this.#state === 'completed' || this.#state === 'terminated';
  }

  start(): void {
    const { T1 } = this.wire.timers;
    this.transmit();
    if (!this.reliable) this.#repeat(T1);
    this.alarms.set('F', 64 * T1, () => this.expire());
  }

  #repeat(after: number): void {
    const { T1, T2 } = this.wire.timers;
    this.alarms.set('E', after, () => {
      this.transmit();
      if (after === T1) this.probe();
      this.#repeat(this.#state === 'proceeding' ? T2 : Math.min(after * 2, T2));
    });
  }

  receive(response: SipResponse, source: Source): void {
    if (this.finished) return;
    if (response.status < 200) this.#state = 'proceeding';
    else this.#complete();
    this.emit('response', response, source);
  }

  /** Timer K absorbs repeats of the response. */
  #complete(): void {
    this.#state = 'completed';
    this.alarms.clearAll();
    this.alarms.set('K', this.reliable ? 0 : this.wire.timers.T4, () => this.end());
  }

  override end(): void {
    this.#state = 'terminated';
    super.end();
  }
}
