import { EventEmitter } from 'node:events';
import type { ConferenceType } from '#contract/conference';
import { type Bridge, type BridgeEvents, setCallAside } from '../call/bridge.ts';
import { type Aside, RINGBACK } from '../call/controls.ts';
import type { CallSession } from '../call/session.ts';
import { deferred } from '../deferred.ts';
import { withDeadline } from '../media/deadline.ts';
import type { MediaEndpoint } from '../media/endpoint.ts';

/** How long a media server may take to seat a leg of ours. */
const SEAT_MS = 5000;

interface Given {
  id: string;
  type: ConferenceType;
  /** Media server to prefer while nobody is in. */
  server: string;
  /** Whose bridge it is decides who may come in. */
  mayEnter: (call: CallSession) => boolean;
}

/**
 * The audio mixer behind a conference (voice-and-flows 12). All its members are on one media server: the one of whoever
 * came in first. Type `conference` mixes any number; type `connect` lets the first hear ringback until a second comes,
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
    this.#server = given.server;
  }

  /** How many calls are in, or on their way in. */
  get size(): number {
    return this.#members.size;
  }

  /** The media server that a leg should be on to come in. */
  get server(): string {
    return this.#server;
  }

  /**
   * Takes a call in; resolves when it has left, for whatever reason, or the signal aborts.
   * @throws Error when it may not come in, or its media is on another media server
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

  #closeWhenAlone(): void {
    if (this.#given.type === 'connect' && this.size === 1 && !this.#keptOpen) this.close();
  }

  /** Why a call's media cannot be mixed here; `undefined` when it can, or has none yet. */
  refusal(call: CallSession): string | undefined {
    const { endpoint } = call;
    if (!endpoint || this.#mixes(endpoint, call)) return undefined;
    return `the call's media is on ${endpoint.server}, the conference on ${this.#server}; bridging between media servers does not exist yet`;
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
    const member = this.#members.get(callId);
    member?.put.abort(new Error('put out'));
    return member !== undefined;
  }

  /** Puts everybody out and lets nobody in any more. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const id of [...this.#members.keys()]) this.kick(id);
    this.emit('closed');
  }

  async #stay(call: CallSession, signal: AbortSignal): Promise<void> {
    const waits = this.#given.type === 'connect';
    if (waits) await this.#untilCompany(call, signal);
    if (signal.aborted) return;
    await call.answer();
    const refusal = this.refusal(call);
    const { endpoint } = call;
    if (refusal || !endpoint?.alive) throw new Error(refusal ?? 'the call has no media');
    this.#server = endpoint.server;
    await endpoint.conference(this.id, signal, () => void (waits || this.emit('joined', call)));
  }

  /** Ringback for whoever is first; a caller who is not answered yet has its own phone for that. */
  async #untilCompany(call: CallSession, signal: AbortSignal): Promise<void> {
    this.emit('joined', call);
    if (this.size > 1) return this.#company.abort();
    const enough = AbortSignal.any([signal, this.#company.signal]);
    if (call.endpoint?.alive) await call.endpoint.play([RINGBACK], enough);
    if (!enough.aborted) await new Promise(resolve => enough.addEventListener('abort', resolve, { once: true }));
  }

  /** Whether a leg can be mixed: the bridge is on its media server, or on none yet. */
  #mixes({ server }: MediaEndpoint, call?: CallSession): boolean {
    const others = [...this.#members.keys()].filter(id => id !== call?.id);
    return server === this.#server || others.length + this.#own.size === 0;
  }
}
