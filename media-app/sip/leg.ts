import { EventEmitter } from 'node:events';
import { reasonHeader, type ReleaseCause } from '#contract/hangup';
import type { Log } from '#process/log';
import { withDeadline } from '../media/deadline.ts';
import type { MediaEndpoint } from '../media/endpoint.ts';
import { describeAnew, type Direction, audioOffer, versionOf } from '../media/sdp.ts';
import { CAPABILITIES } from './capabilities.ts';
import { LegCapture } from './capture.ts';
import { askInside, hangUp } from './challenged.ts';
import type { DialogName } from './replaces.ts';
import type { SipAddress } from './seen-message.ts';
import type { SipServer } from './servers.ts';
import type { Dialog, SipRequest, SipResponse } from './srf.ts';

/** How long a far end may take to answer a BYE before the leg counts as gone. */
const BYE_DEADLINE_MS = 4000;
/** How long it may take to answer a re-INVITE. */
const REINVITE_DEADLINE_MS = 3000;

/** How long it may take to answer a NOTIFY, and how long it may expect more of them. */
const NOTIFY_DEADLINE_MS = 4000;
const REFER_EXPIRES_S = 120;

/** Our direction towards a far end that shall send nothing. */
const HELD: Record<Direction, Direction> = {
  sendrecv: 'sendonly',
  sendonly: 'sendonly',
  recvonly: 'inactive',
  inactive: 'inactive',
};

/** What a REFER has come to: its `Event` and the status line of a SIP response. */
export interface ReferNews {
  event: string;
  status_line: string;
  /** Nothing more will be told. */
  over: boolean;
}

/** A leg that we answer, not the far end. */
export interface Answerable {
  /** Lets the caller hear us before the answer. Rejects when it gave up. */
  progress(): Promise<void>;
  /** Rejects when the caller gave up meanwhile. */
  answer(): Promise<void>;
}

/** True for a leg that came in, which is answered by us. */
export const isAnswerable = (leg: Leg): leg is Leg & Answerable => 'answer' in leg;

interface LegEvents {
  /** The destination alerts (outgoing only). */
  ringing: [];
  /** The ringing side is heard before the answer (outgoing only, where it was asked for). */
  early: [];
  /** The dialog stands and media flows (outgoing only; an incoming leg is answered by `answer`). */
  answered: [];
  /** Another way is dialled after the one before failed (outgoing only). */
  rerouted: [];
  /** A key was pressed. */
  digit: [digit: string];
  /** The far end asks to be taken out of the call for somebody else (RFC 3515). It waits for the response. */
  refer: [request: SipRequest, response: SipResponse];
  /** The leg is over, for whatever reason; comes exactly once and last. */
  released: [cause: ReleaseCause];
}

/**
 * One SIP dialog with one party and its media endpoint. Subclasses set it up (`IncomingLeg`, `OutgoingLeg`); this class
 * keeps it: re-INVITE, INFO digits, BYE from either side, a media server that vanishes.
 */
export abstract class Leg extends EventEmitter<LegEvents> {
  endpoint: MediaEndpoint | undefined;
  /** `host:port` of the SIP server whose connection owns the dialog. */
  readonly sipServer: string;
  /** Every SIP message of the dialog and what was heard of its media, for the call's timeline. */
  readonly capture: LegCapture;
  /** The far end's final answer where it refused the call, else 0. */
  sipStatus = 0;
  protected dialog: Dialog | undefined;
  protected readonly log: Log;
  /** Versions of our descriptions only go up, whoever wrote them. */
  #version = 0;
  #held = false;
  #hungUp = false;
  #released = false;

  constructor(server: SipServer, log: Log, peer?: SipAddress) {
    super();
    this.sipServer = server.address;
    this.capture = new LegCapture(server.captures, peer);
    this.log = log;
  }

  /** The media server that its media is on, or will be when there is some; empty when that is open. */
  get mediaServer(): string {
    return this.endpoint?.server ?? '';
  }

  /** Has its media made there, where that is still open: so that it meets others. */
  meetAt(_mediaServer: string): void {
    // It has media already, or is given it by whoever dials.
  }

  /** Ends the leg: CANCEL, a failure response or BYE, whatever its state asks for. `released` follows. */
  async release(cause: ReleaseCause): Promise<void> {
    if (this.#released) return;
    if (!this.dialog) return this.refuse(cause);
    if (this.#hungUp) return;
    this.#hungUp = true;
    await this.#bye(this.dialog, cause);
    this.finish(cause);
  }

  /** Whether the far end still knows the dialog: any answer to OPTIONS but 408 and 481 (RFC 3261 section 12.2.1.2). */
  async probe(deadlineMs: number): Promise<boolean> {
    if (!this.dialog) return true;
    try {
      const response = await withDeadline(askInside(this.dialog, { method: 'OPTIONS' }), deadlineMs, 'OPTIONS');
      return response.status !== 408 && response.status !== 481;
    } catch {
      return false; // the dialog is gone, or nobody answers
    }
  }

  /** Whether this is the dialog that a Replaces names (RFC 3891 section 3): its tags as the far end sees them. */
  isDialog({ call_id, to_tag, from_tag }: DialogName): boolean {
    const sip = this.dialog?.sip;
    return sip?.callId === call_id && sip.localTag === to_tag && sip.remoteTag === from_tag;
  }

  /** Tells the far end how its REFER fares (RFC 3515 section 2.4.5). Never rejects: whoever has gone needs no news. */
  async notify({ event, status_line, over }: ReferNews): Promise<void> {
    if (!this.dialog?.connected) return;
    const headers = {
      Contact: this.dialog.local.contact,
      Event: event,
      'Subscription-State': over ? 'terminated;reason=noresource' : `active;expires=${REFER_EXPIRES_S}`,
      'Content-Type': 'message/sipfrag;version=2.0',
    };
    const body = `SIP/2.0 ${status_line}\r\n`;
    await withDeadline(askInside(this.dialog, { method: 'NOTIFY', headers, body }), NOTIFY_DEADLINE_MS, 'NOTIFY').catch(
      (error: unknown) => this.log.debug({ error: String(error) }, 'the far end did not take the NOTIFY'),
    );
  }

  /**
   * Tells the far end to send nothing (RFC 3264 section 8.4, `sendonly`), or to go on. Resolves with whether it agreed;
   * a leg without dialog has nothing to tell.
   */
  async hold(on: boolean): Promise<boolean> {
    this.#held = on;
    if (!this.dialog?.connected || !this.endpoint?.alive) return false;
    const { status, body } = await this.#reinvite(this.dialog, audioOffer(this.endpoint.localSdp));
    if (status === 200 && body) await this.endpoint.modify(body);
    if (status !== 200) this.log.warn({ status }, 'the far end refused to be put on hold or taken off it');
    return status === 200;
  }

  /** The connection to the SIP server broke: the dialog can be neither used nor ended by us any more. */
  abandon(): void {
    this.finish('failure');
  }

  /** Ends a leg that has no dialog yet. */
  protected abstract refuse(cause: ReleaseCause): Promise<void>;

  /** Takes a confirmed dialog into care. */
  protected adopt(dialog: Dialog): void {
    this.dialog = dialog;
    dialog.on('destroy', () => this.finish('normal_clearing'));
    dialog.on('modify', (request: SipRequest, response: SipResponse) => void this.#renegotiate(request, response));
    dialog.on('update', (request: SipRequest, response: SipResponse) => void this.#renegotiate(request, response));
    dialog.on('options', (_request: SipRequest, response: SipResponse) =>
      response.send(200, { headers: CAPABILITIES }),
    );
    dialog.on('refer', (request: SipRequest, response: SipResponse) => {
      if (!this.emit('refer', request, response)) response.send(403);
    });
    dialog.on('info', (request: SipRequest, response: SipResponse) => this.#info(request, response));
    // A BYE that came in one packet with the ACK was there before anybody could listen for it.
    if (!dialog.connected) this.finish('normal_clearing');
  }

  /** Takes an endpoint, in place of the one before if there was; one that comes when the leg is over goes back. */
  protected use(endpoint: MediaEndpoint): void {
    if (this.#released) return void endpoint.destroy();
    this.endpoint?.removeAllListeners();
    void this.endpoint?.destroy();
    this.endpoint = endpoint;
    endpoint.on('digit', (digit: string) => this.emit('digit', digit));
    endpoint.once('gone', () => void this.release('failure'));
  }

  /** Says once that the leg is over and frees its media. */
  protected finish(cause: ReleaseCause): void {
    if (this.#released) return;
    this.#released = true;
    if (this.endpoint) void this.#letGo(this.endpoint);
    this.capture.end();
    this.emit('released', cause);
  }

  /** Frees the media once its server has said what it counted. */
  async #letGo(endpoint: MediaEndpoint): Promise<void> {
    const facts = await endpoint.facts();
    if (facts) this.capture.media(facts);
    await endpoint.destroy();
  }

  async #bye(dialog: Dialog, cause: ReleaseCause): Promise<void> {
    if (!dialog.connected) return;
    const headers = { Reason: reasonHeader(cause) };
    await withDeadline(hangUp(dialog, headers), BYE_DEADLINE_MS, 'BYE').catch((error: unknown) =>
      this.log.debug({ error: String(error) }, 'the far end did not answer BYE'),
    );
  }

  /** Offers the media anew; once more when both sides did so at once (RFC 3261 section 14.1). */
  async #reinvite(dialog: Dialog, sdp: string): Promise<{ status: number; body: string }> {
    const headers = { ...CAPABILITIES, Contact: dialog.local.contact, 'Content-Type': 'application/sdp' };
    const offer = () => withDeadline(this.#offer(dialog, sdp, headers), REINVITE_DEADLINE_MS, 're-INVITE');
    const first = await offer();
    if (first.status !== 491) return first;
    const pause = dialog.type === 'uac' ? 2100 + Math.random() * 1900 : Math.random() * 2000;
    await new Promise(resolve => setTimeout(resolve, pause));
    return offer();
  }

  #offer(dialog: Dialog, sdp: string, headers: Record<string, string>): Promise<SipResponse> {
    const body = this.#describe(dialog, sdp, () => (this.#held ? 'sendonly' : 'sendrecv'));
    return askInside(dialog, { method: 'INVITE', headers, body });
  }

  /** What we tell the far end of our media after the call was set up, under the next version. */
  #describe(dialog: Dialog, sdp: string, turn: (direction: Direction) => Direction): string {
    this.#version = Math.max(this.#version, versionOf(dialog.local.sdp)) + 1;
    return describeAnew(sdp, this.#version, turn);
  }

  /** A new offer by re-INVITE or UPDATE; an UPDATE may come without one (RFC 3311 section 5.2), as a sign of life. */
  async #renegotiate(request: SipRequest, response: SipResponse): Promise<void> {
    const headers = { ...CAPABILITIES, ...(this.dialog ? { Contact: this.dialog.local.contact } : {}) };
    if (request.method === 'UPDATE' && !request.body) return response.send(200, { headers });
    try {
      const body = await this.endpoint?.modify(request.body);
      const turn = (direction: Direction) => (this.#held ? HELD[direction] : direction);
      const described = body && this.dialog ? this.#describe(this.dialog, body, turn) : '';
      response.send(200, { headers: { ...headers, 'Content-Type': 'application/sdp' }, body: described });
    } catch (error) {
      this.log.warn({ error: String(error) }, `a new offer by ${request.method} was refused`);
      response.send(488);
    }
  }

  /** Digits by INFO (`application/dtmf-relay`, `application/dtmf`) count like telephone events. */
  #info(request: SipRequest, response: SipResponse): void {
    const digit = /(?:Signal\s*=\s*)?([0-9A-D*#])/i.exec(request.body)?.[1];
    if (digit && /dtmf/i.test(request.get('content-type') ?? '')) this.emit('digit', digit.toUpperCase());
    response.send(200);
  }
}
