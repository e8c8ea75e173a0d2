import type { Knex } from 'knex';
import type { Call } from '#contract/call';
import { timestamp, toRfc3339, type Timestamp } from '#contract/time';

/** Somebody outside: an address in its stored form. */
export interface Peer {
  type: string;
  target: string;
}

/** What happened with a peer (contact-centre 18.3): an event of a call, seen from this side. */
export interface PeerEvent {
  /** RFC 3339, microseconds. */
  timestamp: string;
  customer_id: string;
  publisher: 'call';
  event_type: string;
  reference_id: string;
  direction: Call['direction'];
  peer: Call['source'];
  local: Call['source'];
  data: Record<string, unknown>;
}

/** Which part of the history: at most `page_size` entries older than `page_token` and not older than `since`. */
export interface PeerPage {
  customer_id: string;
  peers: Peer[];
  page_size: number;
  page_token?: Timestamp | undefined;
  since?: Timestamp | undefined;
}

interface Row {
  at: string;
  event_type: string;
  id: string;
  data: Call;
}

const OF_PEERS = `c.customer_id = :customer_id and c.tm_delete is null
  and (c.peer_type, c.peer_target) in (select * from unnest(:types::text[], :targets::text[]))`;

/** Every event of every call. */
const EVENTS = `
  select e."timestamp" as moment, e.event_type, c.id, e.data from calls c join events e on e.resource_id = c.id
  where ${OF_PEERS} and e.resource = 'call'`;

/** One entry for each call, at the time it began, with the last that is known of it. */
const INTERACTIONS = `
  select c.tm_create as moment, last.event_type, c.id, c.data from calls c
  join lateral (
    select event_type from events where resource_id = c.id and resource = 'call' order by sequence desc limit 1
  ) last on true
  where ${OF_PEERS}`;

/** Ties come along whole: the cursor is a time, and must not fall between two entries of one moment. */
const pageSql = (entries: string): string => `
  select to_char(moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, event_type, id, data
  from (${entries}) everything where moment < :before::timestamptz and moment >= :since::timestamptz
  order by moment desc fetch first :limit rows with ties`;

const shown = ({ at, event_type, id, data }: Row): PeerEvent => {
  const { customer_id, direction, source, destination } = data;
  const [peer, local] = direction === 'incoming' ? [source, destination] : [destination, source];
  const parties = { direction, peer, local };
  return { timestamp: at, customer_id, publisher: 'call', event_type, reference_id: id, ...parties, data: { ...data } };
};

const read = async (
  database: Knex,
  entries: string,
  { customer_id, peers, page_size, page_token, since }: PeerPage,
): Promise<{ result: PeerEvent[]; next_page_token: string }> => {
  const { rows } = await database.raw<{ rows: Row[] }>(pageSql(entries), {
    customer_id,
    types: peers.map(({ type }) => type),
    targets: peers.map(({ target }) => target),
    before: toRfc3339(page_token ?? timestamp()),
    since: since === undefined ? '-infinity' : toRfc3339(since),
    limit: page_size + 1,
  });
  const last = rows[page_size - 1]?.at ?? '';
  return {
    result: rows.filter(({ at }) => at >= last).map(shown),
    next_page_token: rows.length > page_size ? last : '',
  };
};

/** Everything that happened with these peers, newest first. */
export const readPeerEvents = (database: Knex, page: PeerPage) => read(database, EVENTS, page);

/** The conversations with these peers, one entry each, newest first. */
export const readInteractions = (database: Knex, page: PeerPage) => read(database, INTERACTIONS, page);
