import { next, type ActionContext, type ActionDefinition, type Outcome } from './action.ts';
import { readOption } from './option.ts';

/** What the runner knows of the world when an action starts; the rest of the context belongs to the execution. */
type Surroundings = Omit<ActionContext, 'signal' | 'onDigit'>;

/** One run of one action: its signal, the digits it hears, and its early end. */
export class Execution {
  readonly #over: AbortSignal;
  readonly #interrupted = new AbortController();
  readonly #listeners = new Set<(digit: string) => void>();
  /** Digits pressed before the action could listen. */
  readonly #early: string[];

  constructor(over: AbortSignal, early: string[]) {
    this.#over = over;
    this.#early = early;
  }

  /** Runs the action. Interrupted, it waits for it to let go and reports `next`; when the flow is over it does not wait. */
  async run(definition: ActionDefinition, surroundings: Surroundings): Promise<Outcome> {
    const signal = AbortSignal.any([this.#over, this.#interrupted.signal]);
    const context = { ...surroundings, signal, onDigit: (listener: (digit: string) => void) => this.#listen(listener) };
    try {
      const option = readOption(definition, surroundings.action.option);
      const outcome = await this.#unlessOver(definition.run(context, option));
      return this.#interrupted.signal.aborted ? next : outcome;
    } catch (error) {
      // What an interrupted action failed with is only the echo of the interruption.
      if (this.#interrupted.signal.aborted) return next;
      throw error;
    } finally {
      this.#listeners.clear();
    }
  }

  /** Tells the running action a digit. */
  press(digit: string): void {
    for (const listener of [...this.#listeners]) listener(digit);
  }

  /** Ends the action early; the cursor has already been sent elsewhere. */
  interrupt(): void {
    this.#interrupted.abort(new Error('the cursor was moved'));
  }

  #listen(listener: (digit: string) => void): () => void {
    this.#listeners.add(listener);
    for (const digit of this.#early.splice(0)) listener(digit);
    return () => this.#listeners.delete(listener);
  }

  async #unlessOver<T>(work: Promise<T>): Promise<T> {
    let leave: () => void = () => undefined;
    const over = new Promise<never>((_resolve, reject) => {
      leave = () => reject(this.#over.reason as Error);
      this.#over.addEventListener('abort', leave, { once: true });
      if (this.#over.aborted) leave();
    });
    try {
      return await Promise.race([work, over]);
    } finally {
      this.#over.removeEventListener('abort', leave);
    }
  }
}
