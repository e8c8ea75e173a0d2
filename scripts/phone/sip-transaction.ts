import type { SipRequest, SipResponse } from './sip-message.ts';

/** RFC 3261 section 17: transactions, with the retransmissions of both sides. Times in milliseconds. */

export interface Timing {
  t1_ms: number;
  t2_ms: number;
}

export const RFC_TIMING: Timing = { t1_ms: 500, t2_ms: 4000 };

interface Surroundings {
  reliable: boolean;
  timing: Timing;
  /** The transaction's last timer has run; nobody needs to find it any more. */
  done(): void;
}

export interface ClientHandlers extends Surroundings {
  send(): void;
  /** Every provisional response, the first final one, and for INVITE each 2xx again (the caller repeats its ACK). */
  response(response: SipResponse, at: number): void;
  /** INVITE only: a final response other than 2xx has to be acknowledged within the transaction (section 17.1.1.3). */
  acknowledge(response: SipResponse): void;
  timeout(): void;
}

/** Repeats a task after growing pauses until stopped. */
class Repeater {
  #timer: NodeJS.Timeout | undefined;

  start(task: () => void, pause_ms: number, longest_ms: number): void {
    this.stop();
    this.#timer = setTimeout(() => {
      task();
      this.start(task, Math.min(pause_ms * 2, longest_ms), longest_ms);
    }, pause_ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

/** A request of ours and its answers (RFC 3261 section 17.1): it is repeated over UDP until there is one. */
export class ClientTransaction {
  readonly request: SipRequest;
  #handlers: ClientHandlers;
  #state: 'calling' | 'proceeding' | 'completed' | 'closed' = 'calling';
  #repeater = new Repeater();
  #deadline: NodeJS.Timeout | undefined;

  constructor(request: SipRequest, handlers: ClientHandlers) {
    this.request = request;
    this.#handlers = handlers;
  }

  /** Sends the request and starts timers A and B, or E and F. */
  start(): void {
    const { t1_ms, t2_ms } = this.#handlers.timing;
    this.#handlers.send();
    if (!this.#handlers.reliable)
      this.#repeater.start(() => this.#handlers.send(), t1_ms, this.#isInvite() ? Infinity : t2_ms);
    this.#deadline = setTimeout(() => this.fail(), 64 * t1_ms);
  }

  receive(response: SipResponse, at: number): void {
    if (this.#state === 'closed') return;
    if (this.#state === 'completed') return this.#again(response, at);
    if (response.status < 200) return this.#provisional(response, at);
    this.#repeater.stop();
    clearTimeout(this.#deadline);
    this.#state = 'completed';
    this.#deadline = setTimeout(() => this.close(), 64 * this.#handlers.timing.t1_ms).unref();
    if (this.#isInvite() && response.status >= 300) this.#handlers.acknowledge(response);
    this.#handlers.response(response, at);
  }

  /** No answer came, or the connection broke. */
  fail(): void {
    if (this.#state === 'completed' || this.#state === 'closed') return;
    this.close();
    this.#handlers.timeout();
  }

  close(): void {
    this.#repeater.stop();
    clearTimeout(this.#deadline);
    this.#state = 'closed';
    this.#handlers.done();
  }

  #isInvite(): boolean {
    return this.request.method === 'INVITE';
  }

  #provisional(response: SipResponse, at: number): void {
    this.#state = 'proceeding';
    if (this.#isInvite()) {
      this.#repeater.stop();
      clearTimeout(this.#deadline);
    }
    this.#handlers.response(response, at);
  }

  #again(response: SipResponse, at: number): void {
    if (!this.#isInvite() || response.status < 200) return;
    if (response.status >= 300) this.#handlers.acknowledge(response);
    else this.#handlers.response(response, at);
  }
}

export interface ServerHandlers extends Surroundings {
  send(response: SipResponse): void;
  /** A final response to INVITE was never acknowledged (timer H, section 13.3.1.4). */
  unacknowledged(): void;
}

/** A request to us and our answers (RFC 3261 section 17.2): repeats hear the latest one again. */
export class ServerTransaction {
  readonly request: SipRequest;
  #handlers: ServerHandlers;
  #last: SipResponse | undefined;
  #repeater = new Repeater();
  #deadline: NodeJS.Timeout | undefined;

  constructor(request: SipRequest, handlers: ServerHandlers) {
    this.request = request;
    this.#handlers = handlers;
  }

  get finished(): boolean {
    return this.#last !== undefined && this.#last.status >= 200;
  }

  /** Called for the same request again: the last answer is repeated. */
  repeat(): void {
    if (this.#last) this.#handlers.send(this.#last);
  }

  /** Sends a response. A final one to INVITE is repeated until `acknowledged` (timer G; 2xx on any transport). */
  respond(response: SipResponse): void {
    if (this.finished) return;
    this.#last = response;
    this.#handlers.send(response);
    if (response.status < 200) return;
    if (this.request.method === 'INVITE') this.#awaitAck(response);
    else this.#linger();
  }

  acknowledged(): void {
    this.#repeater.stop();
    this.#linger();
  }

  close(): void {
    this.#repeater.stop();
    clearTimeout(this.#deadline);
    this.#handlers.done();
  }

  #awaitAck(response: SipResponse): void {
    const { t1_ms, t2_ms } = this.#handlers.timing;
    if (response.status < 300 || !this.#handlers.reliable) this.#repeater.start(() => this.repeat(), t1_ms, t2_ms);
    this.#deadline = setTimeout(() => {
      this.close();
      this.#handlers.unacknowledged();
    }, 64 * t1_ms);
  }

  #linger(): void {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.close(), 64 * this.#handlers.timing.t1_ms).unref();
  }
}
