import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { EMPTY_ID, isSet } from '#contract/ids';
import { NEVER } from '#contract/time';
import { defineRoute, Reply, type Route, type RouteRequest } from '../http/route.ts';
import { keepFile, takeFromAccount } from '../storage/keep.ts';
import type { Kept } from '../storage/vault.ts';
import { crud, idParams, scopeOf } from './crud.ts';
import { byId, byWord } from './filters.ts';
import { defineResource, render, type Row } from './resource.ts';
import { Store, tell } from './store.ts';

const REFERENCE_TYPES = ['', 'normal', 'recording'] as const;
const TYPES = ['', 'rag', 'talk', 'recording'] as const;

/** Files that a customer keeps (accounts-and-plumbing 30.2). Their bytes lie in the vault, under their ids. */
export const storageFiles = defineResource({
  name: 'file',
  title: 'File',
  path: '/storage_files',
  table: 'storage_files',
  not_found: 'FILE_NOT_FOUND',
  read: 'agent',
  write: 'manager',
  unset: NEVER,
  told: true,
  // Whoever has a link has the file.
  secrets: ['uri_download', 'tm_download_expire'],
  filters: {
    type: byWord(TYPES, 'Only those for this.'),
    reference_type: byWord(REFERENCE_TYPES, 'Only those of such records.'),
    reference_id: byId('Only those of this record.'),
    owner_id: byId('Only those that this agent uploaded.'),
  },
  fields: {},
  changeable: [],
  shown: {
    owner_type: z.string().describe('agent when an agent uploaded it, else empty.'),
    owner_id: z.string().describe('The agent who uploaded it.'),
    reference_type: z.enum(REFERENCE_TYPES).describe('What kind of record it belongs to.'),
    reference_id: z.string().describe('The record it belongs to.'),
    type: z.enum(TYPES).describe('What it is for.'),
    name: z.string().describe('What people see.'),
    detail: z.string().describe('Free text.'),
    filename: z.string().describe('As it was called when it was uploaded.'),
    filesize: z.number().int().describe('Bytes.'),
    uri_download: z.string().describe('Needs no credential until it expires, 7 days after it was asked for.'),
    tm_download_expire: z.string(),
  },
});

type Shown = Record<string, unknown>;

const withLink = async ({ context }: RouteRequest, file: Shown): Promise<Shown> => {
  const { uri, tm_expire } = await context.vault.link(file as unknown as Kept);
  return { ...file, uri_download: uri, tm_download_expire: tm_expire };
};

/** A route whose answer is a file, with a fresh link. */
const linked = (route: Route): Route => ({
  ...route,
  handle: async request => withLink(request, (await route.handle(request)) as Shown),
});

/** A route whose answer is a page of files, with fresh links. */
const linkedPage = (route: Route): Route => ({
  ...route,
  async handle(request) {
    const page = (await route.handle(request)) as { result: Shown[] };
    return { ...page, result: await Promise.all(page.result.map(file => withLink(request, file))) };
  },
});

const plain = crud(storageFiles, {
  // Accounts before events, as in every transaction: two that lock them the other way round wait for each other.
  removing: () => ({ before: takeFromAccount }),
  removed: async ({ context }) => context.storedFiles.sweep(),
});
const [list, get] = [linkedPage(plain.list), linked(plain.get)];
// A deleted file has no link.
const remove: Route = {
  ...plain.remove,
  handle: async request => ({
    ...((await plain.remove.handle(request)) as Shown),
    uri_download: '',
    tm_download_expire: NEVER,
  }),
};

/** Keeps the file of a request; an agent who uploads it owns it. */
const keep = async (request: RouteRequest, detail: string): Promise<Shown> => {
  const { context, identity, request_id, upload } = request;
  if (!upload) throw new Error('The route takes no file.');
  const owner = isSet(identity.agent_id)
    ? { owner_type: 'agent', owner_id: identity.agent_id }
    : { owner_type: '', owner_id: EMPTY_ID };
  const scope = scopeOf(request);
  const values = { ...owner, reference_type: 'normal', name: upload.filename, detail };
  const announce = (trx: Parameters<typeof tell>[0], row: Row) => tell(trx, storageFiles, 'created', row, request_id);
  const id = await keepFile({ context, scope, upload, values, tell: announce });
  return withLink(request, render(storageFiles, await new Store(storageFiles, context.db).get(scope, id)));
};

const create = defineRoute({
  method: 'post',
  path: '/storage_files',
  operation_id: 'create_file',
  summary: 'Upload one file',
  tag: storageFiles.title,
  permission: storageFiles.write,
  upload: { types: ['rag'] },
  response: storageFiles.schema,
  reasons: ['RESOURCE_LIMIT_EXCEEDED', 'ACCOUNT_NOT_FOUND', 'FILE_NOT_FOUND'],
  handle: request => keep(request, ''),
});

const bytes = defineRoute({
  method: 'get',
  path: '/storage_files/{id}/file',
  operation_id: 'get_file_contents',
  summary: 'Lead to the contents of one file',
  tag: storageFiles.title,
  permission: storageFiles.write,
  params: idParams,
  status: 307,
  response: z.object({}),
  reasons: ['FILE_NOT_FOUND'],
  async handle(request) {
    const { context, params } = request;
    const row = await new Store(storageFiles, context.db).get(scopeOf(request), params.id);
    const { uri } = await context.vault.link(row as Row & Kept);
    return new Reply(307, undefined, { Location: uri, 'Cache-Control': 'no-store' });
  },
});

export const storageFileRoutes: Route[] = [list, create, get, remove, bytes];

const at = (route: Route): Route => ({ ...route, path: route.path.replace('/storage_files', '/files') });

/** What of an operation on files is left to the agent who owns them. */
const ownOnly = (route: Route): Route => ({
  ...route,
  reasons: [...route.reasons, 'PERMISSION_DENIED'],
  async handle(request) {
    const { context, identity, params } = request;
    const row = await new Store(storageFiles, context.db).get(scopeOf(request), (params as { id: string }).id);
    if (row['owner_id'] !== identity.agent_id)
      throw new PlatformError('PERMISSION_DENIED', 'Only the agent who uploaded the file may delete it here.');
    return route.handle(request);
  },
});

const listOwn: Route = {
  ...list,
  handle: request =>
    list.handle({ ...request, query: { ...(request.query as object), owner_id: request.identity.agent_id } }),
};

const talk: Route = { ...create, upload: { types: ['talk'] }, handle: request => keep(request, 'Uploaded by agent') };

/** Files as agents have them: all of their customer's to read, their own to list and delete (accounts-and-plumbing 12). */
export const agentFileRoutes: Route[] = [listOwn, talk, get, ownOnly(remove), bytes].map(at);
