import type { Action } from '#contract/action';
import { isSet } from '#contract/ids';
import { closedGroups } from './components.ts';
import { LIMITS } from './runner.ts';

/** What a flow runs on. */
export interface Reference {
  reference_type: 'call' | 'api';
  direction: 'incoming' | 'outgoing';
}

interface Target {
  /** Where the author wrote it. */
  field: string;
  id: string;
}

/** Edges out of an action: indexes of actions; `EXIT` is the end of the flow. */
const EXIT = -1;

/** What they run comes from elsewhere and may stop the flow, jump outward or answer the call. */
const FOREIGN = new Set<string>(['fetch', 'fetch_flow']);
/** Answer the call, or last until somebody did. */
const ANSWERING = new Set<string>(['answer', 'talk', 'confbridge_join', 'conference_join', 'queue_join', 'ai_talk']);
const CONDITIONS = new Set<string>([
  'condition_call_digits',
  'condition_call_status',
  'condition_datetime',
  'condition_variable',
]);

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const branchTargets = ({ option }: Action): Target[] => {
  const given = option['target_ids'];
  const listed = typeof given === 'object' && given !== null ? Object.entries(given) : [];
  return [
    ...listed.map(([value, id]): Target => ({ field: `option.target_ids.${value}`, id: textOf(id) })),
    { field: 'option.default_target_id', id: textOf(option['default_target_id']) },
  ];
};

const targetsOf = (action: Action): Target[] => {
  const { type, option } = action;
  if (type === 'branch') return branchTargets(action);
  if (CONDITIONS.has(type)) return [{ field: 'option.false_target_id', id: textOf(option['false_target_id']) }];
  if (type === 'goto' && loopCount(action) > 0) return [{ field: 'option.target_id', id: textOf(option['target_id']) }];
  return [];
};

const loopCount = ({ option }: Action): number => (typeof option['loop_count'] === 'number' ? option['loop_count'] : 0);

/** A target that only the run decides. */
const isDynamic = ({ id }: Target): boolean => id.includes('${');

/** Where the cursor may go from each action of a flow, known without running it (voice-and-flows 4.4, 6.5). */
export class FlowGraph {
  readonly #actions: readonly Action[];
  readonly #reference: Reference;
  readonly #byId = new Map<string, number>();
  readonly #edges: number[][];
  /** Actions that may be entered, and after how many moves at the earliest. */
  readonly reached = new Map<number, number>();
  /** Actions that an incoming call may enter before it is answered. */
  readonly unanswered = new Set<number>();

  constructor(actions: readonly Action[], reference: Reference) {
    this.#actions = actions;
    this.#reference = reference;
    for (const [index, { id }] of actions.entries()) if (!this.#byId.has(id)) this.#byId.set(id, index);
    this.#edges = actions.map((_action, index) => this.#edgesOf(index));
    this.#reach();
    this.#goUnanswered();
  }

  /** True when an action that may be entered has a target only the run decides: then any action may be one. */
  get leadsAnywhere(): boolean {
    return [...this.reached.keys()].some(index => this.#targets(index).some(isDynamic));
  }

  /** True when the flow ends with this action. */
  ends(index: number): boolean {
    const type = this.#actions[index]?.type;
    return type === 'stop' || (type === 'hangup' && this.#reference.reference_type === 'call');
  }

  /** Targets of an action that no action of the flow has as its id. */
  missing(index: number): Target[] {
    const next = { field: 'next_id', id: this.#actions[index]?.next_id ?? '' };
    return [next, ...this.#targets(index)].filter(
      target => isSet(target.id) && !isDynamic(target) && this.#indexOf(target.id) === undefined,
    );
  }

  /** True when the action stops the flow because it has nowhere to go in some case. */
  lacksDefault(index: number): boolean {
    const targets = this.#targets(index);
    const fallback = targets.at(-1);
    return fallback !== undefined && !isSet(fallback.id);
  }

  /**
   * Groups of actions that, once entered, lead only to each other: the first action of each and how many there are.
   * A goto that falls through within the limit of moves is a way out.
   */
  endlessLoops(): [first: number, size: number][] {
    if (this.leadsAnywhere) return [];
    const ways = this.#edges.map((_edges, index) => this.#waysOut(index));
    return closedGroups(ways, this.reached.keys())
      .filter(group => !group.includes(EXIT))
      .map(group => [Math.min(...group), group.length]);
  }

  #indexOf(id: string): number | undefined {
    return this.#byId.get(id.toLowerCase());
  }

  #targets(index: number): Target[] {
    const action = this.#actions[index];
    return action ? targetsOf(action) : [];
  }

  #edgesOf(index: number): number[] {
    if (this.ends(index)) return [EXIT];
    const jumps = this.#targets(index).map(({ id }) => (isSet(id) ? (this.#indexOf(id) ?? EXIT) : EXIT));
    const type = this.#actions[index]?.type ?? '';
    const ways = [
      ...jumps,
      ...(type === 'branch' ? [] : [this.#successor(index)]),
      ...(FOREIGN.has(type) ? [EXIT] : []),
    ];
    return [...new Set(ways)];
  }

  #successor(index: number): number {
    const nextId = this.#actions[index]?.next_id;
    if (isSet(nextId)) return this.#indexOf(nextId) ?? EXIT;
    return index + 1 < this.#actions.length ? index + 1 : EXIT;
  }

  #reach(): void {
    const queue = this.#actions.length > 0 ? [0] : [];
    if (queue.length > 0) this.reached.set(0, 1);
    for (const index of queue)
      for (const to of this.#edges[index] ?? [])
        if (to !== EXIT && !this.reached.has(to)) {
          this.reached.set(to, (this.reached.get(index) ?? 0) + 1);
          queue.push(to);
        }
  }

  /** Walks from the start and stops where the call is answered for certain. */
  #goUnanswered(): void {
    const queue = this.#actions.length > 0 ? [0] : [];
    for (const index of queue) {
      if (this.unanswered.has(index)) continue;
      this.unanswered.add(index);
      const type = this.#actions[index]?.type ?? '';
      if (!ANSWERING.has(type) && !FOREIGN.has(type))
        queue.push(...(this.#edges[index] ?? []).filter(to => to !== EXIT));
    }
  }

  /** Edges that the cursor really takes within the limit of moves: a goto that jumps too often never falls through. */
  #waysOut(index: number): number[] {
    const action = this.#actions[index];
    const stuck = action?.type === 'goto' && loopCount(action) >= LIMITS.moves && this.missing(index).length === 0;
    const edges = this.#edges[index] ?? [];
    return stuck ? edges.filter(to => to !== this.#successor(index)) : edges;
  }
}
