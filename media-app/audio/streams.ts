import { PlatformError } from '#contract/errors';
import type { MediaEndpoint } from '../media/endpoint.ts';

/** Media streams and external media of one call or conference at a time (voice-and-flows 15). */
const MOST_STREAMS = 5;

/** What brings audio out and other audio in. */
export interface RunningStream {
  /** Started by `external_media_start`, and ended by `external_media_stop`. */
  readonly external: boolean;
  /** Ends it; what it streams has ended, or whoever started it wants that. */
  end(): void;
}

/** What a stream needs to know of what it streams. */
export interface Streamed {
  /** The leg that is heard and spoken to. */
  readonly endpoint: MediaEndpoint | undefined;
  /** The leg on the other side of the bridge, while there is one. */
  readonly peerEndpoint: MediaEndpoint | undefined;
}

/** The streams of one call or conference: counted, and ended with it. */
export class Streams {
  readonly #of: 'call' | 'conference';
  readonly #streams = new Set<RunningStream>();
  #over = false;

  constructor(of: 'call' | 'conference') {
    this.#of = of;
  }

  /**
   * Takes a place; give it back by `leave`.
   * @throws PlatformError RESOURCE_LIMIT_EXCEEDED, or CALL_STATE_INVALID or STATE_INVALID when it is over
   */
  enter(stream: RunningStream): void {
    const ended = this.#of === 'call' ? 'CALL_STATE_INVALID' : 'STATE_INVALID';
    if (this.#over) throw new PlatformError(ended, `The ${this.#of} has ended.`);
    if (this.#streams.size >= MOST_STREAMS)
      throw new PlatformError('RESOURCE_LIMIT_EXCEEDED', `A ${this.#of} has ${MOST_STREAMS} media streams at most.`);
    this.#streams.add(stream);
  }

  /** The stream is over: its place is free. */
  leave(stream: RunningStream): void {
    this.#streams.delete(stream);
  }

  /** Ends the streams that `external_media_start` began. */
  endExternal(): void {
    for (const stream of [...this.#streams]) if (stream.external) stream.end();
  }

  /** The call or conference is over, and everything with it. */
  end(): void {
    this.#over = true;
    for (const stream of [...this.#streams]) stream.end();
  }
}
