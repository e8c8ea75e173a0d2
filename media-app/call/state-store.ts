import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
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

type CommitScript = (...args: string[]) => Promise<number>;

/** The record moved on under us: another node owns it now, or wrote it meanwhile. We must let go of it. */
export class LostRecordError extends Error {
  override readonly name = 'LostRecordError';
}

/** Why a record changes: a step of its machine, or an event of the same status (mute, action …). */
export interface Change<K extends LiveKind> {
  /** Missing only for changes that leave the status alone. */
  step?: Step;
  events: LiveEventType<K>[];
  request_id?: string;
  internal?: Record<string, unknown>;
  /** Entries for timelines only; one without a time comes right behind the events of the change. */
  notes?: Note[];
}

type Note = Omit<TimelineNote, 'timestamp'> & Partial<TimelineNote>;

const isFinal = <K extends LiveKind>(kind: K, data: LiveResources[K]): boolean => {
  switch (kind) {
    case 'call':
      return callMachine.isFinal((data as LiveResources['call']).status);
    case 'groupcall':
      return groupcallMachine.isFinal((data as LiveResources['groupcall']).status);
    case 'conference':
      return conferenceMachine.isFinal((data as LiveResources['conference']).status);
    case 'conferencecall':
      return conferencecallMachine.isFinal((data as LiveResources['conferencecall']).status);
    case 'recording':
      return recordingMachine.isFinal((data as LiveResources['recording']).status);
    case 'transfer':
      return transferMachine.isFinal((data as LiveResources['transfer']).status);
    default:
      return activeflowMachine.isFinal((data as LiveResources['activeflow']).status);
  }
};

/**
 * The live state of calls, groupcalls and activeflows: one Lua script writes the state and appends the event, in one
 * round trip, where version and owner are as expected.
 */
export class StateStore {
  readonly node: string;
  readonly #redis: Redis;

  constructor(redis: Redis, node: string) {
    this.#redis = redis;
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

  async read<K extends LiveKind>(kind: K, id: string): Promise<LiveRecord<K> | undefined> {
    const text = await this.#redis.get(keys.live(kind, id));
    return text ? (JSON.parse(text) as LiveRecord<K>) : undefined;
  }

  /**
   * Writes `data` and its events and resolves when both are stored. The record's version rises at once, so that commits
   * may follow each other without waiting.
   * @throws LostRecordError when another node owns the record or it is at another version
   */
  async commit<K extends LiveKind>(record: LiveRecord<K>, data: LiveResources[K], change: Change<K>): Promise<void> {
    const previousOwner = record.owner;
    const expected = record.version;
    const now = timestamp();
    data.tm_update = expected === 0 ? data.tm_update : now;
    Object.assign(record, { version: expected + 1, owner: this.node, final: isFinal(record.kind, data), data });
    record.internal = { ...record.internal, ...change.internal };
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
    await this.#write(record, entry, expected, previousOwner);
  }

  /** Puts what was seen on a call's leg behind everything that was written so far. */
  async trace(trace: CallTrace): Promise<void> {
    await this.#redis.xadd(keys.stream, '*', 'entry', JSON.stringify(trace));
  }

  async #write(record: LiveRecord, entry: LiveEntry, expected: number, previousOwner: string): Promise<void> {
    const { kind, version, owner, final, internal } = record;
    const { data, ...change } = entry;
    const dataJson = JSON.stringify(data); // once for both texts
    // Version and owner first: the script reads them from the text.
    const head = JSON.stringify({ version, owner, kind, final, internal });
    const script = (this.#redis as unknown as { commitLive: CommitScript }).commitLive.bind(this.#redis);
    const code = await script(
      keys.live(kind, entry.id),
      keys.stream,
      keys.owned(this.node),
      keys.owned(previousOwner),
      String(expected),
      previousOwner,
      `${head.slice(0, -1)},"data":${dataJson}}`,
      `${JSON.stringify(change).slice(0, -1)},"data":${dataJson}}`,
      final ? String(FINISHED_TTL_S) : '0',
      `${kind}:${entry.id}`,
    );
    if (code !== 1)
      throw new LostRecordError(`${kind} ${entry.id} is no longer ours (${code}, expected version ${expected})`);
  }
}
