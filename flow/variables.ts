import { PlatformError } from '#contract/errors';
import { byteLength, storable } from './text.ts';

/** Limits on variables given from outside (voice-and-flows 5.2); sizes are UTF-8 bytes. */
const VARIABLE_LIMITS = { keys: 100, total_bytes: 64 * 1024, value_bytes: 32 * 1024 } as const;

/** Room for everything one activeflow ever holds: what came in, the system's own names and what its flow sets. */
const MAP_BYTES = 256 * 1024;

/** Computed on read, never stored (voice-and-flows 5.3). */
const REFERENCE_DATA = 'svc.flow.reference_data';

const sizeOf = (entries: Iterable<[string, string]>): number => {
  let size = 0;
  for (const [key, value] of entries) size += byteLength(key) + byteLength(value);
  return size;
};

const fault = (given: Record<string, string>): string | undefined => {
  const entries = Object.entries(given);
  if (entries.length > VARIABLE_LIMITS.keys) return `At most ${VARIABLE_LIMITS.keys} variables may be given.`;
  const long = entries.find(([, value]) => byteLength(value) > VARIABLE_LIMITS.value_bytes);
  if (long) return `The value of a variable may have ${VARIABLE_LIMITS.value_bytes} bytes at most.`;
  if (sizeOf(entries) > VARIABLE_LIMITS.total_bytes)
    return `All variables together may have ${VARIABLE_LIMITS.total_bytes} bytes at most.`;
  return undefined;
};

/**
 * Checks variables as a client gave them: every supplied key counts, reserved ones too (5.2).
 *
 * @throws PlatformError INVALID_VARIABLES
 */
export const checkVariables = (given: Record<string, string>): void => {
  const message = fault(given);
  if (message) throw new PlatformError('INVALID_VARIABLES', message);
};

/**
 * What survives of variables given from outside (5.2): keys trimmed, empty and `svc.` keys dropped. Over a limit after
 * that nothing survives; `checkVariables` at the door keeps this from happening.
 */
export const sanitiseVariables = (given: Record<string, string>): Record<string, string> => {
  const kept = Object.entries(given)
    .map(([key, value]): [string, string] => [storable(key).trim(), storable(value)])
    .filter(([key]) => key !== '' && !key.toLowerCase().startsWith('svc.'));
  const survivors = Object.fromEntries(kept);
  return fault(survivors) ? {} : survivors;
};

/** The string to string map of one activeflow (5.1). Names are exact: case-sensitive, untrimmed. */
export class Variables {
  readonly #values: Map<string, string>;
  #readReference: () => string = () => '';

  constructor(initial: Record<string, string> = {}) {
    this.#values = new Map(Object.entries(initial));
  }

  /** The value of a name, or the empty string when nobody set it. */
  get(name: string): string {
    return name === REFERENCE_DATA ? this.#readReference() : (this.#values.get(name) ?? '');
  }

  /** True when the name has a value, the empty one included. */
  has(name: string): boolean {
    return name === REFERENCE_DATA || this.#values.has(name);
  }

  /** Sets a name for the platform itself: unbounded, so values must be small by nature. */
  set(name: string, value: string): void {
    this.#values.set(name, storable(value));
  }

  /**
   * Sets a name on behalf of a flow's author, who may overwrite `svc.` names too (6.5 variable_set).
   *
   * @throws Error when the name is empty, the value over its limit or the map full
   */
  write(name: string, value: string): void {
    const key = storable(name).trim();
    if (key === '') throw new Error('a variable needs a name');
    if (byteLength(value) > VARIABLE_LIMITS.value_bytes) throw new Error('the value of a variable is too long');
    const rest = [...this.#values].filter(([other]) => other !== key);
    if (sizeOf([...rest, [key, value]]) > MAP_BYTES) throw new Error('the variables of this activeflow are full');
    this.set(key, value);
  }

  /** Forgets a name (a queue removes its own when the caller leaves). */
  delete(name: string): void {
    this.#values.delete(name);
  }

  /** A copy of everything stored; computed names are not in it. */
  all(): Record<string, string> {
    return Object.fromEntries(this.#values);
  }

  /** How `svc.flow.reference_data` is computed: the JSON text of the call or conversation the flow runs for. */
  readReferenceWith(read: () => string): void {
    this.#readReference = read;
  }
}
