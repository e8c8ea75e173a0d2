import type { Action } from '#contract/action';
import { PlatformError } from '#contract/errors';
import { isSet, newId } from '#contract/ids';

/** The id of the stack that holds the flow's own actions (voice-and-flows 4.1). */
export const MAIN_STACK_ID = '00000000-0000-0000-0000-000000000001';

/** A longer chain of stacks ends the flow (4.4). */
const MAX_DEPTH = 100;

interface Stack {
  readonly id: string;
  readonly actions: readonly Action[];
  /** Counters of goto live with the activeflow's copy of the actions (6.5), and a stack is such a copy. */
  readonly loops: Map<string, number>;
  /** The forking action, and the stack it is in. Absent for the main stack. */
  readonly parent: Position | undefined;
}

/** A place in a stack. By index, because ids of actions need not be unique; -1 is before the first action. */
interface Position {
  readonly stack: Stack;
  readonly index: number;
}

const stackOf = (id: string, actions: readonly Action[], parent?: Position): Stack => ({
  id,
  actions,
  loops: new Map(),
  parent,
});

const positionIn = (stack: Stack, actionId: string): Position | undefined => {
  const index = stack.actions.findIndex(action => action.id === actionId.toLowerCase());
  return index < 0 ? undefined : { stack, index };
};

/**
 * Where an activeflow stands: a chain of stacks from the current one outward, the cursor, and the one-shot forward
 * position. Leaving a stack drops it, because nothing refers to it any more.
 */
export class Stacks {
  #at: Position;
  #forward: Position | 'finish' | undefined;

  constructor(actions: readonly Action[]) {
    this.#at = { stack: stackOf(MAIN_STACK_ID, actions), index: -1 };
  }

  /** The id of the stack the cursor is in. */
  get currentId(): string {
    return this.#at.stack.id;
  }

  /** The goto counters of the current stack, by action id. */
  get loops(): Map<string, number> {
    return this.#at.stack.loops;
  }

  /** True while the next move is already decided (4.6). */
  get forwarded(): boolean {
    return this.#forward !== undefined;
  }

  /** Moves the cursor: to the forward position when one is set, else to the successor. `undefined` is the finish. */
  advance(): Action | undefined {
    const forward = this.#forward;
    this.#forward = undefined;
    const target = forward === 'finish' ? undefined : (forward ?? this.#successor(this.#at));
    if (target) this.#at = target;
    return target?.stack.actions[target.index];
  }

  /** Forks (4.5): the next move enters these actions, and behind the last one the cursor returns. None: no-op. */
  push(actions: readonly Action[], id: string = newId()): void {
    if (actions.length === 0) return;
    if (this.#depth() >= MAX_DEPTH) throw new Error(`more than ${MAX_DEPTH} stacks`);
    this.#forward = { stack: stackOf(id, actions, this.#at), index: 0 };
  }

  /** Makes an action of this or an outer stack the next one. False when there is none. */
  jump(actionId: string): boolean {
    const target = this.#find(actionId, this.#at.stack);
    if (target) this.#forward = target;
    return target !== undefined;
  }

  /** Makes an action of a named stack, this or an outer one, the next one (4.6). False when there is none. */
  forward(stackId: string, actionId: string): boolean {
    const from = typeof this.#forward === 'object' ? this.#forward.stack : this.#at.stack;
    const stack = [...this.#outward(from)].find(({ id }) => id === stackId);
    const target = stack && positionIn(stack, actionId);
    if (target) this.#forward = target;
    return target !== undefined;
  }

  /**
   * Ends a service's own stack: the next move goes behind the action that forked it (4.5).
   *
   * @throws PlatformError FLOW_STATE_INVALID when it is not the current stack or is the main one
   */
  pop(stackId: string): void {
    const { stack } = this.#at;
    if (stack.id !== stackId || !stack.parent)
      throw new PlatformError('FLOW_STATE_INVALID', `Stack ${stackId} is not the one being executed.`);
    this.#at = stack.parent;
    this.#forward = this.#successor(stack.parent) ?? 'finish';
  }

  /** Whether the cursor is in a stack, in one that it forked, or about to enter it. */
  holds(stackId: string): boolean {
    const from = typeof this.#forward === 'object' ? this.#forward.stack : this.#at.stack;
    return [...this.#outward(from)].some(({ id }) => id === stackId);
  }

  /** Makes the finish marker the next action. */
  finish(): void {
    this.#forward = 'finish';
  }

  /** The successor rule (4.4). */
  #successor(from: Position): Position | undefined {
    for (let at: Position | undefined = from; at; at = at.stack.parent) {
      const nextId = at.stack.actions[at.index]?.next_id;
      if (isSet(nextId)) return this.#find(nextId, at.stack);
      if (at.index + 1 < at.stack.actions.length) return { stack: at.stack, index: at.index + 1 };
    }
    return undefined;
  }

  #find(actionId: string, from: Stack): Position | undefined {
    for (const stack of this.#outward(from)) {
      const found = positionIn(stack, actionId);
      if (found) return found;
    }
    return undefined;
  }

  *#outward(from: Stack): Generator<Stack> {
    for (let stack: Stack | undefined = from; stack; stack = stack.parent?.stack) yield stack;
  }

  #depth(): number {
    return [...this.#outward(this.#at.stack)].length;
  }
}
