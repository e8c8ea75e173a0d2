import type { CostType, Rates } from '#contract/billing';
import type { Call } from '#contract/call';
import type { LiveEntry, LiveEventType } from '#contract/events';
import { parseTimestamp, type Timestamp } from '#contract/time';
import type { Entry } from '../events/entry.ts';
import type { Reference } from './ledger.ts';
import type { Query } from './query.ts';
import { endUsage, startUsage } from './usage.ts';

/** What a call is charged as (accounts-and-plumbing 14.6). */
export const costTypeOf = ({
  direction,
  source,
  destination,
}: Pick<Call, 'direction' | 'source' | 'destination'>): CostType => {
  const toNumber = destination.type === 'tel';
  if (direction === 'outgoing') return toNumber ? 'call_pstn_outgoing' : 'call_extension';
  if (toNumber && destination.target.startsWith('+899')) return 'call_vn';
  if (toNumber && source.type === 'tel') return 'call_pstn_incoming';
  return source.type === 'sip' && destination.type === 'extension' ? 'call_direct_ext' : 'call_extension';
};

type Told = Entry['events'][number];

/** When something is charged from, and until; of a moment that never came nothing is charged. */
interface Meter {
  reference: (entry: Entry) => Reference;
  cost_type: (entry: Entry) => CostType;
  starts: (entry: Entry, event: Told) => Timestamp | undefined;
  ends: (entry: Entry, event: Told) => Timestamp | undefined;
}

/** A moment as media-app wrote it, when it is one. */
const moment = (value: unknown): Timestamp | undefined =>
  typeof value === 'string' ? parseTimestamp(value) : undefined;

const at =
  (field: string) =>
  ({ data }: Entry): Timestamp | undefined =>
    moment((data as Record<string, unknown>)[field]);

const costOfCall = (entry: Entry): CostType => costTypeOf((entry as LiveEntry<'call'>).data);
const isFree = (cost: CostType): boolean => cost === 'call_extension' || cost === 'call_direct_ext';

/** The end of a call or recording also tells when it began, should that have been lost. */
const call: Meter = {
  reference: entry => ({
    reference_type: isFree(costOfCall(entry)) ? 'call_extension' : 'call',
    reference_id: entry.id,
  }),
  cost_type: entry => costOfCall(entry),
  starts: at('tm_progressing'),
  ends: at('tm_hangup'),
};

const recording: Meter = {
  reference: ({ id }) => ({ reference_type: 'recording', reference_id: id }),
  cost_type: () => 'recording',
  starts: at('tm_start'),
  ends: at('tm_end'),
};

/** A participation has no times of its own but those of its events. */
const participation: Meter = {
  reference: ({ id }) => ({ reference_type: 'conferencecall', reference_id: id }),
  cost_type: () => 'conference',
  starts: (_entry, { event_type, timestamp }) => (event_type === 'conferencecall_joined' ? timestamp : undefined),
  ends: (_entry, { timestamp }) => timestamp,
};

/** The events that start a meter, and those that stop it (14.6). */
const METERS: Partial<Record<LiveEventType, { meter: Meter; stops: boolean }>> = {
  call_progressing: { meter: call, stops: false },
  call_hangup: { meter: call, stops: true },
  recording_started: { meter: recording, stops: false },
  recording_finished: { meter: recording, stops: true },
  conferencecall_joined: { meter: participation, stops: false },
  conferencecall_leaved: { meter: participation, stops: true },
};

/**
 * Charges for what a batch of changes tells, in the transaction that writes it: an entry of the ledger opens when something
 * chargeable begins and is charged when it ends. What is told twice is charged once.
 */
export const meter = async (query: Query, rates: Rates, entries: Entry[]): Promise<void> => {
  for (const entry of entries)
    for (const event of entry.events) {
      const found = METERS[event.event_type];
      if (!found) continue;
      const { meter: of, stops } = found;
      const [reference, tm_start] = [of.reference(entry), of.starts(entry, event)];
      if (tm_start !== undefined) {
        const usage = { ...reference, customer_id: entry.customer_id, cost_type: of.cost_type(entry), tm_start };
        await startUsage(query, rates, usage);
      }
      const tm_end = stops ? of.ends(entry, event) : undefined;
      if (tm_end !== undefined) await endUsage(query, reference, tm_end);
    }
};
