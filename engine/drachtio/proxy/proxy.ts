import { listOf } from '../../sip/grammar.ts';
import { hopOfSource, type Source } from '../../sip/hop.ts';
import { headersOf, responseTo, type SipHeader, type SipRequest, type SipResponse } from '../../sip/message.ts';
import { putAlongRoutes } from '../../sip/routes.ts';
import { parseNameAddr, parseUri } from '../../sip/uri.ts';
import type { ServerTransaction } from '../../sip/transactions/server.ts';
import type { Core } from '../records.ts';
import { Branch } from './branch.ts';
import { copyFor, recordRoute, wayOf, withoutOwnVia } from './forwarded.ts';
import type { ProxyPlan } from './plan.ts';

/** Tried in all, with what redirects bring (RFC 3261 16.5). */
const MOST_BRANCHES = 20;

/** What whoever proxies is told. */
export interface ProxyEars {
  /** The request goes out to a target. */
  tried(request: SipRequest): void;
  /** A final response of a target; without a source when it was made here. */
  final(response: SipResponse, source: Source | undefined): void;
  /** The caller has this for an answer. */
  done(response: SipResponse): void;
}

/** A request that is handed on to one target after the other, or to all at once (RFC 3261 16). */
export class Proxy {
  readonly #core: Core;
  readonly #transaction: ServerTransaction;
  readonly #plan: ProxyPlan;
  readonly #extra: SipHeader[];
  readonly #ears: ProxyEars;
  readonly #branches: Branch[] = [];
  readonly #targets: string[];
  #best: SipResponse | undefined;
  #cancelled = false;
  #done = false;

  constructor(core: Core, transaction: ServerTransaction, plan: ProxyPlan, extra: SipHeader[], ears: ProxyEars) {
    this.#core = core;
    this.#transaction = transaction;
    this.#plan = plan;
    this.#extra = extra;
    this.#ears = ears;
    this.#targets = [...plan.targets];
    transaction.answersCancel = true;
    transaction.on('cancel', () => this.#cancel());
  }

  /** Tries the first target, or all of them. */
  start(): void {
    this.#next();
  }

  /** The next target, or all that are left; when there is none, the best answer goes back. */
  #next(): void {
    if (this.#done) return;
    while (!this.#cancelled && this.#targets.length > 0 && this.#branches.length < MOST_BRANCHES)
      if (this.#try(this.#targets.shift() ?? '') && !this.#plan.simultaneous) return;
    if (this.#branches.every(one => !one.open)) this.#answer();
  }

  /** False when there is no way to that target. */
  #try(target: string): boolean {
    const { request, source } = this.#transaction;
    const { stack, registered } = this.#core;
    const copy = copyFor(stack, request, target, this.#extra);
    const hop = wayOf(copy, uri => registered.hopFor(uri));
    if (!hop || !stack.localFor(hop) || stack.isSelf(hop)) return false;
    if (this.#plan.recordRoute) recordRoute(stack, copy, source, hop);
    putAlongRoutes(copy);
    const ears = { heard: this.#heard.bind(this), failed: this.#failed.bind(this) };
    this.#branches.push(new Branch(stack, copy, hop, ears, this.#plan));
    this.#ears.tried(copy);
    return true;
  }

  #heard(branch: Branch, response: SipResponse, source: Source): void {
    const handed = withoutOwnVia(response);
    if (!handed) return;
    if (response.status < 200) return void (this.#done || this.#transaction.respond(handed));
    for (const other of this.#branches) if (other !== branch) other.drop();
    if (this.#done) return this.#again(handed);
    this.#ears.final(response, source);
    this.#finish(handed);
  }

  /** A 2xx after the first, of the same target or another: all of them reach the caller (RFC 3261 16.7 step 5). */
  #again(response: SipResponse): void {
    this.#core.stack.send(response, hopOfSource(this.#transaction.source));
  }

  #failed(_branch: Branch, response: SipResponse, source: Source | undefined): void {
    if (this.#done) return;
    this.#ears.final(response, source);
    const further = this.#plan.followRedirects && response.status < 400 ? contactsOf(response) : [];
    this.#targets.unshift(...further);
    if (further.length === 0) this.#best = betterOf(this.#best, response);
    // RFC 3261 16.7 step 5: nobody else need be asked after a 6xx.
    if (response.status >= 600) for (const other of this.#branches) other.cancel();
    if (response.status >= 600) this.#targets.splice(0);
    this.#next();
  }

  #cancel(): void {
    this.#cancelled = true;
    this.#targets.splice(0);
    for (const branch of this.#branches) branch.cancel();
  }

  #answer(): void {
    const best = this.#best && withoutOwnVia(this.#best);
    this.#finish(best ?? responseTo(this.#transaction.request, this.#cancelled ? 487 : 480));
  }

  #finish(response: SipResponse): void {
    this.#done = true;
    this.#transaction.respond(response);
    // The callee repeats his 2xx himself, and its ACK need not come by here.
    this.#transaction.relax();
    this.#ears.done(response);
  }
}

/** RFC 3261 16.7 step 6: a 6xx, else the lowest class, and of that the latest. */
function betterOf(best: SipResponse | undefined, other: SipResponse): SipResponse {
  if (!best || other.status >= 600) return other;
  if (best.status >= 600) return best;
  return Math.floor(other.status / 100) <= Math.floor(best.status / 100) ? other : best;
}

const contactsOf = (response: SipResponse): string[] =>
  listOf(headersOf(response, 'contact'))
    .map(one => parseNameAddr(one)?.uri ?? '')
    .filter(uri => parseUri(uri)?.scheme !== 'tel' && parseUri(uri) !== undefined)
    .slice(0, 10);
