import type pg from 'pg';
import type { LiveEntry } from '#contract/events';
import { isId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { agents } from '../resources/agents.ts';
import { renderForEvent, type Row } from '../resources/resource.ts';
import type { Entry } from './entry.ts';
import type { NewEvent } from './log.ts';

/** What a groupcall to an agent does to the agent's status (accounts-and-plumbing 11.4); nobody else's status moves. */
const MOVES: Partial<Record<string, { from: string[]; to: string }>> = {
  groupcall_created: { from: ['available'], to: 'ringing' },
  groupcall_progressing: { from: ['available', 'ringing'], to: 'busy' },
  /** Unanswered; whoever answered stays busy until the agent says otherwise. */
  groupcall_hangup: { from: ['ringing'], to: 'available' },
};

/** An agent whom another groupcall still rings goes on ringing. */
const MOVE = `
  update agents set status = $3, tm_update = $5::timestamptz
  where id = $1 and customer_id = $2 and status = any($4) and tm_delete is null
    and ($3 <> 'available' or not exists (
      select 1 from groupcalls g where g.customer_id = $2 and g.data ->> 'owner_id' = $1::text
        and g.data ->> 'status' = 'progressing'))
  returning *, to_char(tm_create at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') as tm_create,
    to_char(tm_update at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') as tm_update`;

const isOfAgent = (entry: Entry): entry is LiveEntry<'groupcall'> =>
  entry.kind === 'groupcall' && 'owner_type' in entry.data && entry.data.owner_type === 'agent';

const eventOf = (row: Row, request_id: string): NewEvent => ({
  customer_id: row.customer_id,
  event_type: 'agent_status_updated',
  resource: 'agent',
  resource_id: row.id,
  data: renderForEvent(agents, row),
  request_id,
});

/** Moves the agents whom groupcalls ring, in the transaction that writes those; returns what is to be told of it. */
export const moveAgents = async (client: pg.Client, entries: Entry[]): Promise<NewEvent[]> => {
  const told: NewEvent[] = [];
  for (const entry of entries.filter(isOfAgent))
    for (const { event_type } of entry.events) {
      const move = MOVES[event_type];
      if (!move || !isId(entry.data.owner_id)) continue; // an id Postgres refuses would hold the call up
      const values = [entry.data.owner_id, entry.customer_id, move.to, move.from, timestamp()];
      const { rows } = await client.query<Row>(MOVE, values);
      told.push(...rows.map(row => eventOf(row, entry.request_id)));
    }
  return told;
};
