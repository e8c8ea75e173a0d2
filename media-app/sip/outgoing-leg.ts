import { causeOfSipStatus, type ReleaseCause } from '#contract/hangup';
import type { Log } from '../log.ts';
import type { MediaEndpoint } from '../media/endpoint.ts';
import { plainAudioOffer } from '../media/sdp.ts';
import { CAPABILITIES } from './capabilities.ts';
import { Leg } from './leg.ts';
import type { SipServer } from './servers.ts';
import type { SipAddress } from './seen-message.ts';
import type { SipError, SipRequest, SipResponse } from './srf.ts';
import { isAddress, parseSipUri } from './uri.ts';

/** Whom to dial and how it gets there. */
export interface DialTarget {
  uri: string;
  /** Next hop when it is not where the URI points (a phone behind NAT). */
  proxy: string;
  /** The SIP server that must be used, empty for any. */
  sip_server: string;
  /** Extra headers, From among them. */
  headers: Record<string, string>;
}

/** Where a URI leads, when it says so by address. */
const addressOf = (text: string): SipAddress | undefined => {
  const uri = parseSipUri(text);
  return uri && isAddress(uri.host) ? { address: uri.host, port: uri.port ?? 5060 } : undefined;
};

/** A call that we place: an endpoint that offers, an INVITE with that offer, the answer handed back to the endpoint. */
export class OutgoingLeg extends Leg {
  readonly #server: SipServer;
  readonly #target: DialTarget;
  #request: SipRequest | undefined;
  #cause: ReleaseCause | undefined;
  #rang = false;
  #wantsEarly = false;
  /** Settles when the media server has the early description; it must not come after that of the answer. */
  #early: Promise<void> | undefined;

  constructor(target: DialTarget, server: SipServer, log: Log) {
    super(server, log, addressOf(target.proxy || target.uri));
    this.#target = target;
    this.#server = server;
  }

  /**
   * Places the call with an endpoint that is being made; what comes of it is told by the events `ringing`, `early`,
   * `answered`, `released`. Never rejects.
   */
  async dial(prepared: Promise<MediaEndpoint>, earlyMedia = false): Promise<void> {
    this.#wantsEarly = earlyMedia;
    try {
      const endpoint = await prepared;
      this.use(endpoint);
      if (this.#cause) return this.finish(this.#cause);
      const dialog = await this.#invite(plainAudioOffer(endpoint.localSdp));
      this.adopt(dialog);
      if (this.#cause) return await this.release(this.#cause); // our CANCEL crossed the 200
      await this.#early;
      await endpoint.modify(dialog.remote.sdp);
      this.emit('answered');
    } catch (error) {
      this.#failed(error as SipError);
    }
  }

  /** CANCEL; `released` follows with this cause when the INVITE is really over. */
  protected override async refuse(cause: ReleaseCause): Promise<void> {
    this.#cause ??= cause;
    if (this.#request) this.#sendCancel(this.#request);
  }

  #invite(localSdp: string) {
    const { uri, proxy, headers } = this.#target;
    return this.#server.srf.createUAC(
      uri,
      { localSdp, headers: { ...CAPABILITIES, ...headers }, ...(proxy ? { proxy } : {}) },
      {
        cbRequest: (error, request) => this.#onSent(error, request),
        cbProvisional: response => this.#onProvisional(response),
      },
    );
  }

  #onSent(error: unknown, request: SipRequest): void {
    if (error) return; // createUAC rejects with it
    this.#request = request;
    this.capture.follow(request.get('call-id') ?? '');
    if (this.#cause) this.#sendCancel(request);
  }

  #onProvisional(response: SipResponse): void {
    if (response.status !== 180 && response.status !== 183) return;
    if (!this.#rang) this.emit('ringing');
    this.#rang = true;
    if (this.#wantsEarly && response.body) this.#early ??= this.#hear(response.body);
  }

  /** Early media (RFC 3960): the description of a provisional response is good until the answer's. */
  async #hear(sdp: string): Promise<void> {
    try {
      await this.endpoint?.modify(sdp);
      this.emit('early');
    } catch (error) {
      this.log.info({ error: String(error) }, 'the early media cannot be heard');
    }
  }

  #sendCancel(request: SipRequest): void {
    const reason =
      this.#cause === 'answered_elsewhere' ? 'SIP;cause=200;text="Call completed elsewhere"' : 'SIP;cause=487';
    try {
      request.cancel({ headers: { Reason: reason } });
    } catch {
      this.finish(this.#cause ?? 'failure'); // the connection to the SIP server is gone, and the INVITE with it
    }
  }

  #failed(error: SipError): void {
    this.sipStatus = error.status ?? 0;
    const cause = this.#cause ?? (error.status ? causeOfSipStatus(error.status) : 'failure');
    this.log.info(
      { cause, status: error.status, error: error.status ? undefined : String(error) },
      'the call was not answered',
    );
    if (this.dialog) void this.release(cause);
    else this.finish(cause);
  }
}
