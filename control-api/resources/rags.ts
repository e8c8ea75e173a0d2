import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { EMPTY_ID, newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { isDuplicate, type Transaction } from '../db.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { crud, idParams, scopeOf } from './crud.ts';
import { MOST_SOURCES, rags, sourceFields } from './rag-store.ts';
import { render, type Row } from './resource.ts';
import { Store, type Within } from './store.ts';

interface Sources {
  storage_file_ids: string[];
  source_urls: string[];
}

const mustBeFiles = async (trx: Transaction, customer_id: string, ids: string[]): Promise<void> => {
  const files = trx('storage_files').where({ customer_id }).whereNull('tm_delete').whereIn('id', ids);
  const known = await files.select<{ id: string }[]>('id');
  const missing = ids.find(id => !known.some(file => file.id === id));
  if (missing !== undefined) throw new PlatformError('FILE_NOT_FOUND', `There is no stored file ${missing}.`);
};

const mustHaveRoom = async (trx: Transaction, rag: Row): Promise<void> => {
  const sources = trx('rag_sources').where('rag_id', rag.id).whereNull('tm_delete');
  const counted = await sources.count<{ n: number }[]>({ n: '*' }).first();
  if ((counted?.n ?? 0) > MOST_SOURCES)
    throw new PlatformError('INVALID_ARGUMENT', `A knowledge base has at most ${MOST_SOURCES} sources.`);
};

const rowsOf = (rag: Row, { storage_file_ids, source_urls }: Sources): Record<string, unknown>[] =>
  [
    ...storage_file_ids.map(storage_file_id => ({ storage_file_id, source_url: '' })),
    ...source_urls.map(source_url => ({ storage_file_id: EMPTY_ID, source_url })),
  ].map(source => ({
    ...source,
    id: newId(),
    customer_id: rag.customer_id,
    rag_id: rag.id,
    tm_create: timestamp(),
  }));

/** Adds sources, each of which waits to be read. The same one twice is ALREADY_EXISTS (contact-centre 27.3). */
const addSources = async (trx: Transaction, rag: Row, given: Sources): Promise<void> => {
  await mustBeFiles(trx, rag.customer_id, given.storage_file_ids);
  const rows = rowsOf(rag, given);
  if (rows.length === 0) return;
  await trx('rag_sources')
    .insert(rows)
    .catch((error: unknown) => {
      if (!isDuplicate(error)) throw error;
      throw new PlatformError('ALREADY_EXISTS', 'A source may be there once.');
    });
  await mustHaveRoom(trx, rag);
};

const removeSources: Within = async (trx, row) => {
  await trx('rag_sources').where('rag_id', row.id).whereNull('tm_delete').update({ tm_delete: timestamp() });
};

const routes = crud(rags, {
  prepare: async (_request, { storage_file_ids: _files, source_urls: _urls, ...body }) => body,
  async revise(_request, body) {
    if (Object.keys(body).length === 0)
      throw new PlatformError('INVALID_ARGUMENT', 'Nothing to change: give name or description.');
    return body;
  },
  creating: request => ({ before: (trx, row) => addSources(trx, row, request.body as Sources) }),
  removing: () => ({ within: removeSources }),
});

const add = defineRoute({
  method: 'post',
  path: '/rags/{id}/sources',
  operation_id: 'add_rag_sources',
  summary: 'Give sources to one knowledge base',
  tag: rags.title,
  permission: rags.write,
  params: idParams,
  body: z.object(sourceFields),
  response: rags.schema,
  reasons: ['RAG_NOT_FOUND', 'FILE_NOT_FOUND', 'ALREADY_EXISTS'],
  async handle(request) {
    const { context, params, body } = request;
    if (body.storage_file_ids.length + body.source_urls.length === 0)
      throw new PlatformError('INVALID_ARGUMENT', 'Give at least one of storage_file_ids, source_urls.');
    const before = (trx: Transaction, row: Row) => addSources(trx, row, body);
    return render(rags, await new Store(rags, context.db).update(scopeOf(request), params.id, {}, { before }));
  },
});

const sourceParams = idParams.extend({ source_id: z.uuid().describe('The id of the source.') });

const removeSource = async (trx: Transaction, rag: Row, id: string): Promise<void> => {
  const source = trx('rag_sources').where({ id, rag_id: rag.id }).whereNull('tm_delete');
  if ((await source.update({ tm_delete: timestamp() })) === 0)
    throw new PlatformError('DOCUMENT_NOT_FOUND', 'The knowledge base has no such source.');
};

const remove = defineRoute({
  method: 'delete',
  path: '/rags/{id}/sources/{source_id}',
  operation_id: 'delete_rag_source',
  summary: 'Take one source away from a knowledge base',
  tag: rags.title,
  permission: rags.write,
  params: sourceParams,
  response: rags.schema,
  reasons: ['RAG_NOT_FOUND', 'DOCUMENT_NOT_FOUND'],
  async handle(request) {
    const { context, params } = request;
    const before = (trx: Transaction, row: Row) => removeSource(trx, row, params.source_id);
    return render(rags, await new Store(rags, context.db).update(scopeOf(request), params.id, {}, { before }));
  },
});

export const ragRoutes: Route[] = [...Object.values(routes), add, remove];
