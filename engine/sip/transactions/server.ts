import { EventEmitter } from 'node:events';
import { hopOfSource, type Hop, type Source } from '../hop.ts';
import { header, newTag, serialize, type SipRequest, type SipResponse } from '../message.ts';
import { Alarms } from '../timers.ts';
import { tagOf } from '../uri.ts';
import type { Remains } from './afterlife.ts';
import type { Wire } from './wire.ts';

interface ServerEvents {
  cancel: [SipRequest, Source];
  accepted: [SipResponse];
  ack: [SipRequest, Source];
  timeout: [];
  ended: [Remains | undefined];
}

/**
 * A request of somebody else (RFC 3261 17.2). The user calls `respond`; repeats are answered by the transaction.
 * INVITE ones emit 'cancel' (if the user has not answered when his listeners return, the stack answers 487), 'accepted' as
 * a 2xx goes out, 'ack' when its ACK came, and 'timeout' when none came in 64*T1; others 'timeout' when the user answered
 * nothing in 128*T1. 'ended' when there is nothing more to say but, for a while, the last answer again.
 */
export abstract class ServerTransaction extends EventEmitter<ServerEvents> {
  readonly request: SipRequest;
  readonly source: Source;
  /** Its user answers a CANCEL in his own time, and the stack says no 487 (RFC 3261 16.10). */
  answersCancel = false;
  /** To tag put on responses that bring none. */
  localTag = newTag();
  protected readonly wire: Wire;
  protected readonly alarms = new Alarms();
  protected readonly reliable: boolean;
  readonly #back: Hop;
  #last: Buffer | undefined;

  constructor(request: SipRequest, source: Source, wire: Wire) {
    super();
    this.request = request;
    this.source = source;
    this.wire = wire;
    this.reliable = source.transport !== 'udp';
    this.#back = hopOfSource(source);
  }

  /** Sends a response. Via, From, To (with a tag), Call-ID and CSeq are filled in when absent. Late ones are dropped. */
  abstract respond(response: SipResponse): void;
  /** The request came again. */
  abstract retransmitted(): void;
  /** A final response has been sent. */
  abstract get answered(): boolean;
  /** Its user has begun to serve it: more than Trying was said. What is refused before that is soon forgotten. */
  get served(): boolean {
    return false;
  }

  /** Fills in what a response of the user's lacks. */
  protected complete(response: SipResponse): void {
    const present = new Set(response.headers.map(one => one.key));
    const missing = this.request.headers.filter(one => COPIED.has(one.key) && !present.has(one.key));
    response.headers = [...missing, ...response.headers];
    if (response.status > 100) this.#tag(response);
  }

  #tag(response: SipResponse): void {
    const at = response.headers.findIndex(one => one.key === 'to');
    const value = response.headers[at]?.value;
    if (value !== undefined && tagOf(value) === undefined)
      response.headers[at] = header('To', `${value};tag=${this.localTag}`);
  }

  /** Responses go back to where the request came from; a lost one is repeated when the request is. */
  protected transmit(response: SipResponse): void {
    this.#last = serialize(response);
    this.repeat();
  }

  /** The last response again. */
  protected repeat(): void {
    if (this.#last) this.wire.send(this.#last, this.#back, () => undefined);
  }

  /** A 2xx is repeated no more and no ACK is missed: its dialog is over (RFC 3261 15.1.2). */
  relax(): void {
    return;
  }

  /**
   * There is nothing more to do, once the user has gone on from where he is. For `ms` a repeated request finds the last answer,
   * or with `mute` nothing.
   */
  protected leave(ms: number, mute = false): void {
    const remains = ms > 0 ? { answer: mute ? undefined : this.#last, hop: this.#back, ms } : undefined;
    queueMicrotask(() => this.end(remains));
  }

  /** Stops everything without telling the user. */
  end(remains?: Remains): void {
    this.alarms.clearAll();
    this.emit('ended', remains);
  }
}

/** The sender has yet to prove who it is. */
export const isChallenge = (status: number): boolean => status === 401 || status === 407;

const COPIED = new Set(['via', 'from', 'to', 'call-id', 'cseq']);
