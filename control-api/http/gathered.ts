/** Finds what belongs to each of the keys; keys without anything are left out. */
type Find<V> = (keys: string[]) => Promise<Map<string, V>>;

/**
 * Looks things up together: what is asked for in one turn of the event loop is one query. No answer is older than its
 * question, so nothing has to be invalidated, as it would be with a cache.
 */
export class Gathered<V> {
  readonly #find: Find<V>;
  #keys = new Set<string>();
  #found: Promise<Map<string, V>> | undefined;

  constructor(find: Find<V>) {
    this.#find = find;
  }

  /** What belongs to a key, undefined when nothing does. Rejects when the query fails. */
  async get(key: string): Promise<V | undefined> {
    this.#keys.add(key);
    this.#found ??= new Promise(resolve => setImmediate(resolve)).then(() => this.#ask());
    return (await this.#found).get(key);
  }

  #ask(): Promise<Map<string, V>> {
    const keys = [...this.#keys];
    this.#keys = new Set();
    this.#found = undefined;
    return this.#find(keys);
  }
}
