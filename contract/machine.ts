declare const madeByMachine: unique symbol;

/** Proof that a move is in the table. Only `Machine.step` makes one, and the state store takes nothing else. */
export interface Step<S extends string = string> {
  readonly machine: string;
  readonly from: S;
  readonly event: string;
  readonly to: S;
  readonly [madeByMachine]: true;
}

type EventsOf<T> = { [K in keyof T]: keyof T[K] }[keyof T] & string;

/**
 * A state machine as a record: the table is the specification. A state without exits is final.
 *
 * @example new Machine('door', 'open', { open: { push: 'shut' }, shut: {} })
 */
class Machine<S extends string, T extends { [K in S]: { [event: string]: S } }> {
  readonly name: string;
  readonly initial: S;
  readonly table: T & Record<S, object>;

  constructor(name: string, initial: S, table: T & Record<S, object>) {
    this.name = name;
    this.initial = initial;
    this.table = table;
  }

  /** The step an event makes from a state, or `undefined` where the table has none (late and repeated events). */
  step(from: S, event: EventsOf<T>): Step<S> | undefined {
    const row = this.table[from] as Record<string, S | undefined>;
    const to = row[event];
    return to === undefined ? undefined : ({ machine: this.name, from, event, to } as Step<S>);
  }

  /** True when no event leads out of the state. */
  isFinal(state: S): boolean {
    return Object.keys(this.table[state]).length === 0;
  }

  /** Every state, in the order the table names them. */
  get states(): S[] {
    return Object.keys(this.table) as S[];
  }
}

/** Makes a machine and infers its states from the table's keys. */
export const defineMachine = <S extends string, const T extends { [K in S]: { [event: string]: NoInfer<S> } }>(
  name: string,
  initial: NoInfer<S>,
  table: T & Record<S, object>,
): Machine<S, T> => new Machine<S, T>(name, initial, table);
