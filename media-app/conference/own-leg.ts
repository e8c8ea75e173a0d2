import { deferred } from '../deferred.ts';
import type { MediaEndpoint } from '../media/endpoint.ts';
import { openLink } from '../media/link.ts';
import type { MediaServers } from '../media/servers.ts';
import type { Confbridge } from './confbridge.ts';

/**
 * A leg of ours in the mixer of a conference, which nobody counts. While it sits there the mixer stays, on its media server,
 * even when nobody else is in. One that `speaks` has a second leg of ours at its far end: what that one says is what the
 * conference sounds like, and what it is told everybody hears.
 */
export class OwnLeg {
  readonly peerEndpoint = undefined;
  readonly #media: MediaServers;
  readonly #bridge: Confbridge;
  readonly #speaks: boolean;
  readonly #left = deferred<void>();
  #seat: MediaEndpoint | undefined;
  #far: MediaEndpoint | undefined;
  #closed = false;

  constructor(media: MediaServers, bridge: Confbridge, does: 'listens' | 'speaks') {
    this.#media = media;
    this.#bridge = bridge;
    this.#speaks = does === 'speaks';
  }

  /** The leg in the mixer. */
  get seat(): MediaEndpoint | undefined {
    return this.#seat;
  }

  /** The leg at its far end. */
  get endpoint(): MediaEndpoint | undefined {
    return this.#far;
  }

  /** Resolves when it is out of the mixer again, for whatever reason. */
  get left(): Promise<void> {
    return this.#left.promise;
  }

  /** Takes its seat. Rejects when the media server does not give it, or it was closed meanwhile. */
  async open(): Promise<void> {
    try {
      const { server } = this.#bridge;
      if (this.#speaks) ({ near: this.#far, far: this.#seat } = await openLink(this.#media, server, server));
      else this.#seat = await this.#media.createEndpoint(undefined, server);
      if (this.#closed) throw new Error('closed before it was open');
      // FreeSWITCH does not mix what one says who is alone; a ghost is no company to it, what a conference is streamed to is.
      const { left } = await this.#bridge.seat(this.#seat, this.#speaks ? [] : ['ghost', 'mute']);
      void left.finally(() => this.#left.resolve());
      if (this.#closed) throw new Error('closed before it was open');
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Leaves and gives its legs back. Never rejects. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([this.#seat?.destroy(), this.#far?.destroy()]);
    this.#left.resolve();
  }
}
