import { EventEmitter } from 'node:events';
import type { ConferenceType } from '#contract/conference';
import { type Bridge, type BridgeEvents, setCallAside } from '../call/bridge.ts';
import { type Aside, RINGBACK } from '../call/controls.ts';
import type { CallSession } from '../call/session.ts';
import { deferred } from '../deferred.ts';
import { withDeadline } from '../media/deadline.ts';
import type { MediaEndpoint } from '../media/endpoint.ts';
import { closeLink, openLink } from '../media/link.ts';
import type { MediaServers } from '../media/servers.ts';

/** How long a media server may take to seat a leg of ours. */
const SEAT_MS = 5000;

interface Given {
  id: string;
  type: ConferenceType;
  /** Its media server; unless it is fixed, that of whoever comes in first takes its place. */
  server: { name: string; fixed?: boolean };
  media: MediaServers;
  /** Whose bridge it is decides who may come in. */
  mayEnter: (call: CallSession) => boolean;
}

/**
 * The audio mixer behind a conference (voice-and-flows 12). It is on one media server, that of whoever came in first; a call
 * on another one comes in over a link. Calls of other nodes come into the same mixer through a bridge there (`Branch`), and
 * are only counted here. Type `conference` mixes any number; type `connect` lets the first hear ringback until a second comes,
 * and is over when one of them leaves.
 *
 * Emits `joined` and `leaved` with the call, also `leaved` for a call that was not let in, `digit` for every key that one of
 * them presses, and `closed`.
 */
export class Confbridge extends EventEmitter<BridgeEvents> implements Bridge {
  readonly id: string;
  inTransfer = false;
  readonly #given: Given;
  readonly #members = new Map<string, { call: CallSession; put: AbortController }>();
  /** Temporary flows whose calls come in as guests. */
  readonly #welcome = new Set<string>();
  /** Calls of other nodes, from their admission on. */
  readonly #guests = new Map<string, { putOut: () => void; in: boolean }>();
  /** Legs of ours that record or stream. */
  readonly #own = new Set<MediaEndpoint>();
  /** Aborts when a connect bridge has company: what the first one waits for. */
  readonly #company = new AbortController();
  #server: string;
  #closed = false;
  #keptOpen = false;

  constructor(given: Given) {
    super();
    this.id = given.id;
    this.#given = given;
    this.#server = given.server.name;
  }

  /** How many calls are in, or on their way in. */
  get size(): number {
    return this.#members.size + [...this.#guests.values()].filter(guest => guest.in).length;
  }

  /** The media server that a leg should be on to come in. */
  get server(): string {
    return this.#server;
  }

  /**
   * Takes a call in; resolves when it has left, for whatever reason, or the signal aborts.
   * @throws Error when it may not come in, or cannot be reached from its media server
   */
  async join(call: CallSession, signal: AbortSignal): Promise<void> {
    if (this.#members.has(call.id)) throw new Error('the call is in this bridge already');
    const put = new AbortController();
    const press = (digit: string) => this.emit('digit', digit);
    this.#members.set(call.id, { call, put });
    call.leg.on('digit', press);
    try {
      if (this.#closed || !(this.#welcome.has(call.call.flow_id) || this.#given.mayEnter(call)))
        throw new Error('the bridge does not let the call in');
      call.bridge = this;
      await this.#stay(call, AbortSignal.any([signal, put.signal]));
    } finally {
      call.leg.off('digit', press);
      this.#members.delete(call.id);
      if (call.bridge === this) call.bridge = undefined;
      this.emit('leaved', call);
      this.#closeWhenAlone();
    }
  }

  /** Expects a call of another node, which settles where the mixer is; `putOut` is called when it is put out. */
  expect(callId: string, mediaServer: string, putOut: () => void): void {
    if (this.#empty() && mediaServer) this.#server = mediaServer;
    this.#guests.set(callId, { putOut, in: false });
  }

  /** It is in. True when it has company. */
  lodge(callId: string): boolean {
    const guest = this.#guests.get(callId);
    if (guest) guest.in = true;
    if (this.size > 1) this.accompany();
    return this.size > 1;
  }

  /** It is out, or does not come. */
  forget(callId: string): void {
    if (this.#guests.delete(callId)) this.#closeWhenAlone();
  }

  /** Whoever waits alone has company now, here or elsewhere. */
  accompany(): void {
    this.#company.abort();
  }

  #closeWhenAlone(): void {
    if (this.#given.type === 'connect' && this.size === 1 && !this.#keptOpen) this.close();
  }

  /**
   * Seats a leg of ours, which is counted nowhere; while it sits the bridge stays on its media server. Resolves once it sits.
   * Rejects when its media server is another one or does not let it in.
   */
  async seat(endpoint: MediaEndpoint, flags: readonly string[]): Promise<{ left: Promise<void> }> {
    if (!this.#mixes(endpoint)) throw new Error(`the conference is on ${this.#server}, not on ${endpoint.server}`);
    this.#server = endpoint.server;
    this.#own.add(endpoint);
    const sits = deferred<void>();
    const left = endpoint
      .conference(this.id, new AbortController().signal, () => sits.resolve(), flags)
      .finally(() => this.#own.delete(endpoint));
    const out = left.then(() => Promise.reject(new Error('the leg is out of the conference')));
    await withDeadline(Promise.race([sits.promise, out]), SEAT_MS, 'a seat in the conference');
    return { left: left.catch(() => undefined) }; // out is out
  }

  get calls(): CallSession[] {
    return [...this.#members.values()].map(({ call }) => call);
  }

  keepOpen(on: boolean): void {
    this.#keptOpen = on;
    this.#closeWhenAlone();
  }

  welcome(flowId: string): void {
    this.#welcome.add(flowId);
  }

  turnAway(flowId: string): void {
    this.#welcome.delete(flowId);
  }

  setAside(call: CallSession, aside: Aside | undefined): Promise<void> {
    return setCallAside(call, aside);
  }

  /** Puts one call out. False when it is not in. */
  kick(callId: string): boolean {
    const [member, guest] = [this.#members.get(callId), this.#guests.get(callId)];
    member?.put.abort(new Error('put out'));
    guest?.putOut();
    return (member ?? guest) !== undefined;
  }

  /** Puts everybody out and lets nobody in any more. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const id of [...this.#members.keys(), ...this.#guests.keys()]) this.kick(id);
    this.emit('closed');
  }

  async #stay(call: CallSession, signal: AbortSignal): Promise<void> {
    const waits = this.#given.type === 'connect';
    if (waits) await this.#untilCompany(call, signal);
    if (signal.aborted) return;
    await call.answer();
    const { endpoint } = call;
    if (!endpoint?.alive) throw new Error('the call has no media');
    const joined = () => void (waits || this.emit('joined', call));
    if (!this.#mixes(endpoint, call)) return this.#stayElsewhere(endpoint, signal, joined);
    this.#server = endpoint.server;
    await endpoint.conference(this.id, signal, joined);
  }

  /** The leg stays on its media server, and the far end of a link from there sits in the mixer. */
  async #stayElsewhere(endpoint: MediaEndpoint, signal: AbortSignal, joined: () => void): Promise<void> {
    const link = await openLink(this.#given.media, endpoint.server, this.#server);
    try {
      await endpoint.bridge(link.near);
      await link.far.conference(this.id, signal, joined);
      await endpoint.unbridge();
    } finally {
      await closeLink(link);
    }
  }

  /** Ringback for whoever is first; a caller who is not answered yet has its own phone for that. */
  async #untilCompany(call: CallSession, signal: AbortSignal): Promise<void> {
    this.emit('joined', call);
    if (this.size > 1) return this.accompany();
    const enough = AbortSignal.any([signal, this.#company.signal]);
    if (call.endpoint?.alive) await call.endpoint.play([RINGBACK], enough);
    if (!enough.aborted) await new Promise(resolve => enough.addEventListener('abort', resolve, { once: true }));
  }

  /** Whether a leg can be mixed: the bridge is on its media server, or on none yet. */
  #mixes({ server }: MediaEndpoint, call?: CallSession): boolean {
    return server === this.#server || (!this.#given.server.fixed && this.#empty(call));
  }

  /** Whether nobody but this call is in the mixer or comes. */
  #empty(call?: CallSession): boolean {
    const others = [...this.#members.keys(), ...this.#guests.keys()].filter(id => id !== call?.id);
    return others.length + this.#own.size === 0;
  }
}
