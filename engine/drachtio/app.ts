import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Dialog, Incoming } from './records.ts';
import { frame } from './frame.ts';

/** More unread bytes than this and the application is not reading; it is treated as gone. */
const MOST_UNREAD_BYTES = 16 * 1024 * 1024;

/** One authenticated application connection. */
export class App {
  readonly verbs = new Set<string>();
  /** What it called itself as it logged in. */
  readonly tags: ReadonlySet<string>;
  readonly dialogs = new Set<Dialog>();
  /** Requests handed over and not finally answered. */
  readonly incoming = new Set<Incoming>();
  readonly #socket: Socket;

  constructor(socket: Socket, tags: string[] = []) {
    this.#socket = socket;
    this.tags = new Set(tags);
  }

  /** Its connection stands. */
  get alive(): boolean {
    return !this.#socket.destroyed && this.#socket.writable;
  }

  /** One frame, one write. A fresh message id is put in front. */
  send(rest: string): void {
    if (!this.alive) return;
    if (this.#socket.writableLength > MOST_UNREAD_BYTES) this.#socket.destroy();
    else this.#socket.write(frame(`${randomUUID()}|${rest}`));
  }

  /** Its message of that id was done; `rest` are further fields. */
  ok(answered: string, rest = ''): void {
    this.send(`response|${answered}|OK${rest === '' ? '' : `|${rest}`}`);
  }

  /** Its message of that id was not done, and why, in one sentence. */
  nok(answered: string, reason: string): void {
    this.send(`response|${answered}|NOK|${reason.replace(/[|\r\n]/g, ' ').slice(0, 500)}`);
  }
}

/** The connected applications, asked in turn per verb. */
export class Apps {
  readonly #all = new Set<App>();
  readonly #turn = new Map<string, number>();

  get size(): number {
    return this.#all.size;
  }

  add(app: App): void {
    this.#all.add(app);
  }

  remove(app: App): void {
    this.#all.delete(app);
  }

  /** The next application registered for this verb (lower-case), of those with this tag; undefined when there is none. */
  next(verb: string, tag?: string): App | undefined {
    const able = [...this.#all].filter(
      app => app.alive && app.verbs.has(verb) && (tag === undefined || app.tags.has(tag)),
    );
    const turn = this.#turn.get(verb) ?? 0;
    if (able.length > 0) this.#turn.set(verb, turn + 1);
    return able[turn % Math.max(able.length, 1)];
  }
}
