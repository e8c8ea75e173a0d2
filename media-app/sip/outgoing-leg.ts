import { causeOfSipStatus, deservesAnotherRoute, type ReleaseCause } from '#contract/hangup';
import type { CarrierLine } from '../carrier/carriers.ts';
import type { Place } from '../carrier/places.ts';
import type { Log } from '#process/log';
import type { MediaEndpoint } from '../media/endpoint.ts';
import type { MakeEndpoint } from '../media/endpoint-supply.ts';
import { offersOver, type AddressFamily } from '../media/offer-kind.ts';
import { audioOffer, offerOnly } from '../media/sdp.ts';
import { CAPABILITIES } from './capabilities.ts';
import { type DialogName, earlyDialogOf } from './replaces.ts';
import { Leg } from './leg.ts';
import type { SipServer } from './servers.ts';
import type { SipAddress } from './seen-message.ts';
import { inviteWithLogin } from './challenged.ts';
import type { Dialog, SipError, SipRequest, SipResponse, UacProgress } from './srf.ts';
import { isAddress, parseSipUri, requestUri } from './uri.ts';

/** Whom to dial and how it gets there. */
export interface DialTarget {
  uri: string;
  /** What it is reached over (`udp`, `tcp`, `tls`, `ws`, `wss`), which decides what it is offered; missing is UDP. */
  transport?: string;
  /** Next hop when it is not where the URI points (a phone behind NAT). */
  proxy: string;
  /** The SIP server that must be used, empty for any. */
  sip_server: string;
  /** Told when nobody could be asked, because the connection it stands on is gone. */
  lost?: () => void;
  /** Extra headers, From among them. */
  headers: Record<string, string>;
  /** Codecs to offer, the best first, with commas between them; empty or missing for all. */
  codecs?: string;
  /** Answers digest challenges. */
  auth?: { username: string; password: string };
  /** The carrier it goes through, with its ceilings and its health. */
  carrier?: CarrierLine;
  /** The virtual number that is called inside the house, with no SIP at all (accounts-and-plumbing 25.3). */
  inside?: { number: string; withheld: boolean };
  /** Where to dial when this fails for a reason that another way may cure (accounts-and-plumbing 23.2). */
  next?: DialTarget;
}

/** Answers that say the offer was understood and does not suit (RFC 3261 sections 21.4.13, 21.4.26 and 21.6.4). */
const NOT_ACCEPTABLE = new Set([415, 488, 606]);

/** How an attempt ends that another one follows at once: with an answer, or with why there was none. */
class Failed extends Error {
  readonly status: number;
  readonly release_cause: ReleaseCause;

  constructor(cause: ReleaseCause, status = 0) {
    super(`${cause} ${status || ''}`.trim());
    this.release_cause = cause;
    this.status = status;
  }
}

/**
 * Whether an INVITE for a phone on a connection went out over another one: drachtio-server knows such phones by user and host of
 * their Contact, and two may write the same.
 */
const wentElsewhere = ({ lost, proxy }: DialTarget, sent: SipRequest): boolean => {
  const [meant, used] = [parseSipUri(proxy)?.port, Number(sent.source_port)];
  return lost !== undefined && used > 0 && meant !== undefined && used !== meant;
};

/** Where a URI leads, when it says so by address. */
const addressOf = (text: string): SipAddress | undefined => {
  const uri = parseSipUri(text);
  return uri && isAddress(uri.host) ? { address: uri.host, port: uri.port ?? 5060 } : undefined;
};

/** Which addresses whoever is dialled can reach; IPv4 where a name does not tell. */
const familyOf = ({ proxy, uri }: DialTarget): AddressFamily =>
  parseSipUri(proxy || uri)?.host.includes(':') ? 'ipv6' : 'ipv4';

/**
 * How long a carrier may say nothing before it is asked whether it is there. SIP servers keep a 100 to themselves, so
 * silence alone does not tell a slow carrier from a dead one.
 */
const SILENCE_MS = 3000;

/** One INVITE and what came back of it. */
interface Attempt {
  request?: SipRequest;
  /** Somebody at the other end has said something: it may be canceled (RFC 3261 section 9.1). */
  heard: boolean;
  /** Another is dialled already, or somebody else was rung: whatever comes of it is taken back. */
  given_up: boolean;
  over: boolean;
}

/**
 * A call that we place: an endpoint that offers, an INVITE with that offer, the answer handed back to the endpoint. When
 * it fails and there is another way to go, it is placed there with the same offer; the leg stays the same.
 */
export class OutgoingLeg extends Leg {
  readonly #server: SipServer;
  readonly #target: DialTarget;
  #attempt: Attempt | undefined;
  #cause: ReleaseCause | undefined;
  #rang = false;
  #wantsEarly = false;
  /** Whoever rings is not left for another way: its flow runs already (23.2). */
  #staysOnceRinging = false;
  /** Settles when the media server has the early description; it must not come after that of the answer. */
  #early: Promise<void> | undefined;
  #place: Place | undefined;
  /** The dialogs of provisional responses: a proxy may ring several phones at once (RFC 3261 section 12.1). */
  readonly #ringing: DialogName[] = [];

  constructor(target: DialTarget, server: SipServer, log: Log) {
    super(server, log, addressOf(target.proxy || target.uri));
    this.#target = target;
    this.#server = server;
    this.once('released', () => this.#place?.leave());
  }

  /** Also an early dialog: we sent its INVITE, so whoever names it may have the call instead (RFC 3891 section 3). */
  override isDialog(dialog: DialogName): boolean {
    const early = ({ call_id, to_tag, from_tag }: DialogName) =>
      call_id === dialog.call_id && to_tag === dialog.to_tag && from_tag === dialog.from_tag;
    return super.isDialog(dialog) || (!this.dialog && this.#ringing.some(early));
  }

  /**
   * Places the call with an endpoint of `make`; what comes of it is told by the events `ringing`, `early`, `answered`,
   * `rerouted`, `released`. Never rejects.
   */
  async dial(make: MakeEndpoint, { earlyMedia = false, staysOnceRinging = false } = {}): Promise<void> {
    this.#wantsEarly = earlyMedia;
    this.#staysOnceRinging = staysOnceRinging;
    try {
      const [endpoint, dialog] = await this.#agree(make);
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
    if (this.#attempt?.request) this.#sendCancel(this.#attempt.request);
  }

  /** The dialog, and the endpoint whose offer was taken: the first kind of offer that is not refused as such. */
  async #agree(make: MakeEndpoint): Promise<[MediaEndpoint, Dialog]> {
    const [first, ...others] = offersOver(this.#target.transport ?? 'udp');
    for (let kind = first; ;) {
      const endpoint = await make(kind, familyOf(this.#target));
      this.use(endpoint);
      try {
        return [endpoint, await this.#reach(audioOffer(endpoint.localSdp, kind))];
      } catch (error) {
        const next = others.shift();
        const { status = 0 } = error as SipError;
        if (!next || this.#cause || this.#rang || !NOT_ACCEPTABLE.has(status)) throw error;
        this.log.info({ status, refused: kind, next }, 'the phone does not take this kind of media; offering another');
        this.#attempt = undefined;
        kind = next;
      }
    }
  }

  /** The dialog of the first target that answers. Rejects with the failure of the last one tried. */
  async #reach(offer: string): Promise<Dialog> {
    for (let target = this.#target; ;) {
      try {
        return await this.#try(target, offer);
      } catch (error) {
        const { next } = target;
        if (!next || !this.#goesOn(error as SipError)) throw error;
        this.log.info(
          { error: String(error), said: (error as SipError).reason, next: next.uri },
          'dialling the next route',
        );
        target = next;
        this.#early = undefined;
        this.emit('rerouted');
      }
    }
  }

  #goesOn(error: SipError): boolean {
    if (this.#cause || (this.#rang && this.#staysOnceRinging)) return false;
    return deservesAnotherRoute(causeOf(error), error.status ?? 0);
  }

  /** One target: takes a place at its carrier, and gives it back when nothing comes of it. */
  async #try(target: DialTarget, offer: string): Promise<Dialog> {
    const place = await target.carrier?.enter();
    if (target.carrier && !place) throw new Failed('temporary_failure');
    if (this.#cause) throw new Failed(this.#cause);
    try {
      const dialog = await this.#invite(target, offerOnly(offer, target.codecs ?? ''));
      target.carrier?.answered(true);
      this.#place = place;
      return dialog;
    } catch (error) {
      place?.leave();
      const { status = 0, res } = error as SipError;
      // An answer from no address was made up by the SIP server (RFC 3261 section 8.1.3.1).
      if (res && !res.source_address) target.lost?.();
      if (!this.#cause) target.carrier?.answered(status > 0 && status < 500 && status !== 408);
      throw error;
    }
  }

  #invite(target: DialTarget, localSdp: string): Promise<Dialog> {
    const { uri, proxy, headers, auth, carrier, next } = target;
    const attempt: Attempt = { heard: false, given_up: false, over: false };
    this.#attempt = attempt;
    const { srf } = this.#server;
    // drachtio-srf writes into the headers it is given.
    const options = { localSdp, headers: { ...CAPABILITIES, ...headers }, ...(proxy ? { proxy } : {}) };
    const progress: UacProgress = {
      cbRequest: (error, request) => this.#onSent(attempt, target, error, request),
      cbProvisional: response => this.#onProvisional(attempt, response),
    };
    const goesOn = () => !this.#cause && !attempt.given_up;
    const to = requestUri(uri);
    const invited = auth
      ? inviteWithLogin(srf, to, options, progress, { login: auth, goesOn })
      : srf.createUAC(to, options, progress);
    return next && carrier ? this.#unlessDead(attempt, carrier, invited) : this.#ifRight(attempt, invited);
  }

  /** Rejects when somebody else was rung, whatever came of it. */
  async #ifRight(attempt: Attempt, invited: Promise<Dialog>): Promise<Dialog> {
    const dialog = await invited.catch((error: unknown) => {
      if (!attempt.given_up) throw error;
    });
    if (dialog && !attempt.given_up) return dialog;
    void dialog?.destroy().catch(() => undefined); // it is over as wished
    throw new Failed('no_user_response');
  }

  /** Rejects when a silent carrier is not there; what is heard of it later is taken back. */
  async #unlessDead(attempt: Attempt, carrier: CarrierLine, invited: Promise<Dialog>): Promise<Dialog> {
    let timer: NodeJS.Timeout | undefined;
    const dead = new Promise<never>((_, reject) => {
      const ask = async () => {
        if (attempt.heard || (await carrier.isThere()) || attempt.heard || attempt.over) return;
        attempt.given_up = true;
        reject(new Failed('no_user_response'));
      };
      timer = setTimeout(() => void ask(), SILENCE_MS);
    });
    try {
      return await Promise.race([invited, dead]);
    } finally {
      attempt.over = true;
      clearTimeout(timer);
      if (attempt.given_up) void invited.then(dialog => dialog.destroy()).catch(() => undefined); // it is over as wished
    }
  }

  #onSent(attempt: Attempt, target: DialTarget, error: unknown, request: SipRequest): void {
    if (error) return; // createUAC rejects with it
    attempt.request = request;
    this.capture.follow(request.get('call-id') ?? '');
    if (wentElsewhere(target, request)) {
      this.log.warn({ uri: target.uri, meant: target.proxy }, 'another phone of this name was rung; taking it back');
      attempt.given_up = true;
      return request.cancel();
    }
    if (this.#cause) this.#sendCancel(request);
  }

  #onProvisional(attempt: Attempt, response: SipResponse): void {
    attempt.heard = true;
    if (attempt.given_up) return void attempt.request?.cancel();
    if (response.status !== 180 && response.status !== 183) return;
    const dialog = earlyDialogOf(response);
    if (dialog) this.#ringing.push(dialog);
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
    const cause = this.#cause ?? causeOf(error);
    this.log.info(
      { cause, status: error.status, said: error.reason, error: error.status ? undefined : String(error) },
      'the call was not answered',
    );
    if (this.dialog) void this.release(cause);
    else this.finish(cause);
  }
}

const causeOf = (error: SipError): ReleaseCause => {
  if (error instanceof Failed) return error.release_cause;
  return error.status ? causeOfSipStatus(error.status) : 'failure';
};
