import type { Redis } from 'ioredis';
import type { LiveEventType, LiveRecord, LiveResources } from '#contract/events';
import { keys, type LiveKind } from '#contract/keys';
import type { Step } from '#contract/machine';
import { activeflowMachine } from '#contract/machines/activeflow';
import { callMachine } from '#contract/machines/call';
import { conferenceMachine } from '#contract/machines/conference';
import { conferencecallMachine } from '#contract/machines/conferencecall';
import { groupcallMachine } from '#contract/machines/groupcall';
import { recordingMachine } from '#contract/machines/recording';
import { transferMachine } from '#contract/machines/transfer';
import { EMPTY_ID } from '#contract/ids';
import type { Recording } from '#contract/recording';
import { timestamp } from '#contract/time';
import type { Log } from '#process/log';
import { type RecordingFacts, tellEnd } from '../recording/ending.ts';
import { type Change, LostRecordError, type StateStore } from './state-store.ts';
import { callSummary } from './summary.ts';

type Ending<K extends LiveKind> =
  { step: Step; data: LiveResources[K]; event?: LiveEventType<K>; notes?: NonNullable<Change<K>['notes']> } | undefined;

/** How each kind of record ends when its node died: the platform's own doing, and it failed. */
const endings: { [K in LiveKind]: (data: LiveResources[K]) => Ending<K> } = {
  call: data => {
    const step = callMachine.step(data.status, 'end');
    const verdict = { hangup_by: 'local', hangup_reason: 'failed' } as const;
    return (
      step && {
        step,
        event: 'call_hangup',
        data: { ...data, status: step.to, ...verdict, recording_id: EMPTY_ID, tm_hangup: timestamp() },
        notes: [callSummary({ call: data, before: data.status, cause: 'node_died', verdict, sip_status: 0 })],
      }
    );
  },
  groupcall: data => {
    const step = groupcallMachine.step(data.status, 'end');
    return step && { step, event: 'groupcall_hangup', data: { ...data, status: step.to, call_count: 0 } };
  },
  activeflow: data => {
    const step = activeflowMachine.step(data.status, 'end');
    return step && { step, event: 'activeflow_updated', data: { ...data, status: step.to } };
  },
  conference: data => {
    const step = conferenceMachine.step(data.status, 'fail');
    const ended = { ...data, conferencecall_ids: [], recording_id: EMPTY_ID, tm_end: timestamp() };
    return step && { step, event: 'conference_updated', data: { ...ended, status: step.to } };
  },
  conferencecall: data => {
    const step = conferencecallMachine.step(data.status, 'end');
    return step && { step, event: 'conferencecall_leaved', data: { ...data, status: step.to } };
  },
  recording: data => {
    const step = recordingMachine.step(data.status, 'lose');
    // Told with what could be kept of it.
    return step && { step, data: { ...data, status: step.to, tm_end: timestamp() } };
  },
  transfer: data => {
    const step = transferMachine.step(data.status, 'lose');
    return step && { step, data: { ...data, status: step.to } };
  },
};

/** Rooms stand until they are deleted (voice-and-flows 13.3); a connect conference ends with its parties. */
const isOpenRoom = (record: LiveRecord): record is LiveRecord<'conference'> => {
  if (record.kind !== 'conference') return false;
  const { type, status } = (record as LiveRecord<'conference'>).data;
  return type === 'conference' && (status === 'starting' || status === 'progressing');
};

/** What there is to do about records whose node died, beside ending them. */
export interface Estate {
  /** A conference room is ours now. */
  adopt(record: LiveRecord<'conference'>): void;
  /** Keeps what was captured of a recording; resolves with facts for its record. Never rejects. */
  keepRecording(recording: Recording): Promise<RecordingFacts>;
  /** The record of a recording is final. Never rejects. */
  recordingEnded(recording: Recording): Promise<void>;
}

/**
 * Buries dead nodes: whatever a node owned when its lease ran out is ended truthfully by whoever notices first. The
 * state store lets exactly one burier write, and refuses the dead node should it come back.
 */
export class Recovery {
  readonly #redis: Redis;
  readonly #store: StateStore;
  readonly #estate: Estate;
  readonly #log: Log;
  readonly #intervalMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(redis: Redis, store: StateStore, estate: Estate, intervalMs: number, log: Log) {
    this.#redis = redis;
    this.#store = store;
    this.#estate = estate;
    this.#intervalMs = intervalMs;
    this.#log = log;
  }

  /** Looks for dead nodes now and every interval. */
  start(): void {
    void this.sweep(); // what an earlier start of this node left behind
    this.#timer = setInterval(() => void this.sweep(), this.#intervalMs);
  }

  /** Looks no more. */
  stop(): void {
    clearInterval(this.#timer);
  }

  /** Looks for dead nodes once. */
  async sweep(): Promise<void> {
    try {
      for (const node of await this.#redis.smembers(keys.nodes)) {
        if (node !== this.#store.node && !(await this.#redis.exists(keys.node(node)))) await this.#bury(node);
      }
    } catch (error) {
      this.#log.warn({ error: String(error) }, 'could not look for dead nodes; trying again');
    }
  }

  async #bury(node: string): Promise<void> {
    const members = await this.#redis.smembers(keys.owned(node));
    this.#log.warn({ node, records: members.length }, 'a media-app died; ending what it held');
    const isRecording = (member: string) => Number(member.startsWith('recording:'));
    members.sort((a, b) => isRecording(a) - isRecording(b)); // their files take a while; calls must not wait for them
    for (const member of members) await this.#end(node, member);
    await this.#redis.multi().del(keys.owned(node)).srem(keys.nodes, node).exec();
  }

  async #end(node: string, member: string): Promise<void> {
    const [kind, id] = member.split(':') as [LiveKind, string];
    const record = await this.#store.read(kind, id);
    if (!record || record.owner !== node) return;
    try {
      if (isOpenRoom(record)) return await this.#takeOver(record);
      await this.#endRecord(record);
      this.#log.warn({ [`${kind}_id`]: id }, `${kind} ended because its media-app died`);
    } catch (error) {
      if (!(error instanceof LostRecordError)) throw error; // another node buried it first
    }
  }

  /** A conference room outlives its node: whoever was in it is gone, and it waits for the next. */
  async #takeOver(record: LiveRecord<'conference'>): Promise<void> {
    const empty = { ...record.data, conferencecall_ids: [], recording_id: EMPTY_ID };
    await this.#store.commit(record, empty, { events: ['conference_updated'] });
    this.#estate.adopt(record);
  }

  async #endRecord<K extends LiveKind>(record: LiveRecord<K>): Promise<void> {
    const ending = endings[record.kind](record.data);
    if (!ending) return;
    const recording = record.kind === 'recording' ? (ending.data as Recording) : undefined;
    const { step, event, notes = [] } = ending;
    const told = recording ? tellEnd(recording, await this.#estate.keepRecording(recording)) : undefined;
    await this.#store.commit(record, ending.data, { step, ...(told ?? { events: event ? [event] : [], notes }) });
    if (recording) await this.#estate.recordingEnded(recording);
  }
}
