import { reasonHeader, sipStatusOfCause, type ReleaseCause } from '#contract/hangup';
import type { Log } from '#process/log';
import type { MediaEndpoint } from '../media/endpoint.ts';
import { audioOffer } from '../media/sdp.ts';
import type { MediaServers } from '../media/servers.ts';
import { CAPABILITIES } from './capabilities.ts';
import { Leg } from './leg.ts';
import type { SipRequest, SipResponse } from './srf.ts';
import type { SipServer } from './servers.ts';

/** A call that came in: rings at once, is answered or refused later. */
export class IncomingLeg extends Leg {
  readonly #request: SipRequest;
  readonly #response: SipResponse;
  readonly #server: SipServer;
  readonly #media: MediaServers;
  #mediaServer: string;
  #preparing: Promise<MediaEndpoint> | undefined;
  #canceled = false;

  /** @param mediaServer the media server to prefer, so that this leg meets others there */
  constructor(
    request: SipRequest,
    response: SipResponse,
    server: SipServer,
    media: MediaServers,
    log: Log,
    mediaServer = '',
  ) {
    super(server, log);
    this.#request = request;
    this.#response = response;
    this.#server = server;
    this.#media = media;
    this.#mediaServer = media.pick(mediaServer);
    this.capture.follow(request.get('call-id') ?? '');
    request.on('cancel', () => this.#onCancel());
    this.once('released', () => this.#drop());
  }

  /** Settled before it has media, so that whoever is rung for it is rung from there. */
  override get mediaServer(): string {
    return this.endpoint?.server ?? this.#mediaServer;
  }

  override meetAt(mediaServer: string): void {
    if (!this.#preparing) this.#mediaServer = this.#media.pick(mediaServer || this.#mediaServer);
  }

  /** 180 to the caller. */
  ring(): void {
    this.#response.send(180, { headers: CAPABILITIES });
  }

  /** Asks the media server for an endpoint ahead of `answer`, while the records are being written. */
  prepare(): void {
    this.#preparing ??= this.#media.createEndpoint(this.#request.body || undefined, this.#mediaServer);
    this.#preparing.catch(() => undefined); // `answer` reports it
  }

  /** 183 to the caller with the media server's SDP, so that it hears before the answer. Rejects when it gave up. */
  async progress(): Promise<void> {
    if (this.endpoint) return;
    // Without an offer ours comes with the answer (RFC 3261 section 13.2.1).
    if (!this.#request.body) throw new Error('the caller described no media');
    const endpoint = await this.#prepared();
    this.use(endpoint);
    this.#response.send(183, {
      headers: { ...CAPABILITIES, 'Content-Type': 'application/sdp' },
      body: endpoint.localSdp,
    });
  }

  /** 200 to the caller with the media server's SDP. Rejects when the caller gave up meanwhile. */
  async answer(): Promise<void> {
    const endpoint = await this.#prepared();
    if (!this.endpoint) this.use(endpoint);
    const offered = this.#request.body !== '';
    const localSdp = offered ? endpoint.localSdp : audioOffer(endpoint.localSdp);
    const dialog = await this.#server.srf.createUAS(this.#request, this.#response, {
      localSdp,
      headers: { ...CAPABILITIES },
    });
    this.adopt(dialog);
    if (!offered)
      dialog.once('ack', (ack: SipRequest) => void endpoint.modify(ack.body).catch(() => this.release('failure')));
  }

  protected override async refuse(cause: ReleaseCause): Promise<void> {
    const headers = { Reason: reasonHeader(cause) };
    if (!this.#response.finalResponseSent) this.#response.send(sipStatusOfCause(cause), { headers });
    this.finish(cause);
  }

  async #prepared(): Promise<MediaEndpoint> {
    this.prepare();
    const endpoint = await this.#preparing;
    if (!endpoint || this.#canceled) throw new Error('the caller gave up');
    return endpoint;
  }

  #onCancel(): void {
    this.#canceled = true;
    this.finish('normal_clearing');
  }

  /** An endpoint that was prepared and is not needed must not stay behind. */
  #drop(): void {
    if (this.endpoint) return; // in use: it goes with the leg
    void this.#preparing?.then(endpoint => endpoint.destroy()).catch(() => undefined); // it never came to be
  }
}
