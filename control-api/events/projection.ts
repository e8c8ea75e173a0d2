import type pg from 'pg';
import type { Rates } from '#contract/billing';
import { LIVE_KINDS, type LiveKind } from '#contract/keys';
import { meter } from '../billing/meters.ts';
import { queryOfClient } from '../billing/query.ts';
import { LIVE_TABLES } from '../live.ts';
import { moveAgents } from './agent-status.ts';
import { eventsOf, notesOf, rowOf, type Entry, type NoticeEntry, type Read } from './entry.ts';
import { appendEvents } from './log.ts';
import { wholeNotices } from './notices.ts';
import { onClient, type Statement } from './statement.ts';
import { writeTimeline, type Trace } from './trace.ts';

/** Only newer versions are written; a deletion by a client stays, whatever media-app still reports of the record. */
const upsert = (table: string): Statement => ({
  name: `upsert_${table}`,
  text: `
  insert into ${table} as t (id, customer_id, version, data, tm_create, tm_delete)
  select * from jsonb_to_recordset($1::jsonb)
    as r (id uuid, customer_id uuid, version int, data jsonb, tm_create timestamptz, tm_delete timestamptz)
  order by id
  on conflict (id) do update set version = excluded.version, tm_delete = coalesce(t.tm_delete, excluded.tm_delete),
    data = case when t.tm_delete is null then excluded.data
      else excluded.data || jsonb_build_object('tm_delete', t.data -> 'tm_delete') end
  where t.version < excluded.version`,
});

/** Another projector moved the cursor: what we were about to write is, or will be, its business. */
class CursorMoved extends Error {
  override readonly name = 'CursorMoved';
}

const isRead = (read: Read): read is Read & { entry: Entry } => 'entry' in read;
const isTrace = (read: Read): read is Read & { trace: Trace } => 'trace' in read;
const isNotice = (read: Read): read is Read & { notice: NoticeEntry } => 'notice' in read;

const newestOf = (entries: Entry[], kind: LiveKind): Entry[] => {
  const newest = new Map<string, Entry>();
  for (const entry of entries.filter(each => each.kind === kind))
    if (entry.version > (newest.get(entry.id)?.version ?? 0)) newest.set(entry.id, entry);
  return [...newest.values()];
};

const moveCursor = async (client: pg.Client, from: string, to: string): Promise<void> => {
  const { rowCount } = await client.query('update projector_cursor set stream_id = $2 where stream_id = $1', [
    from,
    to,
  ]);
  if (rowCount !== 1) throw new CursorMoved(`the projector's cursor is no longer at ${from}`);
};

/** Rows before sequences: the order in which the API's own transactions lock them. */
const write = async (client: pg.Client, reads: Read[], rates: Rates): Promise<void> => {
  const run = onClient(client);
  const entries = reads.filter(isRead).map(read => read.entry);
  for (const kind of LIVE_KINDS) {
    const rows = newestOf(entries, kind).map(rowOf);
    if (rows.length > 0) await run(upsert(LIVE_TABLES[kind]), JSON.stringify(rows));
  }
  await writeTimeline(
    run,
    entries.flatMap(notesOf),
    reads.filter(isTrace).map(read => read.trace),
  );
  await meter(queryOfClient(client), rates, entries);
  const moved = await moveAgents(client, entries);
  const notices = await wholeNotices(
    client,
    reads.filter(isNotice).map(read => read.notice),
  );
  await appendEvents(run, [...entries.flatMap(eventsOf), ...moved, ...notices]);
};

const setAside = async (client: pg.Client, reads: Read[]): Promise<void> => {
  for (const read of reads)
    if ('reason' in read)
      await client.query(
        'insert into projector_refused (stream_id, entry, reason) values ($1, $2, $3) on conflict do nothing',
        [read.stream_id, read.text.replaceAll('\0', '\u{fffd}'), read.reason.slice(0, 2000)],
      );
};

/**
 * Writes a batch in one transaction: rows, charges, events, webhook deliveries, refused entries and the cursor. The cursor is
 * moved first, so that of two projectors one waits for the other and then fails with CursorMoved.
 */
const project = async (client: pg.Client, cursor: string, reads: Read[], rates: Rates): Promise<string> => {
  const last = reads.at(-1)?.stream_id ?? cursor;
  await client.query('begin');
  try {
    await moveCursor(client, cursor, last);
    await write(client, reads, rates);
    await setAside(client, reads);
    await client.query('commit');
  } catch (error) {
    // When the connection is gone there is nothing to roll back; the first error is the one to report.
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
  return last;
};

/** True when Postgres refuses the values themselves (class 22 data, 23 constraint), so that trying again is useless. */
const isRefused = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^2[23]/.test(error.code);

/** What a projector projects with. */
interface Around {
  rates: Rates;
  /** Told of every entry that was set aside. */
  report: (refused: { stream_id: string; reason: string }) => void;
}

/** As `project`, but finds the entry that Postgres refuses, sets it aside and writes all others. */
export const projectCarefully = async (
  client: pg.Client,
  cursor: string,
  reads: Read[],
  around: Around,
): Promise<string> => {
  try {
    const last = await project(client, cursor, reads, around.rates);
    for (const read of reads) if ('reason' in read) around.report({ stream_id: read.stream_id, reason: read.reason });
    return last;
  } catch (error) {
    const [only] = reads;
    if (!isRefused(error) || !only) throw error;
    const { stream_id, text } = only;
    if (reads.length === 1)
      return projectCarefully(client, cursor, [{ stream_id, text, reason: error.message }], around);
    const half = Math.ceil(reads.length / 2);
    const middle = await projectCarefully(client, cursor, reads.slice(0, half), around);
    return projectCarefully(client, middle, reads.slice(half), around);
  }
};
