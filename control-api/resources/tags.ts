import { NEVER, timestamp } from '#contract/time';
import type { Transaction } from '../db.ts';
import type { Route } from '../http/route.ts';
import { agents } from './agents.ts';
import { contacts } from './contact-store.ts';
import { crud } from './crud.ts';
import { detailField, nameField } from './fields.ts';
import { byText } from './filters.ts';
import { queues } from './queues.ts';
import { defineResource, type Resource, type Row } from './resource.ts';
import { tellUpdated } from './store.ts';

/** Labels on agents, queues and contacts (accounts-and-plumbing 13). */
export const tags = defineResource({
  name: 'tag',
  title: 'Tag',
  path: '/tags',
  table: 'tags',
  not_found: 'TAG_NOT_FOUND',
  read: 'manager',
  write: 'manager',
  unset: NEVER,
  told: true,
  filters: { name: byText('Only those of this name.') },
  fields: { name: nameField.unwrap(), detail: detailField.unwrap() },
  changeable: ['name', 'detail'],
});

/** What carries tags, in `tag_ids`. */
const TAGGED: Resource[] = [agents, queues, contacts];

/** Takes a deleted tag off whatever carries it, and tells so. */
const untag = async (trx: Transaction, tag: Row, request_id: string): Promise<void> => {
  for (const resource of TAGGED) {
    const rows = await trx<Row>(resource.table)
      .where('customer_id', tag.customer_id)
      .whereNull('tm_delete')
      .whereRaw('jsonb_exists(tag_ids, ?)', [tag.id])
      .update({ tag_ids: trx.raw('tag_ids - ?::text', [tag.id]), tm_update: timestamp() })
      .returning('*');
    await tellUpdated(trx, resource, rows, request_id);
  }
};

/** The routes of tags, by what they do. */
export const tagOperations = crud(tags, {
  removing: request => ({ within: (trx, row) => untag(trx, row, request.request_id) }),
});

export const tagRoutes: Route[] = Object.values(tagOperations);
