import { responseTo, type SipRequest, type SipResponse } from '../../sip/message.ts';
import { putAlongRoutes } from '../../sip/routes.ts';
import { isChallenge, type ServerTransaction } from '../../sip/transactions/server.ts';
import { callStopped } from '../cdr.ts';
import type { Core } from '../records.ts';
import { copyFor, hasTooManyHops, isRoutedHere, isStrictlyRouted, restoreTarget, wayOf } from './forwarded.ts';
import type { ProxyPlan } from './plan.ts';
import { Proxy } from './proxy.ts';

/** Whether a request comes by because we record-routed its dialog (RFC 3261 16.4). */
export const passesThrough = (core: Core, request: SipRequest): boolean =>
  core.proxied.has(request) && (isRoutedHere(core.stack, request) || isStrictlyRouted(core.stack, request));

/** Sends a request inside a dialog that we record-routed on to the other side. */
export function handOn(core: Core, transaction: ServerTransaction): void {
  const { request } = transaction;
  restoreTarget(core.stack, request);
  if (hasTooManyHops(request)) return transaction.respond(responseTo(request, 483));
  const final = ({ status }: SipResponse): void => {
    if (request.method === 'BYE' && !isChallenge(status)) core.proxied.end(request);
  };
  if (request.method === 'BYE') callStopped(core, 'network', 'normal-release', request);
  const ears = { final, tried: () => undefined, done: () => undefined };
  new Proxy(core, transaction, { ...PLAIN, targets: [request.uri] }, [], ears).start();
}

const PLAIN: Omit<ProxyPlan, 'targets'> = {
  ...{ recordRoute: false, fullResponse: false, followRedirects: false, simultaneous: false },
  ...{ provisionalMs: undefined, finalMs: undefined },
};

/** The ACK to a 2xx has no transaction (RFC 3261 17.1.1.3). */
export function handOnAck(core: Core, request: SipRequest): void {
  if (hasTooManyHops(request)) return;
  restoreTarget(core.stack, request);
  const copy = copyFor(core.stack, request, request.uri);
  const hop = wayOf(copy, uri => core.registered.hopFor(uri));
  putAlongRoutes(copy);
  if (hop && core.stack.localFor(hop) && !core.stack.isSelf(hop)) core.stack.forward(copy, hop);
}
