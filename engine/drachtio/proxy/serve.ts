import { isRequest, responseTo, type SipHeader, type SipRequest, type SipResponse } from '../../sip/message.ts';
import type { Source } from '../../sip/hop.ts';
import type { ServerTransaction } from '../../sip/transactions/server.ts';
import { parseLoose } from '../../sip/parser.ts';
import { announceProgress } from '../announce.ts';
import type { App } from '../app.ts';
import { callAnswered, callAttempted } from '../cdr.ts';
import { localOf, ownHeaders } from '../complete.ts';
import { release } from '../incoming.ts';
import type { Core, Incoming } from '../records.ts';
import { hasTooManyHops } from './forwarded.ts';
import { planOf, type ProxyPlan } from './plan.ts';
import { Proxy, type ProxyEars } from './proxy.ts';

/** Headers of the request that an application cannot replace. */
const KEPT = new Set([
  'via',
  'from',
  'to',
  'call-id',
  'cseq',
  'content-length',
  'max-forwards',
  'route',
  'record-route',
]);

/** `proxy`: a request the application was given goes on to others, and its part in it is to hear what they say. */
export function serveProxy(core: Core, app: App, messageId: string, fields: string[], text: string): void {
  const [transactionId = '', ...rest] = fields;
  const incoming = core.incoming.get(transactionId);
  if (!incoming || incoming.app !== app || incoming.touched)
    return app.nok(messageId, `Unknown transaction id: ${transactionId}`);
  const plan = planOf(rest);
  if (typeof plan === 'string') return app.nok(messageId, plan);
  const { transaction, request } = incoming;
  letGo(core, incoming);
  if (hasTooManyHops(request)) {
    transaction.respond(responseTo(request, 483));
    return app.nok(messageId, 'Rejected with 483 Too Many Hops');
  }
  if (core.loops.has(core.stack, request)) {
    transaction.respond(responseTo(request, 482));
    return app.nok(messageId, 'Rejected with 482 Loop Detected');
  }
  const final = (response: SipResponse, source: Source | undefined): void => {
    if (plan.fullResponse) announceProgress(app, messageId, response, source);
  };
  const done = (): void => app.ok(messageId, 'done');
  proxyOn(core, transaction, plan, extraHeaders(incoming, text), { final, done });
}

/** Hands a request on as planned, and keeps the records of its call. */
export function proxyOn(
  core: Core,
  transaction: ServerTransaction,
  plan: ProxyPlan,
  extra: SipHeader[] = [],
  told: Partial<Pick<ProxyEars, 'final' | 'done'>> = {},
): void {
  const isCall = transaction.request.method === 'INVITE';
  transaction.once('ended', core.loops.begin(transaction.request));
  const final = (response: SipResponse, source: Source | undefined): void => {
    if (plan.recordRoute && response.status < 300) core.proxied.begin(response);
    told.final?.(response, source);
    if (isCall) callAnswered(core, 'network', 'proxy-uac', response);
  };
  const tried = (sent: SipRequest): void => void (isCall && callAttempted(core, 'application', sent));
  const done = (response: SipResponse): void => {
    told.done?.(response);
    if (isCall) callAnswered(core, 'application', 'proxy-uas', response);
  };
  new Proxy(core, transaction, plan, extra, { final, tried, done }).start();
}

/** It is no dialog of the application any more, and a CANCEL is none of its business. */
function letGo(core: Core, incoming: Incoming): void {
  incoming.transaction.removeAllListeners('cancel');
  release(core, incoming);
}

/** What the application adds to the request, or puts in place of what was there. */
function extraHeaders({ source }: Incoming, text: string): SipHeader[] {
  const given = parseLoose(text);
  return given.ok && isRequest(given.message) ? ownHeaders(given.message, KEPT, localOf(source)) : [];
}
