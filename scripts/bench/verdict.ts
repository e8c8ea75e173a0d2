import type { EventMessage } from '#contract/events';
import { NEVER } from '#contract/time';
import type { Write } from './storm.ts';

type Data = EventMessage['data'] & { id?: string; detail?: string; status?: string; tm_update?: string | null };

const idOf = (event: EventMessage): string => String((event.data as Data).id);

/** What an event says that no other does; undefined for those that say nothing a client asked for. */
const factOf = ({ event_type, data }: EventMessage): string | undefined => {
  const { detail, status } = data as Data;
  if (event_type === 'tag_created' || event_type === 'activeflow_created') return 'created';
  if (event_type === 'tag_updated') return detail;
  return event_type === 'activeflow_updated' && status === 'ended' ? 'ended' : undefined;
};

const grouped = <T>(all: readonly T[], keyOf: (one: T) => string): Map<string, T[]> => {
  const groups = new Map<string, T[]>();
  for (const one of all) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return groups;
};

const rising = (numbers: readonly number[]): boolean =>
  numbers.every((each, at) => at === 0 || each > (numbers[at - 1] ?? 0));

/** What is wrong with the log itself. */
const faultsOfLog = (log: readonly EventMessage[]): string[] => {
  const faults: string[] = [];
  if (new Set(log.map(event => event.id)).size !== log.length) faults.push('an event id is in the log twice');
  log.forEach((event, at) => {
    const before = log[at - 1];
    if (before && event.sequence !== before.sequence + 1) faults.push(`the log jumps to ${event.sequence}`);
  });
  for (const [id, events] of grouped(log, idOf)) {
    const facts = events.map(factOf).filter(fact => fact !== undefined);
    if (new Set(facts).size !== facts.length) faults.push(`${id} told the same twice: ${facts.join(', ')}`);
    const made = facts.indexOf('created');
    if (made > 0 || (events[0]?.event_type.endsWith('_updated') ?? false))
      faults.push(`${id} changed before it was created`);
    const ended = events.findIndex(event => factOf(event) === 'ended');
    if (ended >= 0 && ended < events.length - 1) faults.push(`${id} went on after it ended`);
    const times = events.map(event => (event.data as Data).tm_update ?? '').filter(time => time !== NEVER);
    if (times.some((time, at) => at > 0 && time < (times[at - 1] ?? ''))) faults.push(`${id} goes back in time`);
  }
  return faults;
};

/** Acknowledged writes without an event, or whose events are in another order than the acknowledgements. */
const faultsOfWrites = (log: readonly EventMessage[], writes: readonly Write[]): string[] => {
  const told = new Map<string, number>();
  for (const event of log) told.set(`${idOf(event)} ${factOf(event)}`, event.sequence);
  const faults: string[] = [];
  for (const [id, own] of grouped(writes, write => write.id)) {
    const kept = own.filter(write => write.acknowledged);
    const sequences = kept.map(({ fact }) => told.get(`${id} ${fact}`));
    kept.forEach(({ fact }, at) => sequences[at] ?? faults.push(`${id}: ${fact} was acknowledged and is not told`));
    if (!rising(sequences.filter(each => each !== undefined)))
      faults.push(`${id}: told in another order than acknowledged`);
  }
  return faults;
};

const faultsOfClient = (log: readonly EventMessage[], heard: readonly EventMessage[]): string[] => {
  const [told, got] = [log, heard].map(events => events.map(({ sequence, id }) => `${sequence} ${id}`));
  const at = told?.findIndex((each, index) => each !== got?.[index]) ?? -1;
  if (at >= 0) return [`the WebSocket client heard ${got?.[at] ?? 'nothing'} in place of ${told?.[at]}`];
  return heard.length > log.length ? [`the WebSocket client heard ${heard.length - log.length} events more`] : [];
};

const faultsOfWebhooks = (log: readonly EventMessage[], received: ReadonlyMap<string, EventMessage>): string[] => {
  const missing = log.filter(event => !received.has(event.id));
  const faults = missing.length > 0 ? [`${missing.length} webhooks did not arrive`] : [];
  for (const [topic, events] of grouped([...received.values()], event => event.topic))
    if (!rising(events.map(event => event.sequence))) faults.push(`webhooks of ${topic} arrived out of order`);
  return faults;
};

export interface Evidence {
  /** The event log since the storm began, by sequence. */
  log: readonly EventMessage[];
  writes: readonly Write[];
  /** By the resuming WebSocket client. */
  heard: readonly EventMessage[];
  /** By webhook, in order of first arrival. */
  received: ReadonlyMap<string, EventMessage>;
}

/** Every promise that was broken, as a sentence. */
export const faultsOf = ({ log, writes, heard, received }: Evidence): string[] => [
  ...faultsOfLog(log),
  ...faultsOfWrites(log, writes),
  ...faultsOfClient(log, heard),
  ...faultsOfWebhooks(log, received),
];
