import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { hostPort, parseParams } from './sip-address.ts';
import type { Remote } from './sip-address.ts';
import type { Credentials } from './digest.ts';
import { cseq, formatMessage, header, headerList, parseMessage } from './sip-message.ts';
import type { SipHeader, SipMessage, SipRequest, SipResponse } from './sip-message.ts';
import type { Timing } from './sip-transaction.ts';
import { RFC_TIMING } from './sip-transaction.ts';
import { openTransport } from './sip-transport.ts';
import type { Arrival, Protocol, SipTransport, TransportOptions } from './sip-transport.ts';

/** Who a phone is. */
export interface Identity extends Credentials {
  /** From value without tag: `"Alice" <sip:1001@domain>`. */
  address: string;
  domain: string;
  /** Where everything goes; none for a phone that calls others directly. */
  server?: Remote;
  /** Answer only challenges of this digest algorithm. */
  algorithm?: string;
}

/** One SIP message at the socket; `at` is performance.now(). */
export interface LogEntry {
  at: number;
  direction: 'sent' | 'received';
  message: SipMessage;
  /** `INVITE` for a request, `200 INVITE` for a response. */
  title: string;
  remote: Remote;
}

const LOG_LIMIT = 20_000;

/** Messages over one socket, logged with their times. */
export class Wire {
  readonly log: LogEntry[] = [];
  readonly surroundings: { reliable: boolean; timing: Timing };
  onRequest: (request: SipRequest, from: Remote, at: number) => void = () => undefined;
  onResponse: (response: SipResponse, at: number) => void = () => undefined;
  onFailure: (to: Remote, error: Error) => void = () => undefined;
  /** A phone without network neither hears nor speaks. */
  silent = false;
  #transport: SipTransport;

  static async open(options: TransportOptions, timing: Timing = RFC_TIMING): Promise<Wire> {
    const arrivals: { deliver?: (arrival: Arrival) => void; failed?: (to: Remote, error: Error) => void } = {};
    const transport = await openTransport(options, {
      message: arrival => arrivals.deliver?.(arrival),
      failed: (to, error) => arrivals.failed?.(to, error),
    });
    const wire = new Wire(transport, timing);
    arrivals.deliver = arrival => wire.#deliver(arrival);
    arrivals.failed = (to, error) => wire.onFailure(to, error);
    return wire;
  }

  constructor(transport: SipTransport, timing: Timing) {
    this.#transport = transport;
    this.surroundings = { reliable: transport.protocol !== 'udp', timing };
  }

  get protocol(): Protocol {
    return this.#transport.protocol;
  }

  get local(): Remote {
    return this.#transport.local;
  }

  /** Where Via and Contact say we are. */
  get sentBy(): string {
    return this.#transport.sentBy ?? hostPort(this.local);
  }

  send(message: SipMessage, to: Remote): void {
    if (this.silent) return;
    this.#note('sent', message, to, performance.now());
    this.#transport.send(formatMessage(message), to);
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  /** A Via with a branch of its own (RFC 3261 section 8.1.1.7) that asks for the answer at our source port (RFC 3581). */
  via(): SipHeader {
    const branch = `z9hG4bK${randomBytes(9).toString('hex')}`;
    return {
      name: 'via',
      value: `SIP/2.0/${this.protocol.toUpperCase()} ${this.sentBy};branch=${branch};rport`,
    };
  }

  /** Where responses go (RFC 3261 section 18.2.2, RFC 3581 section 4); marks the top Via with the source as well. */
  returnPath(request: SipRequest, from: Remote): Remote {
    const top = request.headers.find(h => h.name === 'via');
    if (!top || this.protocol !== 'udp') return from;
    const [value = '', ...others] = headerList(request, 'via');
    const symmetric = parseParams(value.slice(value.indexOf(';'))).has('rport');
    const marked = value.replace(/;\s*rport(=\d*)?(?=;|$)/i, `;rport=${from.port}`);
    top.value = [`${marked};received=${from.host}`, ...(sameHeader(request) ? others : [])].join(', ');
    return symmetric ? from : { host: from.host, port: sentByPort(value) };
  }

  #deliver({ data, from, at }: Arrival): void {
    if (this.silent) return;
    const message = readable(data);
    if (!message) return;
    this.#note('received', message, from, at);
    if (message.kind === 'request') this.onRequest(message, from, at);
    else this.onResponse(message, at);
  }

  #note(direction: 'sent' | 'received', message: SipMessage, remote: Remote, at: number): void {
    const method = message.kind === 'request' ? message.method : `${message.status} ${cseq(message).method}`;
    this.log.push({ at, direction, message, title: method, remote });
    if (this.log.length > LOG_LIMIT) this.log.splice(0, LOG_LIMIT / 2);
  }
}

/** Several hops in one comma list, rather than one header each. */
function sameHeader(request: SipRequest): boolean {
  return request.headers.filter(h => h.name === 'via').length === 1;
}

function sentByPort(via: string): number {
  return Number(/^SIP\s*\/\s*2\.0\s*\/\s*\w+\s+(?:\[[^\]]*\]|[^:;\s]+)\s*:\s*(\d+)/i.exec(via)?.[1] ?? 5060);
}

/** The branch of the topmost Via; empty when there is none. */
export function branchOf(message: SipMessage): string {
  const value = headerList(message, 'via')[0] ?? '';
  return parseParams(value.slice(value.indexOf(';'))).get('branch') ?? '';
}

/** Noise on the port is dropped: a phone cannot answer what it cannot read (section 16.3 leaves it the choice). */
function readable(data: Buffer): SipMessage | undefined {
  try {
    const message = parseMessage(data);
    cseq(message);
    return header(message, 'call-id') && header(message, 'via') ? message : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
