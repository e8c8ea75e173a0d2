import { setTimeout as wait } from 'node:timers/promises';
import type { Stack } from '../../test/support/stack.ts';

/** One write that the API was asked for: what its event must say, and when it was acknowledged (undefined: never). */
export interface Write {
  /** The record written; empty while nobody told its id. */
  id: string;
  /** What no other event says: `created`, `ended`, or the detail a tag was given. */
  fact: string;
  acknowledged: boolean;
}

/** As many clients may wait for answers at once; beyond it writes are left out. */
const MOST_CLIENTS = 250;
const PATIENCE_MS = 25_000;
const AGAIN_MS = 100;
/** How long answers are waited for when the storm is over; nobody is promised what comes later. */
const LAST_ANSWERS_MS = 2000;
/** What one client does: a tag, changes of it, and flows. */
const CHANGES = 6;

/** A flow that runs through a few states by itself. */
const FLOW = [
  { type: 'variable_set', option: { key: 'one', value: '1' } },
  { type: 'sleep', option: { duration: 300 } },
  { type: 'variable_set', option: { key: 'two', value: '2' } },
];

type Answer = { status: number; body: { id?: string } } | undefined;

/**
 * Clients that write at a steady rate whatever becomes of the answers. Each makes a tag and a flow with an Idempotency-Key,
 * asking again until it is told, and changes its tag to a new detail each time, asking once.
 */
export class Storm {
  readonly writes: Write[] = [];
  refused = 0;
  /** How many writes clients began. */
  asked = 0;
  readonly #stack: Stack;
  readonly #rate: number;
  readonly #clients = new Set<Promise<void>>();
  readonly #turns: (() => void)[] = [];
  readonly #over = new AbortController();
  #active = true;
  #clock: Promise<void> = Promise.resolve();

  constructor(stack: Stack, writesPerSecond: number) {
    this.#stack = stack;
    this.#rate = writesPerSecond;
  }

  start(): void {
    this.#clock = this.#tick();
  }

  /** Resolves when every client has its answer, or waits no longer. */
  async stop(): Promise<void> {
    this.#active = false;
    await this.#clock;
    for (const turn of this.#turns.splice(0)) turn();
    const impatience = setTimeout(() => this.#over.abort(), LAST_ANSWERS_MS);
    await Promise.all(this.#clients);
    clearTimeout(impatience);
  }

  /** A turn a write: the longest waiting client goes, or a new one comes. */
  async #tick(): Promise<void> {
    const began = performance.now();
    for (let turn = 1; this.#active; turn++) {
      const next = this.#turns.shift();
      if (next || this.#clients.size < MOST_CLIENTS) this.asked += 1;
      if (next) next();
      else if (this.#clients.size < MOST_CLIENTS) this.#add();
      await wait(Math.max(0, began + (turn * 1000) / this.#rate - performance.now()));
    }
  }

  #add(): void {
    const client: Promise<void> = this.#client().finally(() => this.#clients.delete(client));
    this.#clients.add(client);
  }

  /** Resolves true when it is this client's turn, false when there are no more. */
  async #turn(): Promise<boolean> {
    if (this.#active) await new Promise<void>(resolve => this.#turns.push(resolve));
    return this.#active;
  }

  async #client(): Promise<void> {
    const name = crypto.randomUUID();
    const tag = await this.#create('/tags', { name, detail: 'created' }, 'created');
    for (let change = 1; change <= CHANGES && (await this.#turn()); change++)
      await this.#change(tag, `${name} ${change}`);
    if (!(await this.#turn())) return;
    const flow = await this.#create('/activeflows', { actions: FLOW }, 'created');
    if (flow) this.writes.push({ id: flow, fact: 'ended', acknowledged: true });
  }

  /** Asks until it is answered; the key makes it one creation. */
  async #create(path: string, body: object, fact: string): Promise<string> {
    const write: Write = { id: '', fact, acknowledged: false };
    const headers = { 'idempotency-key': crypto.randomUUID() };
    for (; !this.#over.signal.aborted; await wait(AGAIN_MS)) {
      const answer = await this.#ask('POST', path, body, headers);
      if (answer?.status !== 200 && answer?.status !== 201) continue;
      Object.assign(write, { id: answer.body.id, acknowledged: true });
      this.writes.push(write);
      return write.id;
    }
    this.refused += 1;
    return '';
  }

  async #change(id: string, detail: string): Promise<void> {
    const answer = id === '' ? undefined : await this.#ask('PUT', `/tags/${id}`, { detail });
    if (answer?.status !== 200) this.refused += 1;
    this.writes.push({ id, fact: detail, acknowledged: answer?.status === 200 });
  }

  async #ask(method: string, path: string, body: object, more: Record<string, string> = {}): Promise<Answer> {
    const { baseUrl, welcome } = this.#stack;
    try {
      const response = await fetch(`${baseUrl}/v1.0${path}?accesskey=${welcome.accesskey}`, {
        method,
        headers: { 'content-type': 'application/json', ...more },
        body: JSON.stringify(body),
        signal: AbortSignal.any([this.#over.signal, AbortSignal.timeout(PATIENCE_MS)]),
      });
      return { status: response.status, body: (await response.json()) as { id?: string } };
    } catch {
      return undefined; // killed before it answered: nothing is promised
    }
  }
}
