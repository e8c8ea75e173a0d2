import type { Endpoint, EslEvent } from 'drachtio-fsmrf';

export const MAINTENANCE = 'esl::event::CUSTOM::*';

/**
 * One leg's seat in a conference of its media server. The conference is made with its first member and is gone with its
 * last. fsmrf's `join` tells when a leg is in but not when it is out, so the application is run here and followed to its
 * end.
 */
export class ConferenceSeat {
  readonly #endpoint: Endpoint;
  readonly #name: string;
  readonly #flags: readonly string[];
  readonly #onJoined: () => void;
  #member: string | undefined;
  #leaving = false;

  constructor(endpoint: Endpoint, name: string, flags: readonly string[], onJoined: () => void) {
    this.#endpoint = endpoint;
    this.#name = name;
    this.#flags = flags;
    this.#onJoined = onJoined;
  }

  /** Takes the seat; resolves when the leg is out again. Rejects when it could not be taken. */
  async sit(): Promise<void> {
    const { conn } = this.#endpoint;
    const hear = (event: EslEvent) => this.#hear(event);
    conn?.on(MAINTENANCE, hear);
    try {
      const flags = this.#flags.length > 0 ? `+flags{${this.#flags.join('|')}}` : '';
      await this.#endpoint.execute('conference', `${this.#name}@default${flags}`);
    } finally {
      conn?.removeListener(MAINTENANCE, hear);
    }
    if (!this.#member && !this.#leaving) throw new Error('the media server did not let the leg into the conference');
  }

  /** Gives the seat up, at once or as soon as it is taken. Rejects when the media server does not answer. */
  async leave(): Promise<void> {
    this.#leaving = true;
    // `hup` is `kick` without a sound; the leg goes on with what comes next.
    if (this.#member) await this.#endpoint.api('conference', `${this.#name} hup ${this.#member}`);
  }

  #hear(event: EslEvent): void {
    if (event.getHeader('Event-Subclass') !== 'conference::maintenance') return;
    if (event.getHeader('Action') !== 'add-member' || event.getHeader('Unique-ID') !== this.#endpoint.uuid) return;
    this.#member = event.getHeader('Member-ID');
    if (this.#leaving)
      void this.leave().catch(() => undefined); // the leg is gone, and its seat with it
    else this.#onJoined();
  }
}
