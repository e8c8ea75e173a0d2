import { authorization, chooseChallenge } from './digest.ts';
import type { Challenge } from './digest.ts';
import { hostPort } from './sip-address.ts';
import type { Remote } from './sip-address.ts';
import type { RequestHandlers } from './sip-call.ts';
import { cseq, header } from './sip-message.ts';
import type { SipRequest, SipResponse } from './sip-message.ts';
import { ClientTransaction } from './sip-transaction.ts';
import { branchOf } from './sip-wire.ts';
import type { Identity, Wire } from './sip-wire.ts';

interface Exchange {
  request: SipRequest;
  to: Remote;
  handlers: RequestHandlers;
  /** The nonce we have already answered to: a second challenge with no `stale` means that our password is wrong. */
  answered: boolean;
  retried: boolean;
}

/** The requests of one phone: transactions, and digest authentication on top of them. */
export class SipClient {
  #identity: Identity;
  #wire: Wire;
  #transactions = new Map<string, { transaction: ClientTransaction; to: Remote }>();
  #nonceCounts = new Map<string, number>();

  constructor(identity: Identity, wire: Wire) {
    this.#identity = identity;
    this.#wire = wire;
  }

  /** Sends a request; a 401 or 407 is answered once with our credentials, and again where the nonce was only stale. */
  request(request: SipRequest, to: Remote, handlers: RequestHandlers): void {
    this.#send({ request, to, handlers, answered: false, retried: false });
  }

  receive(response: SipResponse, at: number): void {
    this.#transactions.get(`${branchOf(response)}|${cseq(response).method}`)?.transaction.receive(response, at);
  }

  /** The connection to an address broke: nothing sent there will be answered. */
  failed(to: Remote): void {
    for (const entry of [...this.#transactions.values()]) {
      if (hostPort(entry.to) === hostPort(to)) entry.transaction.fail();
    }
  }

  abandon(call_id: string): void {
    for (const { transaction } of [...this.#transactions.values()]) {
      if (header(transaction.request, 'call-id') === call_id) transaction.close();
    }
  }

  close(): void {
    for (const { transaction } of [...this.#transactions.values()]) transaction.close();
  }

  #send(exchange: Exchange): void {
    const { to, handlers } = exchange;
    const own = exchange.request.method === 'CANCEL' ? [] : [this.#wire.via()];
    const request = { ...exchange.request, headers: [...own, ...exchange.request.headers] };
    const key = `${branchOf(request)}|${request.method}`;
    const transaction = new ClientTransaction(request, {
      ...this.#wire.surroundings,
      send: () => this.#wire.send(request, to),
      response: (response, at) => this.#response(exchange, response, at),
      acknowledge: response => this.#wire.send(ackFor(request, response), to),
      timeout: () => handlers.timeout(),
      done: () => this.#transactions.delete(key),
    });
    this.#transactions.set(key, { transaction, to });
    handlers.sent?.(request);
    transaction.start();
  }

  #response(exchange: Exchange, response: SipResponse, at: number): void {
    const again = response.status === 401 || response.status === 407 ? this.#authorized(exchange, response) : undefined;
    if (again) this.#send(again);
    else exchange.handlers.response(response, at);
  }

  /** The same request with credentials and the next sequence number (RFC 3261 section 22.2), or undefined when there is nothing to add. */
  #authorized(exchange: Exchange, response: SipResponse): Exchange | undefined {
    const proxy = response.status === 407;
    const name = proxy ? 'proxy-authenticate' : 'www-authenticate';
    const challenges = response.headers.filter(h => h.name === name).map(h => h.value);
    const challenge = chooseChallenge(challenges, this.#identity.algorithm);
    if (!challenge || exchange.retried || (exchange.answered && !challenge.stale)) return undefined;
    const headerName = proxy ? 'proxy-authorization' : 'authorization';
    const value = this.#credentials(challenge, exchange.request);
    const headers = nextSequence(exchange.request).filter(h => h.name !== headerName);
    const request = { ...exchange.request, headers: [...headers, { name: headerName, value }] };
    return { ...exchange, request, answered: true, retried: exchange.answered };
  }

  #credentials(challenge: Challenge, request: SipRequest): string {
    const nonceCount = (this.#nonceCounts.get(challenge.nonce) ?? 0) + 1;
    this.#nonceCounts.set(challenge.nonce, nonceCount);
    const { username, password } = this.#identity;
    return authorization({ username, password, challenge, method: request.method, uri: request.uri, nonceCount });
  }
}

function nextSequence(request: SipRequest): SipRequest['headers'] {
  const { number, method } = cseq(request);
  return request.headers.map(h => (h.name === 'cseq' ? { name: 'cseq', value: `${number + 1} ${method}` } : h));
}

/** RFC 3261 section 17.1.1.3. */
function ackFor(invite: SipRequest, response: SipResponse): SipRequest {
  const via = invite.headers.filter(h => h.name === 'via').slice(0, 1);
  const copied = invite.headers.filter(h => ['from', 'call-id', 'route', 'max-forwards'].includes(h.name));
  const headers = [
    ...via,
    ...copied,
    { name: 'to', value: header(response, 'to') ?? '' },
    { name: 'cseq', value: `${cseq(invite).number} ACK` },
  ];
  return { kind: 'request', method: 'ACK', uri: invite.uri, headers, body: '' };
}
