import type { EslEvent, EventFormat } from './encode.ts';
import { eventNames } from './event-names.ts';

const maxFilters = 256;
const maxSubclasses = 512;
const maxPattern = 256;

interface Filter {
  header: string;
  value: string;
  matches(value: string): boolean;
}

/**
 * What one connection wants to hear: event names, CUSTOM subclasses and filters. Subscribing is additive; with at least
 * one filter an event passes when any filter matches (protocol page §2, subscriptions and filters).
 */
export class Subscriptions {
  format: EventFormat = 'json';
  readonly #names = new Set<string>();
  readonly #subclasses = new Set<string>();
  #filters: Filter[] = [];
  #all = false;

  /** Adds the words of an `event` command; false when none of them names an event, as the server then says so. */
  add(words: readonly string[]): boolean {
    let known = false;
    let custom = false;
    for (const word of words) {
      if (custom) this.#addSubclass(word);
      else if (word.toUpperCase() === 'CUSTOM') known = custom = true;
      else known = this.#addName(word) || known;
    }
    if (custom) this.#names.add('CUSTOM');
    return known;
  }

  /** Takes words back as `nixevent` does. */
  remove(words: readonly string[]): void {
    let custom = false;
    for (const word of words) {
      const name = eventName(word);
      if (custom) this.#subclasses.delete(word);
      else if (name === 'CUSTOM') custom = true;
      else if (name === 'ALL') this.clear();
      else this.#removeName(name);
    }
  }

  /** Forgets every subscription; filters stay. */
  clear(): void {
    this.#all = false;
    this.#names.clear();
    this.#subclasses.clear();
  }

  /** Adds a filter; a value between slashes is a regular expression, otherwise letter case does not matter. */
  addFilter(header: string, value: string): void {
    if (this.#filters.length >= maxFilters) this.#filters.shift();
    this.#filters.push({ header, value, matches: matcher(value) });
  }

  /** Removes the filters on a header, on one value of it, or with the header `all` every filter. */
  deleteFilter(header: string, value?: string): void {
    if (header.toLowerCase() === 'all') this.#filters = [];
    else
      this.#filters = this.#filters.filter(
        one => one.header !== header || (value !== undefined && one.value !== value),
      );
  }

  /** A cheap first question, so that nobody builds an event that nobody hears. */
  wants(name: string): boolean {
    return this.#all || this.#names.has(name);
  }

  /** Whether this event is to be written to the connection. */
  matches(event: EslEvent): boolean {
    if (!this.wants(event.name)) return false;
    if (!this.#all && event.subclass !== undefined && !this.#subclasses.has(event.subclass)) return false;
    return this.#filters.length === 0 || this.#filters.some(one => passes(one, event));
  }

  #addName(word: string): boolean {
    const name = eventName(word);
    if (name === 'ALL') return (this.#all = true);
    if (!eventNames.has(name)) return false;
    this.#names.add(name);
    return true;
  }

  #addSubclass(word: string): void {
    if (this.#subclasses.size < maxSubclasses) this.#subclasses.add(word);
  }

  #removeName(name: string): void {
    if (this.#all) for (const one of eventNames) this.#names.add(one);
    this.#all = false;
    this.#names.delete(name);
  }
}

function eventName(word: string): string {
  return word.toUpperCase().replace(/^SWITCH_EVENT_/, '');
}

function passes(filter: Filter, event: EslEvent): boolean {
  const value = event.headers[filter.header];
  return value !== undefined && filter.matches(value);
}

function matcher(value: string): (candidate: string) => boolean {
  const pattern = /^\/(.*)\/$/.exec(value)?.[1];
  if (pattern === undefined || pattern.length > maxPattern)
    return candidate => candidate.toLowerCase() === value.toLowerCase();
  try {
    const expression = new RegExp(pattern, 'i');
    return candidate => expression.test(candidate.slice(0, 4096));
  } catch {
    return () => false; // an expression that does not compile matches nothing, as in the real server
  }
}
