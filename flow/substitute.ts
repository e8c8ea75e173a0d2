import type { Variables } from './variables.ts';

/** Characters that variables may add to one action's option, so that a flow cannot multiply its own text. */
export const INSERTED_CHARACTERS = 64 * 1024;

/** Puts values in place of `${name}`, keeping count of what it inserts. */
class Substitution {
  readonly #variables: Variables;
  #left = INSERTED_CHARACTERS;

  constructor(variables: Variables) {
    this.#variables = variables;
  }

  /** Strings at any depth; numbers, booleans and null stay what they are, and so do the keys of objects. */
  value(given: unknown): unknown {
    if (typeof given === 'string') return this.text(given);
    if (Array.isArray(given)) return given.map(item => this.value(item));
    if (typeof given === 'object' && given !== null)
      return Object.fromEntries(Object.entries(given).map(([key, item]) => [key, this.value(item)]));
    return given;
  }

  /** One pass from left to right by index: a regular expression would be quadratic in unclosed `${`. */
  text(given: string): string {
    const parts: string[] = [];
    let from = 0;
    for (;;) {
      const open = given.indexOf('${', from);
      const close = open < 0 ? -1 : given.indexOf('}', open + 2);
      if (close < 0) return parts.concat(given.slice(from)).join('');
      parts.push(given.slice(from, open), this.#read(given.slice(open + 2, close)));
      from = close + 1;
    }
  }

  #read(name: string): string {
    const value = this.#variables.get(name);
    this.#left -= value.length;
    if (this.#left < 0) throw new Error('substituted variables make the option too long');
    return value;
  }
}

/**
 * An action's option with every `${name}` replaced (voice-and-flows 5.3): names verbatim, unknown ones empty, no
 * nesting, the result is not scanned again. The given option is not changed.
 *
 * @throws Error when the values add more than `INSERTED_CHARACTERS` characters
 */
export const substitute = (option: Record<string, unknown>, variables: Variables): Record<string, unknown> =>
  new Substitution(variables).value(option) as Record<string, unknown>;
