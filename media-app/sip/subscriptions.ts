import type { Directory, Extension } from '../directory.ts';
import type { Log } from '#process/log';
import type { Presences } from '../presence.ts';
import type { Authenticator, Caller } from './authenticate.ts';
import { EVENT_PACKAGES, type EventPackage } from './event-packages.ts';
import type { SipServer } from './servers.ts';
import type { Dialog, SipRequest, SipResponse } from './srf.ts';
import { parseSipUri } from './uri.ts';

const EXPIRES_DEFAULT_S = 3600;
const EXPIRES_MIN_S = 60;
const EXPIRES_MAX_S = 7200;
/** Lamps of a busy desk; nobody fills our memory with more. */
const MOST_OF_A_PHONE = 200;

/** Somebody who is told about an extension. */
interface Subscription {
  dialog: Dialog;
  server: SipServer;
  /** The Event header as it came, with its id (RFC 6665 section 8.2.1). */
  event: string;
  kind: EventPackage;
  /** The extension that asked. */
  subscriber: string;
  about: Extension;
  ends: number;
  timer: NodeJS.Timeout | undefined;
  version: number;
  /** What was told last, version aside. */
  told: string;
}

/** Refused with this status. */
interface Refusal {
  status: number;
  headers?: Record<string, string>;
}

export const ALLOW_EVENTS = Object.keys(EVENT_PACKAGES).join(', ');

/**
 * Phones that want to be told (RFC 6665): whether they have messages, and whether extensions of their customer are there
 * or on the phone. A subscription lives on the node and the SIP server that took it; when those are gone, the phone hears
 * 481 to its next refresh and subscribes anew.
 */
export class Subscriptions {
  readonly #authenticator: Authenticator;
  readonly #directory: Directory;
  readonly #presences: Presences;
  readonly #log: Log;
  readonly #all = new Set<Subscription>();

  constructor(given: { authenticator: Authenticator; directory: Directory; presences: Presences; log: Log }) {
    this.#authenticator = given.authenticator;
    this.#directory = given.directory;
    this.#presences = given.presences;
    this.#log = given.log;
  }

  /** Tells subscribers of changes from now on. */
  async start(): Promise<void> {
    await this.#presences.listen(name => this.#changed(name));
  }

  /** Tells every phone to subscribe anew, at another node (RFC 6665 section 4.1.3). */
  async stop(): Promise<void> {
    this.#presences.stop();
    await Promise.all([...this.#all].map(one => this.#end(one, 'deactivated')));
  }

  /** Answers one SUBSCRIBE that begins something. */
  async subscribe(request: SipRequest, response: SipResponse, server: SipServer): Promise<void> {
    // It refreshes what is over, or was another node's (RFC 3261 section 12.2.2).
    if (/;\s*tag=/i.test((request.get('to') ?? '').replace(/<[^>]*>/, ''))) return response.send(481);
    const caller = await this.#authenticator.authenticate(request, response);
    if (!caller) return;
    const wish = await this.#wishOf(request, caller);
    if ('status' in wish) return response.send(wish.status, wish.headers ? { headers: wish.headers } : {});
    const { event, kind, about, expires } = wish;
    const headers = { Expires: String(expires), 'Allow-Events': ALLOW_EVENTS };
    const dialog = await server.srf.createUAS(request, response, { localSdp: '', headers });
    const ends = Date.now() + expires * 1000;
    const subscriber = caller.extension.id;
    const one = { dialog, server, event, kind, subscriber, about, ends, timer: undefined, version: 0, told: '' };
    this.#begin(one, expires);
  }

  /** Those at a SIP server that is gone are over: nothing reaches the phones any more. */
  serverLost(address: string): void {
    for (const one of this.#all) if (one.server.address === address) this.#forget(one);
  }

  async #wishOf(
    request: SipRequest,
    { customer, extension }: Caller,
  ): Promise<Refusal | { event: string; kind: EventPackage; about: Extension; expires: number }> {
    const event = request.get('event')?.trim().slice(0, 200) ?? '';
    const kind = EVENT_PACKAGES[event.split(';')[0]?.trim().toLowerCase() ?? ''];
    if (!kind) return { status: 489, headers: { 'Allow-Events': ALLOW_EVENTS } };
    const expires = expiresOf(request);
    if (expires > 0 && expires < EXPIRES_MIN_S)
      return { status: 423, headers: { 'Min-Expires': String(EXPIRES_MIN_S) } };
    if (!accepts(request, kind.content_type)) return { status: 406 };
    const about = await this.#directory.extensionByKey(customer.id, parseSipUri(request.uri)?.user ?? '');
    if (!about) return { status: 404 };
    if (kind.own && about.id !== extension.id) return { status: 403 };
    const held = [...this.#all].filter(one => one.subscriber === extension.id).length;
    return held < MOST_OF_A_PHONE ? { event, kind, about, expires } : { status: 503, headers: { 'Retry-After': '60' } };
  }

  #begin(one: Subscription, expires: number): void {
    this.#all.add(one);
    one.dialog.on('subscribe', (request: SipRequest, response: SipResponse) => this.#refresh(one, request, response));
    one.dialog.on('unsubscribe', () => void this.#end(one, 'timeout'));
    if (expires === 0) return void this.#end(one, 'timeout'); // it only asked (RFC 6665 section 4.4.3)
    this.#setAlarm(one);
    void this.#tell(one, true);
  }

  #refresh(one: Subscription, request: SipRequest, response: SipResponse): void {
    const expires = expiresOf(request);
    if (expires < EXPIRES_MIN_S) return response.send(423, { headers: { 'Min-Expires': String(EXPIRES_MIN_S) } });
    one.ends = Date.now() + expires * 1000;
    this.#setAlarm(one);
    response.send(200, { headers: { Expires: String(expires) } });
    void this.#tell(one, true);
  }

  #setAlarm(one: Subscription): void {
    clearTimeout(one.timer);
    one.timer = setTimeout(() => void this.#end(one, 'timeout'), one.ends - Date.now());
    one.timer.unref();
  }

  #changed(name: string): void {
    for (const one of this.#all) if (this.#presences.namesOf(one.about).includes(name)) void this.#tell(one, false);
  }

  /** Tells what there is to tell, unless it is what was told last; a phone that does not know of it any more is let go. */
  async #tell(one: Subscription, anyway: boolean): Promise<void> {
    try {
      const presence = await this.#presences.of(one.about);
      const told = one.kind.body(presence, 0);
      if (!this.#all.has(one) || (!anyway && told === one.told)) return;
      one.told = told;
      const left = Math.max(0, Math.round((one.ends - Date.now()) / 1000));
      const answer = await this.#notify(one, `active;expires=${left}`, one.kind.body(presence, one.version++));
      if (answer.status >= 300) this.#forget(one); // RFC 6665 section 4.2.2: it is over, and nobody is told
    } catch (error) {
      // The next change, or the phone's next refresh, tells it.
      this.#log.info({ extension: one.about.extension, error: String(error) }, 'a subscriber was not told');
    }
  }

  /** Says that it is over, with the last state, and forgets it. Never rejects. */
  async #end(one: Subscription, reason: string): Promise<void> {
    if (!this.#forget(one)) return;
    try {
      const body = one.kind.body(await this.#presences.of(one.about), one.version);
      await this.#notify(one, `terminated;reason=${reason}`, body);
    } catch (error) {
      // The phone finds out when it refreshes.
      this.#log.debug(
        { extension: one.about.extension, error: String(error) },
        'the end of a subscription was not told',
      );
    }
  }

  #forget(one: Subscription): boolean {
    clearTimeout(one.timer);
    one.server.srf.removeDialog(one.dialog);
    return this.#all.delete(one);
  }

  #notify({ dialog, event, kind }: Subscription, state: string, body: string): Promise<SipResponse> {
    const headers = {
      Event: event,
      'Subscription-State': state,
      Contact: dialog.local.contact,
      'Content-Type': kind.content_type,
    };
    return dialog.request({ method: 'NOTIFY', headers, body });
  }
}

const expiresOf = (request: SipRequest): number => {
  const text = request.get('expires')?.trim() ?? '';
  return /^\d{1,10}$/.test(text) ? Math.min(Number(text), EXPIRES_MAX_S) : EXPIRES_DEFAULT_S;
};

/** Without an Accept everything of the package is taken (RFC 6665 section 4.1.2.1). */
const accepts = (request: SipRequest, type: string): boolean => {
  const accept = request.get('accept');
  const wanted = [type, `${type.split('/')[0]}/*`, '*/*'];
  return !accept || accept.split(',').some(one => wanted.includes(one.split(';')[0]?.trim().toLowerCase() ?? ''));
};
