import { header, responseTo } from '../../sip/message.ts';
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

  /** Takes care of a new request and says true; false when no handler is set for its method. */
  directs(asked: ServerTransaction): boolean {
    const url = this.#handlers[asked.request.method.toLowerCase()] ?? this.#handlers['*'];
    if (url === undefined) return false;
    if (this.#waiting >= this.#mostWaiting) answer(asked, 503);
    else void this.#direct(url, asked);
    return true;
  }

  async #direct(url: string, asked: ServerTransaction): Promise<void> {
    this.#waiting += 1;
    try {
      const place = placeOf(url);
      const order: Instruction | undefined = place ? undefined : await ask(url, asked);
      // Meanwhile the caller may have given up.
      if (asked.answered) return;
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

  async #obey(order: Instruction, asked: ServerTransaction): Promise<void> {
    if (order.action === 'reject') answer(asked, order.status, order.reason);
    else if (order.action === 'redirect') redirect(asked, order.contacts);
    else if (order.action === 'proxy') this.#proxy(order.fields, asked);
    else if ('tag' in order) this.#handTo(this.#core().apps.next(asked.request.method.toLowerCase(), order.tag), asked);
    else await this.#connect(placeOf(order.uri), asked);
  }

  #proxy(fields: string[], asked: ServerTransaction): void {
    const plan = planOf(fields);
    if (typeof plan === 'string') answer(asked, 500);
    else proxyOn(this.#core(), asked, plan);
  }

  async #connect(place: AppPlace | undefined, asked: ServerTransaction): Promise<void> {
    const app = place && (await this.#reach(place).catch((error: unknown) => this.#unreachable(place, error)));
    if (!asked.answered) this.#handTo(app, asked);
  }

  #unreachable(place: AppPlace, error: unknown): undefined {
    this.#core().log.warn({ err: error, ...place }, 'an application cannot be reached');
  }

  #handTo(app: App | undefined, asked: ServerTransaction): void {
    if (app) handTo(this.#core(), app, asked);
    else answer(asked, 480);
  }
}

const answer = (asked: ServerTransaction, status: number, reason?: string): void => {
  if (!asked.answered) asked.respond(responseTo(asked.request, status, reason));
};

function redirect(asked: ServerTransaction, contacts: string[]): void {
  const response = responseTo(asked.request, 302);
  const written = contacts.map(one => (one.includes('<') ? one : `<${one}>`));
  response.headers.push(header('Contact', written.join(', ')));
  asked.respond(response);
}

/** `tcp://host:port`, or as an order says it `host:port;transport=tls`; undefined for anything else. */
function placeOf(text: string): AppPlace | undefined {
  const [, scheme, host, port, parameter] =
    /^(?:(tcp|tls):(?:\/\/)?)?(\[[\da-f:.]+\]|[\w.-]+):(\d{1,5})(?:;transport=(tcp|tls))?$/i.exec(text) ?? [];
  if (host === undefined || port === undefined) return undefined;
  return { host: host.replace(/[[\]]/g, ''), port: Number(port), tls: (parameter ?? scheme)?.toLowerCase() === 'tls' };
}
