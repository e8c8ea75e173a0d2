import type { Action } from '#contract/action';
import type { Activeflow } from '#contract/activeflow';
import { newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import type { TimelineNote } from '#contract/timeline';
import type { Watched } from '#flow/runner';

/** A timeline is read by people: long values are cut, and one step shows no more changes than these. */
const MOST = { changes: 50, letters: 500 };

type Values = Record<string, string>;

const cut = (value: string | undefined): string | null => value?.slice(0, MOST.letters) ?? null;

/** Variables that differ, with both values; null for one that is not there. */
const changesBetween = (
  before: Values,
  after: Values,
): Record<string, { before: string | null; after: string | null }> => {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...names].filter(name => before[name] !== after[name]).slice(0, MOST.changes);
  return Object.fromEntries(changed.map(name => [name, { before: cut(before[name]), after: cut(after[name]) }]));
};

const wordsOf = (what: Watched): Record<string, unknown> => {
  if (what.kind === 'failed') return { outcome: what.kind, reason: what.reason.slice(0, MOST.letters) };
  if (what.kind === 'jump') return { outcome: what.kind, target_id: what.target_id };
  return { outcome: what.kind };
};

/** What each action of an activeflow did, for its timeline: how it ended and which variables it changed. */
export class StepNotes {
  #known: Values;
  #running: Action | undefined;
  #over = false;
  #pending: TimelineNote[] = [];

  constructor(variables: Values) {
    this.#known = variables;
  }

  /** Notes that an action is done; told with the next commit. */
  done({ id, type }: Readonly<Action>, what: Watched): void {
    if (this.#over) return; // it was told with the end of the flow
    this.#running = undefined;
    const data = { action: { id, type }, ...wordsOf(what), variables: {} };
    this.#pending.push({ id: newId(), event_type: 'activeflow_step', timestamp: timestamp(), data });
  }

  /**
   * The notes for a commit. What changed in the variables since the last one was the last action's doing; an action that
   * still runs when the flow ends, ends with it.
   */
  take({ status, current_action }: Activeflow, variables: Values): TimelineNote[] {
    if (status === 'ended' && this.#running?.type) this.done(this.#running, { kind: 'ended' });
    this.#over = status === 'ended';
    this.#running = current_action;
    const last = this.#pending.at(-1);
    if (!last) return [];
    last.data['variables'] = changesBetween(this.#known, variables);
    this.#known = variables;
    return this.#pending.splice(0);
  }
}
