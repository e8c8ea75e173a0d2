import { z } from 'zod';
import { NEVER } from '#contract/time';
import type { Queryable } from '../db.ts';
import { isWebAddress } from './fields.ts';
import { defineResource, render, type Row } from './resource.ts';

/** Sources of one request, and of one knowledge base, at most. */
export const MOST_SOURCES = 1000;

const sourceSchema = z
  .object({
    id: z.uuid().describe('Given by the platform.'),
    customer_id: z.uuid(),
    storage_file_id: z.string().describe('The stored file that is read; the empty UUID when it is a page.'),
    source_url: z.string().describe('The page that is read; empty when it is a file.'),
    status: z.enum(['pending', 'ready', 'error']),
    status_message: z.string().describe('How many parts it has, or why it could not be read.'),
  })
  .meta({ id: 'RagSource' });

/** What sources are made of. */
export const sourceFields = {
  storage_file_ids: z
    .array(z.uuid().overwrite(text => text.toLowerCase()))
    .max(100)
    .default([])
    .describe('Stored files to read.'),
  source_urls: z
    .array(z.string().max(2048).refine(isWebAddress, 'must be an http or https URL'))
    .max(100)
    .default([])
    .describe('Public pages to read.'),
};

const statusOf = (sources: Row[]): string => {
  const statuses = sources.map(source => source['status']);
  return !statuses.includes('pending') && statuses.includes('ready') ? 'ready' : 'processing';
};

const withSources = async (db: Queryable, rows: Row[]): Promise<Row[]> => {
  if (rows.length === 0) return rows;
  const ids = rows.map(({ id }) => id);
  const all: Row[] = await db<Row>('rag_sources').whereIn('rag_id', ids).whereNull('tm_delete').orderBy('tm_create');
  return rows.map(row => {
    const own = all.filter(source => source['rag_id'] === row.id);
    const sources = own.map(source => render({ schema: sourceSchema, unset: NEVER }, source));
    return { ...row, status: statusOf(own), sources };
  });
};

/** Knowledge bases (platform-api, RAG; contact-centre 27). Sources lie in a table of their own. */
export const rags = defineResource({
  name: 'rag',
  title: 'Rag',
  path: '/rags',
  table: 'rags',
  not_found: 'RAG_NOT_FOUND',
  read: 'admin',
  write: 'admin',
  unset: NEVER,
  told: false,
  whole: withSources,
  refusals: ['FILE_NOT_FOUND', 'ALREADY_EXISTS'],
  fields: {
    name: z.string().min(1, 'must not be empty').max(255).describe('What people see.'),
    description: z.string().max(4096).default('').describe('Free text.'),
    ...sourceFields,
  },
  changeable: ['name', 'description'],
  request_only: ['storage_file_ids', 'source_urls'],
  shown: {
    status: z.enum(['processing', 'ready']).describe('ready: it can be searched.'),
    sources: z.array(sourceSchema),
  },
});
