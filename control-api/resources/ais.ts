import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { timestamp } from '#contract/time';
import { newDirectHash } from '../auth/secrets.ts';
import type { Transaction } from '../db.ts';
import { because } from '../http/bind.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { AI_TOOLS, ais, keepPrompt, participants, promptHistories, type AiType } from './ai-store.ts';
import { crud, idParams, scopeOf } from './crud.ts';
import { regenerateHash } from './direct-hash.ts';
import { listUnder, parentOf } from './listed-under.ts';
import { ownedRecord } from './owned.ts';
import { rags } from './rag-store.ts';
import { render, type Row } from './resource.ts';
import { Store, tellUpdated, type More } from './store.ts';

const mustFitType = (type: unknown, names: unknown): void => {
  const allowed = AI_TOOLS[type as AiType];
  const foreign = (names as string[]).find(name => name !== 'all' && !allowed.includes(name));
  if (foreign !== undefined)
    throw new PlatformError('INVALID_TOOL_NAMES', `tool_names: an AI of type ${String(type)} has no ${foreign}.`);
};

const keeping = (): More => ({ before: (trx, row) => keepPrompt(trx, row) });

const routes = crud(ais, {
  async prepare({ context, identity }, body) {
    mustFitType(body.type, body.tool_names);
    await ownedRecord(context.db, rags, identity.customer_id, body.rag_id);
    return { ...body, direct_hash: newDirectHash() };
  },
  async revise({ context, identity }, body, row) {
    const type = body['type'] ?? row['type'];
    mustFitType(type, body['tool_names'] ?? row['tool_names']);
    await ownedRecord(context.db, rags, identity.customer_id, body['rag_id']);
    return type === 'normal' ? { ...body, is_insight_active: false } : body;
  },
  creating: keeping,
  revising: keeping,
});

/** Takes the place of the one that was active. Two at once cannot be: the database lets one of them through. */
const activate = async (trx: Transaction, row: Row, request_id: string): Promise<Row> => {
  if (row['type'] !== 'insight')
    throw new PlatformError('AI_NOT_INSIGHT_TYPE', 'Only an AI of type insight helps agents.');
  const active = { customer_id: row.customer_id, is_insight_active: true };
  const before = await trx<Row>('ais')
    .where(active)
    .whereNot('id', row.id)
    .whereNull('tm_delete')
    .update({ is_insight_active: false, tm_update: timestamp() })
    .returning('*');
  await tellUpdated(trx, ais, before, request_id);
  await trx('ais').where('id', row.id).update({ is_insight_active: true });
  return { ...row, is_insight_active: true };
};

const activateInsight = defineRoute({
  method: 'post',
  path: '/ais/{id}/activate_insight',
  operation_id: 'activate_insight_ai',
  summary: 'Make one AI the one that helps agents; the one before is that no more',
  tag: ais.title,
  permission: ais.write,
  params: idParams,
  response: ais.schema,
  reasons: ['AI_NOT_FOUND', 'AI_NOT_INSIGHT_TYPE', 'AI_INSIGHT_ACTIVATION_CONFLICT'],
  async handle(request) {
    const { context, params, request_id } = request;
    const before: More['before'] = (trx, row) => activate(trx, row, request_id);
    return render(ais, await new Store(ais, context.db).update(scopeOf(request), params.id, {}, { before }));
  },
});

const isUuid = (text: string): boolean => z.uuid().safeParse(text).success;
const historyParams = idParams.extend({
  history_id: z
    .string()
    .refine(isUuid, because('INVALID_HISTORY_ID', 'must be a UUID'))
    .describe('The id of the entry.'),
});

const getHistory = defineRoute({
  method: 'get',
  path: '/ais/{id}/prompt_histories/{history_id}',
  operation_id: 'get_ai_prompt_history',
  summary: 'Get one entry of the history of a prompt',
  tag: ais.title,
  permission: ais.read,
  params: historyParams,
  response: promptHistories.schema,
  reasons: ['AI_NOT_FOUND', 'RESOURCE_NOT_FOUND', 'INVALID_HISTORY_ID'],
  async handle(request) {
    const { row, scope } = await parentOf(ais, request);
    const { history_id } = request.params;
    const entry = await new Store(promptHistories, request.context.db).get(scope, history_id.toLowerCase());
    if (entry['ai_id'] === row.id) return render(promptHistories, entry);
    throw new PlatformError('RESOURCE_NOT_FOUND', 'The AI never had this prompt.');
  },
});

const under = { parent: ais, column: 'ai_id' };

export const aiRoutes: Route[] = [
  ...Object.values(routes),
  ...regenerateHash(ais),
  activateInsight,
  listUnder({
    ...under,
    child: promptHistories,
    field: 'prompt_histories',
    summary: 'List what one AI was told first, newest first',
  }),
  getHistory,
  listUnder({
    ...under,
    child: participants,
    field: 'participants',
    summary: 'List the calls that one AI took part in, newest first',
  }),
];
