import { PlatformError } from '#contract/errors';
import type { MediaEndpoint } from '../media/endpoint.ts';

/** Media streams and external media of one call at a time (voice-and-flows 15). */
export const MOST_STREAMS = 5;

/** What brings a call's audio out and other audio in. */
export interface CallStream {
  /** Started by `external_media_start`, and ended by `external_media_stop`. */
  readonly external: boolean;
  /** Ends it; the call has ended, or whoever started it wants that. */
  end(): void;
}

/** What a stream needs to know of its call. */
export interface StreamedCall {
  /** The call's own leg. */
  readonly endpoint: MediaEndpoint | undefined;
  /** The leg on the other side of the bridge, while there is one. */
  readonly peerEndpoint: MediaEndpoint | undefined;
}

/** The streams of one call: counted, and ended with the call. */
export class CallAudio {
  readonly #streams = new Set<CallStream>();
  #over = false;

  /**
   * Takes a place; give it back by `leave`.
   * @throws PlatformError RESOURCE_LIMIT_EXCEEDED, or CALL_STATE_INVALID when the call is over
   */
  enter(stream: CallStream): void {
    if (this.#over) throw new PlatformError('CALL_STATE_INVALID', 'The call has ended.');
    if (this.#streams.size >= MOST_STREAMS)
      throw new PlatformError('RESOURCE_LIMIT_EXCEEDED', `A call has ${MOST_STREAMS} media streams at most.`);
    this.#streams.add(stream);
  }

  leave(stream: CallStream): void {
    this.#streams.delete(stream);
  }

  endExternal(): void {
    for (const stream of [...this.#streams]) if (stream.external) stream.end();
  }

  /** The call is over, and everything with it. */
  end(): void {
    this.#over = true;
    for (const stream of [...this.#streams]) stream.end();
  }
}
