import { setTimeout as wait } from 'node:timers/promises';

/** What a program has said so far, read in order: each thing waited for is looked for behind the one before. */
export class Said {
  readonly #lines: string[] = [];
  readonly #who: string;
  #read = 0;

  constructor(who: string) {
    this.#who = who;
  }

  add(line: string): void {
    this.#lines.push(line);
  }

  /** Only what comes from now on counts. */
  skip(): void {
    this.#read = this.#lines.length;
  }

  /** Resolves with the match once a line says so; rejects with the last lines when none does. */
  async until(wanted: RegExp, withinMs = 8000): Promise<RegExpExecArray> {
    const late = performance.now() + withinMs;
    for (;;) {
      const found = this.#find(wanted);
      if (found) return found;
      if (performance.now() > late)
        throw new Error(`${this.#who} did not say ${String(wanted)}; last:\n${this.#lines.slice(-12).join('\n')}`);
      await wait(10);
    }
  }

  #find(wanted: RegExp): RegExpExecArray | undefined {
    for (let at = this.#read; at < this.#lines.length; at += 1) {
      const found = wanted.exec(this.#lines[at] ?? '');
      if (!found) continue;
      this.#read = at + 1;
      return found;
    }
    return undefined;
  }
}
