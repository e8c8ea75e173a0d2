import type { CallSession } from './session.ts';

/** Checks a leg may fail in a row before it counts as gone (voice-and-flows 8.7: after two retries). */
const RETRIES = 2;
const PROBE_DEADLINE_MS = 5000;

/**
 * Finds phones that vanished without BYE. A leg that sends audio is there; one that has gone silent is asked by
 * OPTIONS, and hung up when it fails to answer three times in a row.
 */
export class HealthCheck {
  readonly #session: CallSession;
  readonly #intervalMs: number;
  #timer: NodeJS.Timeout | undefined;
  #packets = -1;
  #failures = 0;

  constructor(session: CallSession, intervalMs: number) {
    this.#session = session;
    this.#intervalMs = intervalMs;
  }

  /** Looks after the call from now on. */
  start(): void {
    this.#timer = setTimeout(() => void this.#check(), this.#intervalMs);
  }

  /** Looks no more. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #check(): Promise<void> {
    const there =
      (await this.#heard()) || (await this.#session.leg.probe(Math.min(PROBE_DEADLINE_MS, this.#intervalMs)));
    if (!this.#timer) return;
    this.#failures = there ? 0 : this.#failures + 1;
    if (this.#failures <= RETRIES) return this.start();
    this.#session.log.warn('the phone vanished: no audio and no answer');
    await this.#session.leg.release('normal_clearing');
  }

  async #heard(): Promise<boolean> {
    try {
      const packets = (await this.#session.endpoint?.packetsReceived()) ?? 0;
      const more = packets > this.#packets;
      this.#packets = packets;
      return more && packets > 0;
    } catch {
      return false; // the media server cannot tell; the phone itself is asked next
    }
  }
}
