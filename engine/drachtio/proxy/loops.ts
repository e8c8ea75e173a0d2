import { listOf } from '../../sip/grammar.ts';
import { isTransport } from '../../sip/hop.ts';
import { cseqOf, headerOf, headersOf, type SipRequest } from '../../sip/message.ts';
import { routesOf } from '../../sip/routes.ts';
import type { SipStack } from '../../sip/stack.ts';
import { tagOf } from '../../sip/uri.ts';
import { parseVia } from '../../sip/via.ts';

/** Requests that are being proxied, so that one that comes back as it was is not sent round again (RFC 3261 16.3, RFC 5393). */
export class Loops {
  readonly #underway = new Set<string>();

  /** Whether it has passed us already and nothing of it is different: another target would be a spiral, which may be. */
  has(stack: SipStack, request: SipRequest): boolean {
    if (!this.#underway.has(keyOf(request))) return false;
    return listOf(headersOf(request, 'via')).some(text => {
      const via = parseVia(text);
      const transport = via?.transport.toLowerCase() ?? '';
      return via && isTransport(transport) ? stack.isSelf({ transport, host: via.host, port: via.port ?? 0 }) : false;
    });
  }

  /** It is on its way; the result is to be called when it is over. */
  begin(request: SipRequest): () => void {
    const key = keyOf(request);
    this.#underway.add(key);
    return () => this.#underway.delete(key);
  }
}

/** What tells a loop from a spiral, but for the way it came. */
const keyOf = (request: SipRequest): string =>
  [
    ...[request.method, request.uri, headerOf(request, 'call-id'), tagOf(headerOf(request, 'from'))],
    ...[tagOf(headerOf(request, 'to')), cseqOf(request)?.number, ...routesOf(request)],
  ].join(' ');
