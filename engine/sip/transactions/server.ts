import { EventEmitter } from 'node:events';
import type { Hop, Source } from '../hop.ts';
import { header, newTag, type SipRequest, type SipResponse } from '../message.ts';
import { Alarms } from '../timers.ts';
import { tagOf } from '../uri.ts';
import type { Wire } from './wire.ts';

interface ServerEvents {
  cancel: [SipRequest, Source];
  ack: [SipRequest, Source];
  timeout: [];
  ended: [];
}

/**
 * A request of somebody else (RFC 3261 17.2). The user calls `respond`; repeats are answered by the transaction.
 * INVITE ones emit 'cancel' (if the user has not answered when his listeners return, the stack answers 487), 'ack'
 * when the ACK to a 2xx came, and 'timeout' when no ACK came in 64*T1. 'ended' when it is forgotten.
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
  protected last: SipResponse | undefined;
  readonly #back: Hop;

  constructor(request: SipRequest, source: Source, wire: Wire) {
    super();
    this.request = request;
    this.source = source;
    this.wire = wire;
    this.reliable = source.transport !== 'udp';
    this.#back = { transport: source.transport, host: source.address, port: source.port };
  }

  /** Sends a response. Via, From, To (with a tag), Call-ID and CSeq are filled in when absent. Late ones are dropped. */
  abstract respond(response: SipResponse): void;
  abstract retransmitted(): void;
  /** A final response has been sent. */
  abstract get answered(): boolean;

  protected complete(response: SipResponse): SipResponse {
    const present = new Set(response.headers.map(one => one.key));
    const missing = this.request.headers.filter(one => COPIED.has(one.key) && !present.has(one.key));
    response.headers = [...missing, ...response.headers];
    if (response.status > 100) this.#tag(response);
    return response;
  }

  #tag(response: SipResponse): void {
    const at = response.headers.findIndex(one => one.key === 'to');
    const value = response.headers[at]?.value;
    if (value !== undefined && tagOf(value) === undefined)
      response.headers[at] = header('To', `${value};tag=${this.localTag}`);
  }

  /** Responses go back to where the request came from; a lost one is repeated when the request is. */
  protected transmit(): void {
    if (this.last) this.wire.send(this.last, this.#back, () => undefined);
  }

  /** A 2xx is repeated no more and no ACK is missed: its dialog is over (RFC 3261 15.1.2). */
  relax(): void {
    return;
  }

  /** Stops everything without telling the user. */
  end(): void {
    this.alarms.clearAll();
    this.emit('ended');
  }
}

/** The sender has yet to prove who it is. */
export const isChallenge = (status: number): boolean => status === 401 || status === 407;

const COPIED = new Set(['via', 'from', 'to', 'call-id', 'cseq']);
