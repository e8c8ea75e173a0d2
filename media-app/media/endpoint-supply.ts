import type { MediaEndpoint } from './endpoint.ts';
import type { AddressFamily, OfferKind } from './offer-kind.ts';
import type { MediaServers } from './servers.ts';

/** An endpoint whose description is an offer of this kind, to be reached over these addresses. */
export type MakeEndpoint = (kind: OfferKind, family?: AddressFamily) => Promise<MediaEndpoint>;

/**
 * Endpoints for the legs of one request. The first is asked for at once, while the request is still being checked,
 * because a media server takes longer to make one than we take to check; one that is not needed goes back. It offers
 * plain RTP over IPv4, as most do: a leg that wants another kind gets its own.
 */
export class EndpointSupply {
  readonly #media: MediaServers;
  readonly #server: string;
  #first: Promise<MediaEndpoint> | undefined;

  constructor(media: MediaServers, server = '') {
    this.#media = media;
    this.#server = server;
    this.#first = media.createEndpoint(undefined, server);
    this.#first.catch(() => undefined); // whoever takes it reports it
  }

  /** The endpoint for the next leg. */
  take(kind: OfferKind, family: AddressFamily = 'ipv4'): Promise<MediaEndpoint> {
    if (kind !== 'plain' || family !== 'ipv4') this.returnUnused();
    const endpoint = this.#first ?? this.#media.createEndpoint(undefined, this.#server, kind, family);
    this.#first = undefined;
    return endpoint;
  }

  /** Frees the endpoint that nobody took. */
  returnUnused(): void {
    void this.#first?.then(endpoint => endpoint.destroy()).catch(() => undefined); // it never came to be
    this.#first = undefined;
  }
}
