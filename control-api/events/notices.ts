import type pg from 'pg';
import { types } from '../db.ts';
import { extensions } from '../resources/extensions.ts';
import { renderForEvent, type Row } from '../resources/resource.ts';
import type { NoticeEntry } from './entry.ts';
import type { NewEvent } from './log.ts';

const EXTENSIONS = 'select * from extensions where id = any($1)';

/**
 * The events that notices are. One about an extension tells the extension as GET answers it, without its secrets; what
 * media-app found out comes on top.
 */
export const wholeNotices = async (client: pg.Client, notices: NoticeEntry[]): Promise<NewEvent[]> => {
  const ids = notices.filter(({ resource }) => resource === 'extension').map(({ resource_id }) => resource_id);
  const { rows } = ids.length
    ? await client.query<Row>({ text: EXTENSIONS, values: [[...new Set(ids)]], types })
    : { rows: [] };
  const records = new Map(rows.map(row => [row.id, renderForEvent(extensions, row)]));
  return notices.map(({ kind: _kind, ...event }) => ({
    ...event,
    data: { ...records.get(event.resource_id), ...event.data },
  }));
};
