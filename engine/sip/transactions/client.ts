import { EventEmitter } from 'node:events';
import type { Hop, Source } from '../hop.ts';
import { headerOf, newRequest, serialize, type HeaderInput, type SipRequest, type SipResponse } from '../message.ts';
import { Alarms } from '../timers.ts';
import type { Wire } from './wire.ts';

/** What a request of ours tells. */
export interface ClientEvents {
  response: [SipResponse, Source];
  timeout: [];
  error: [Error];
  ended: [];
}

/** A CANCEL as it goes out. */
export interface CancelResult {
  request: SipRequest;
  /** Kept back until a provisional response (RFC 3261 9.1). */
  held: boolean;
}

/**
 * A request of ours by one way (RFC 3261 17.1). Emits 'response' for every response the user has to see, then at most one of
 * 'timeout' (nobody answered) and 'error' (it could not be delivered), and 'ended' when it is forgotten.
 */
export abstract class ClientTransaction extends EventEmitter<ClientEvents> {
  /** As it went on the wire, Via included; without headers and body once it is forgotten. */
  request: SipRequest;
  readonly branch: string;
  hop: Hop;
  protected readonly wire: Wire;
  protected readonly alarms = new Alarms();
  protected reliable: boolean;

  constructor(request: SipRequest, branch: string, hop: Hop, wire: Wire) {
    super();
    this.request = request;
    this.branch = branch;
    this.hop = hop;
    this.wire = wire;
    this.reliable = hop.transport !== 'udp';
  }

  /** Goes there instead; only before `start`. */
  aim(hop: Hop): void {
    this.hop = hop;
    this.reliable = hop.transport !== 'udp';
  }

  /** Says no more of its own accord: another way has been taken. An INVITE that is heard of after all is cancelled. */
  abandon(): void {
    this.cancel();
    this.alarms.clear('A', 'E');
  }

  /** It has its final answer and is never sent again: what stays for late ones is small. */
  forget(): void {
    this.request = emptied(this.request);
  }

  abstract start(): void;
  abstract receive(response: SipResponse, source: Source): void;
  /** It has its final response, or never will. */
  abstract get finished(): boolean;

  /** Only an INVITE can be cancelled; for others, and after the final response, nothing happens and undefined comes back. */
  cancel(_headers: HeaderInput = {}): CancelResult | undefined {
    return undefined;
  }

  protected transmit(): void {
    this.wire.send(serialize(this.request), this.hop, error => this.fail(error));
  }

  /** Asks for "port unreachable" once, when the first answer is overdue. */
  protected probe(): void {
    if (!this.reliable) this.wire.probe(this.hop, error => this.fail(error));
  }

  /** It could not be sent. */
  protected fail(error: Error): void {
    if (this.finished) return;
    this.end();
    if (this.listenerCount('error') > 0) this.emit('error', error);
    else this.emit('timeout');
  }

  /** Nobody answered in time. */
  protected expire(): void {
    this.end();
    this.emit('timeout');
  }

  /** Stops everything without telling the user. */
  end(): void {
    this.alarms.clearAll();
    this.emit('ended');
  }
}

/** Of a request no more than what it was. */
export const emptied = ({ method, uri }: SipRequest): SipRequest => ({ method, uri, headers: [], body: NOTHING });

const NOTHING = Buffer.alloc(0);

/** ACK for a failure or CANCEL: same Via, From, Call-ID, Route and CSeq number as the INVITE (RFC 3261 9.1, 17.1.1.3). */
export function companion(
  method: 'ACK' | 'CANCEL',
  invite: SipRequest,
  to: string,
  headers: HeaderInput = {},
): SipRequest {
  const request = newRequest(method, invite.uri, {
    Via: headerOf(invite, 'via'),
    Route: invite.headers.filter(one => one.key === 'route').map(one => one.value),
    'Max-Forwards': '70',
    From: headerOf(invite, 'from'),
    To: to,
    'Call-ID': headerOf(invite, 'call-id'),
    CSeq: `${headerOf(invite, 'cseq')?.split(/\s+/)[0] ?? '1'} ${method}`,
  });
  const extra = newRequest(method, invite.uri, headers).headers;
  const taken = new Set(request.headers.map(one => one.key));
  request.headers.push(...extra.filter(one => !taken.has(one.key)));
  return request;
}
