import { z } from 'zod';
import { NEVER } from '#contract/time';
import { newDirectHash } from '../auth/secrets.ts';
import { because } from '../http/bind.ts';
import type { Route } from '../http/route.ts';
import { crud } from './crud.ts';
import { regenerateHash } from './direct-hash.ts';
import { detailField, nameField, reference } from './fields.ts';
import { byText } from './filters.ts';
import { mustBeFlow } from './flow-store.ts';
import { defineResource } from './resource.ts';
import { setter } from './setter.ts';

const ROUTING_METHODS = ['', 'random'] as const;
const LONGEST_MS = 2_147_483_647;

const timeout = (what: string) =>
  z.number().int().min(0).max(LONGEST_MS).describe(`${what} Milliseconds; 0: no limit.`);

const routingMethod = z
  .string()
  .refine(text => text === 'random', because('INVALID_ROUTING_METHOD', 'must be random'))
  .meta({ enum: ['random'], description: 'Whom a call is offered to: any agent that is free.' });

const tagIds = z
  .array(z.uuid().overwrite(text => text.toLowerCase()))
  .max(1000)
  .describe('Agents with one of these tags are asked; none: every agent.');

/** Where callers wait for a free agent (contact-centre 5). */
export const queues = defineResource({
  name: 'queue',
  title: 'Queue',
  path: '/queues',
  table: 'queues',
  not_found: 'QUEUE_NOT_FOUND',
  limited: 'queues',
  read: 'manager',
  write: 'manager',
  unset: NEVER,
  told: true,
  refusals: ['INVALID_ROUTING_METHOD', 'FLOW_NOT_FOUND', 'RESOURCE_LIMIT_EXCEEDED'],
  filters: { name: byText('Only those of this name.') },
  fields: {
    name: nameField.unwrap(),
    detail: detailField.unwrap(),
    routing_method: routingMethod,
    tag_ids: tagIds,
    wait_flow_id: reference('What callers hear while they wait.').unwrap(),
    wait_timeout: timeout('How long a caller waits.'),
    service_timeout: timeout('How long a conversation lasts.'),
  },
  changeable: ['name', 'detail', 'routing_method', 'tag_ids', 'wait_flow_id', 'wait_timeout', 'service_timeout'],
  shown: {
    routing_method: z.enum(ROUTING_METHODS),
    direct_hash: z.string().describe('Forms the direct SIP URI; who dials it joins the queue.'),
    wait_queuecall_ids: z.array(z.uuid()).describe('Who waits now.'),
    service_queuecall_ids: z.array(z.uuid()).describe('Who talks now.'),
    total_incoming_count: z.number().int().describe('How many have come.'),
    total_serviced_count: z.number().int().describe('How many have talked to an agent.'),
    total_abandoned_count: z.number().int().describe('How many have left before.'),
  },
});

const routes = crud(queues, {
  async prepare({ context, identity }, body) {
    await mustBeFlow(context.db, identity.customer_id, body.wait_flow_id);
    return { ...body, direct_hash: newDirectHash() };
  },
  async revise({ context, identity }, body) {
    await mustBeFlow(context.db, identity.customer_id, body['wait_flow_id']);
    return body;
  },
});

export const queueRoutes: Route[] = [
  ...Object.values(routes),
  setter(queues, { field: 'tag_ids', summary: 'Replace the tags of one queue', body: { tag_ids: tagIds } }),
  setter(queues, {
    field: 'routing_method',
    summary: 'Change whom the calls of one queue are offered to',
    body: { routing_method: routingMethod },
    reasons: ['INVALID_ROUTING_METHOD'],
  }),
  ...regenerateHash(queues),
];
