import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import type { Call } from '#contract/call';
import type { LiveEntry, LiveEventType, LiveRecord, LiveResources } from '#contract/events';
import { newId } from '#contract/ids';
import { FINISHED_TTL_S, keys, type LiveKind } from '#contract/keys';
import type { Step } from '#contract/machine';
import { activeflowMachine } from '#contract/machines/activeflow';
import { callMachine } from '#contract/machines/call';
import { conferenceMachine } from '#contract/machines/conference';
import { conferencecallMachine } from '#contract/machines/conferencecall';
import { groupcallMachine } from '#contract/machines/groupcall';
import { recordingMachine } from '#contract/machines/recording';
import { transferMachine } from '#contract/machines/transfer';
import { timestamp } from '#contract/time';
import type { CallTrace, TimelineNote } from '#contract/timeline';

/** What commit.lua returns for a status that is not the expected one. */
const ILLEGAL_MOVE = -4;

type CommitScript = (...args: string[]) => Promise<number>;

/** The record moved on under us: another node owns it now, or wrote it meanwhile. We must let go of it. */
export class LostRecordError extends Error {
  override readonly name = 'LostRecordError';
}

/** The status would change without a step of the machine's table from the status that is stored. */
export class IllegalMoveError extends Error {
  override readonly name = 'IllegalMoveError';
}

/** Why a record changes: a step of its machine, or an event of the same status (mute, action …). */
export interface Change<K extends LiveKind> {
  /** Required when the status changes: from the one that is stored to the one that is written. */
  step?: Step | undefined;
  events: LiveEventType<K>[];
  request_id?: string;
  internal?: Record<string, unknown>;
  /** Entries for timelines only; one without a time comes right behind the events of the change. */
  notes?: Note[];
}

type Note = Omit<TimelineNote, 'timestamp'> & Partial<TimelineNote>;

/** What each kind may go through; a machine is named as its kind. */
const MACHINES: Record<LiveKind, { isFinal(status: string): boolean }> = {
  call: callMachine,
  groupcall: groupcallMachine,
  activeflow: activeflowMachine,
  conference: conferenceMachine,
  conferencecall: conferencecallMachine,
  recording: recordingMachine,
  transfer: transferMachine,
};

/** How many of its latest commits a record names: more than are ever on the way at a time. */
const COMMITS_KEPT = 16;

/** Refuses a status that no step leads to: a fault of ours, and nothing is written. */
const checkStep = (kind: LiveKind, status: string, step: Step | undefined): void => {
  if (step && (step.machine !== kind || step.to !== status))
    throw new IllegalMoveError(`a step of ${step.machine} to ${step.to} cannot write a ${kind} as ${status}`);
};

/**
 * The live state of calls, groupcalls and activeflows: one Lua script writes the state and appends the event, in one
 * round trip, where version and owner are as expected.
 */
export class StateStore {
  readonly node: string;
  readonly #redis: Redis;

  readonly #called: (call: Call) => void;

  /** @param called hears of every call that began, or whose status changed, once that is stored */
  constructor(redis: Redis, node: string, called: (call: Call) => void = () => undefined) {
    this.#redis = redis;
    this.#called = called;
    this.node = node;
    redis.defineCommand('commitLive', {
      numberOfKeys: 4,
      lua: readFileSync(new URL('./commit.lua', import.meta.url), 'utf8'),
    });
  }

  /** A record that does not exist yet, at version 0 and ours. */
  create<K extends LiveKind>(kind: K, data: LiveResources[K]): LiveRecord<K> {
    return { kind, version: 0, owner: this.node, final: false, data, internal: {} };
  }

  /** The live record of this id; undefined when there is none any more. */
  async read<K extends LiveKind>(kind: K, id: string): Promise<LiveRecord<K> | undefined> {
    const text = await this.#redis.get(keys.live(kind, id));
    return text ? (JSON.parse(text) as LiveRecord<K>) : undefined;
  }

  /**
   * Writes `data` and its events and resolves when both are stored. The record's version rises at once, so that commits
   * may follow each other without waiting.
   * @throws LostRecordError when another node owns the record or it is at another version
   * @throws IllegalMoveError when no given step leads from the stored status to that of `data`
   */
  async commit<K extends LiveKind>(record: LiveRecord<K>, data: LiveResources[K], change: Change<K>): Promise<void> {
    const previousOwner = record.owner;
    const expected = record.version;
    checkStep(record.kind, data.status, change.step);
    const now = timestamp();
    data.tm_update = expected === 0 ? data.tm_update : now;
    Object.assign(record, {
      version: expected + 1,
      owner: this.node,
      final: MACHINES[record.kind].isFinal(data.status),
      data,
    });
    record.internal = { ...record.internal, ...change.internal };
    record.commits = [...(record.commits ?? []), newId()].slice(-COMMITS_KEPT);
    const entry: LiveEntry<K> = {
      kind: record.kind,
      id: data.id,
      version: record.version,
      customer_id: data.customer_id,
      data,
      events: change.events.map(event_type => ({ id: newId(), event_type, timestamp: now })),
      ...(change.notes?.length ? { notes: change.notes.map(note => ({ timestamp: timestamp(), ...note })) } : {}),
      request_id: change.request_id ?? '',
    };
    await this.#write(record, entry, {
      version: expected,
      owner: previousOwner,
      status: change.step?.from ?? data.status,
    });
    if (entry.kind === 'call' && (expected === 0 || change.step)) this.#called(entry.data as Call);
  }

  /** Puts what was seen on a call's leg behind everything that was written so far. */
  async trace(trace: CallTrace): Promise<void> {
    await this.#redis.xadd(keys.stream, '*', 'entry', JSON.stringify(trace));
  }

  async #write(
    record: LiveRecord,
    entry: LiveEntry,
    expected: { version: number; owner: string; status: string },
  ): Promise<void> {
    const { kind, version, owner, commits = [], final, internal } = record;
    const { data, ...change } = entry;
    const dataJson = JSON.stringify(data); // once for both texts
    // What the script reads from the text comes first.
    const head = JSON.stringify({ version, owner, status: data.status, commits, kind, final, internal });
    const script = (this.#redis as unknown as { commitLive: CommitScript }).commitLive.bind(this.#redis);
    const code = await script(
      keys.live(kind, entry.id),
      keys.stream,
      keys.owned(this.node),
      keys.owned(expected.owner),
      String(expected.version),
      expected.owner,
      `${head.slice(0, -1)},"data":${dataJson}}`,
      `${JSON.stringify(change).slice(0, -1)},"data":${dataJson}}`,
      final ? String(FINISHED_TTL_S) : '0',
      `${kind}:${entry.id}`,
      expected.status,
      commits.at(-1) ?? '',
    );
    if (code === ILLEGAL_MOVE)
      throw new IllegalMoveError(
        `${kind} ${entry.id} is not ${expected.status}, so that it cannot become ${data.status}`,
      );
    if (code !== 1)
      throw new LostRecordError(
        `${kind} ${entry.id} is no longer ours (${code}, expected version ${expected.version})`,
      );
  }
}
