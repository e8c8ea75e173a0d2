import type { Source } from '../../sip/hop.ts';
import { header, responseTo, type SipRequest } from '../../sip/message.ts';
import type { ServerTransaction } from '../../sip/transactions/server.ts';
import type { AppPlace } from '../admin.ts';
import type { App } from '../app.ts';
import { handTo } from '../incoming.ts';
import { planOf } from '../proxy/plan.ts';
import { proxyOn } from '../proxy/serve.ts';
import type { Core } from '../records.ts';
import { ask } from './ask.ts';
import type { Instruction } from './instruction.ts';

/** By method in lower case, or `*` for all others: `tcp://host:port`, `tls://host:port`, or an HTTP server that is asked. */
export type RequestHandlers = Partial<Record<string, string>>;

interface Asked {
  transaction: ServerTransaction;
  request: SipRequest;
  source: Source;
}

/** New requests that go to an application we connect to, or wherever an HTTP server says (drachtio's outbound mode). */
export class Director {
  readonly #core: () => Core;
  readonly #handlers: RequestHandlers;
  readonly #reach: (place: AppPlace) => Promise<App>;
  readonly #mostWaiting: number;
  #waiting = 0;

  /**
   * @param core the server, which holds this as a part of it
   * @param reach connects to an application, and rejects when none logs in there
   * @param mostWaiting so many requests may wait for their way at a time; further ones are answered 503
   */
  constructor(
    core: () => Core,
    handlers: RequestHandlers,
    reach: (place: AppPlace) => Promise<App>,
    mostWaiting = 1000,
  ) {
    this.#core = core;
    this.#handlers = handlers;
    this.#reach = reach;
    this.#mostWaiting = mostWaiting;
  }

  /** Whether it takes care of this request. */
  directs(transaction: ServerTransaction, request: SipRequest, source: Source): boolean {
    const url = this.#handlers[request.method.toLowerCase()] ?? this.#handlers['*'];
    if (url === undefined) return false;
    const asked = { transaction, request, source };
    if (this.#waiting >= this.#mostWaiting) answer(asked, 503);
    else void this.#direct(url, asked);
    return true;
  }

  async #direct(url: string, asked: Asked): Promise<void> {
    this.#waiting += 1;
    try {
      const place = placeOf(url);
      const order: Instruction | undefined = place ? undefined : await ask(url, asked.request, asked.source);
      // Meanwhile the caller may have given up.
      if (asked.transaction.answered) return;
      if (place) await this.#connect(place, asked);
      else if (order) await this.#obey(order, asked);
      else answer(asked, 500);
    } catch (error) {
      this.#core().log.warn({ err: error, url }, 'the server that knows the way of requests cannot be asked');
      answer(asked, 500);
    } finally {
      this.#waiting -= 1;
    }
  }

  async #obey(order: Instruction, asked: Asked): Promise<void> {
    if (order.action === 'reject') answer(asked, order.status, order.reason);
    else if (order.action === 'redirect') redirect(asked, order.contacts);
    else if (order.action === 'proxy') this.#proxy(order.fields, asked);
    else if ('tag' in order) this.#handTo(this.#core().apps.next(asked.request.method.toLowerCase(), order.tag), asked);
    else await this.#connect(placeOf(order.uri), asked);
  }

  #proxy(fields: string[], asked: Asked): void {
    const plan = planOf(fields);
    if (typeof plan === 'string') answer(asked, 500);
    else proxyOn(this.#core(), asked.transaction, plan);
  }

  async #connect(place: AppPlace | undefined, asked: Asked): Promise<void> {
    const app = place && (await this.#reach(place).catch((error: unknown) => this.#unreachable(place, error)));
    if (!asked.transaction.answered) this.#handTo(app, asked);
  }

  #unreachable(place: AppPlace, error: unknown): undefined {
    this.#core().log.warn({ err: error, ...place }, 'an application cannot be reached');
  }

  #handTo(app: App | undefined, asked: Asked): void {
    if (app) handTo(this.#core(), app, asked.transaction, asked.request, asked.source);
    else answer(asked, 480);
  }
}

const answer = ({ transaction, request }: Asked, status: number, reason?: string): void => {
  if (!transaction.answered) transaction.respond(responseTo(request, status, reason));
};

function redirect({ transaction, request }: Asked, contacts: string[]): void {
  const response = responseTo(request, 302);
  const written = contacts.map(one => (one.includes('<') ? one : `<${one}>`));
  response.headers.push(header('Contact', written.join(', ')));
  transaction.respond(response);
}

/** `tcp://host:port`, or as an order says it `host:port;transport=tls`; undefined for anything else. */
function placeOf(text: string): AppPlace | undefined {
  const [, scheme, host, port, parameter] =
    /^(?:(tcp|tls):(?:\/\/)?)?(\[[\da-f:.]+\]|[\w.-]+):(\d{1,5})(?:;transport=(tcp|tls))?$/i.exec(text) ?? [];
  if (host === undefined || port === undefined) return undefined;
  return { host: host.replace(/[[\]]/g, ''), port: Number(port), tls: (parameter ?? scheme)?.toLowerCase() === 'tls' };
}
