import type { SipResponse } from '../message.ts';
import type { Remains } from './afterlife.ts';
import { isChallenge, ServerTransaction } from './server.ts';

type State = 'trying' | 'completed' | 'terminated';

/** How long a request may stay without a final answer before it is forgotten, in T1. */
const PATIENCE = 128;

/** Non-INVITE server transaction (RFC 3261 17.2.2). */
export class NonInviteServerTransaction extends ServerTransaction {
  #state: State = 'trying';

  get answered(): boolean {
    return this.#state !== 'trying';
  }

  start(): void {
    this.alarms.set('patience', PATIENCE * this.wire.timers.T1, () => this.#forgotten());
  }

  #forgotten(): void {
    this.end();
    this.emit('timeout');
  }

  respond(response: SipResponse): void {
    if (this.answered) return;
    this.complete(response);
    this.transmit(response);
    if (response.status >= 200) this.#complete(isChallenge(response.status));
  }

  /** A challenge is soon forgotten: what is repeated after that is challenged anew (RFC 3261 26.3.2.4). */
  #complete(challenged: boolean): void {
    const { T1, T4 } = this.wire.timers;
    this.#state = 'completed';
    this.leave(this.reliable ? 0 : challenged ? T4 : 64 * T1); // timer J
  }

  retransmitted(): void {
    this.repeat();
  }

  override end(remains?: Remains): void {
    this.#state = 'terminated';
    super.end(remains);
  }
}
