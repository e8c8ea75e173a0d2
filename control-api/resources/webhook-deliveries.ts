import { z } from 'zod';
import {
  DELIVERY_STATES,
  DELIVERY_TARGETS,
  listDeliveries,
  readDelivery,
  replayDelivery,
  type WholeDelivery,
} from '../events/delivery-records.ts';
import { MOST_ATTEMPTS } from '../events/deliveries.ts';
import { listQuery, pageFrom, pageOf } from '../http/pagination.ts';
import { isSuperAdmin } from '../http/permit.ts';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import { idParams } from './crud.ts';
import { byId, byText, byWord } from './filters.ts';

const moment = (text: string) => z.string().describe(`${text} UTC.`);
const statusField = z.int().nullable().describe('What the receiver answered; null when there was no answer.');
const errorField = z.string().nullable().describe('Why there was no answer, or why nothing was sent.');

const fields = {
  id: z.uuid().describe('Given by the platform.'),
  customer_id: z.uuid().describe('The customer it belongs to.'),
  event_id: z.uuid().describe('The event it carries; the same in every attempt.'),
  event_type: z.string().describe('The type of the event.'),
  sequence: z.int().describe('The sequence of the event.'),
  topic: z.string().describe('The topic of the event.'),
  target: z.enum(DELIVERY_TARGETS).describe('Whose webhook it goes to: that of the customer or of one activeflow.'),
  uri: z.string().describe('Where it is sent.'),
  method: z.string().describe('The HTTP method.'),
  state: z
    .enum(DELIVERY_STATES)
    .describe(
      '`waiting`: behind an earlier event of the same resource; `pending`: due, or due again; `delivered`: answered with 200; `dead`: given up.',
    ),
  attempts: z.int().describe('How often it was tried.'),
  last_status: statusField,
  last_error: errorField,
  tm_next_attempt: moment('When it is tried next, while it is pending.'),
  tm_create: moment('When the event happened.'),
  tm_update: moment('When it was last tried or replayed.'),
};

const deliverySchema = z
  .object(fields)
  .meta({ id: 'WebhookDelivery', description: 'One event on its way to one webhook.' });

const attemptSchema = z
  .object({
    attempt: z.int().describe('From 1.'),
    uri: z.string().describe('Where it was sent.'),
    status: statusField,
    error: errorField,
    duration_ms: z.int().describe('How long it took, in milliseconds.'),
    tm_create: moment('When it was over.'),
  })
  .meta({ id: 'WebhookAttempt', description: 'One attempt to deliver.' });

const eventSchema = z
  .object({
    id: z.uuid().describe('Stable: never delivered under another.'),
    sequence: z.int().describe('Counts up by one for each customer.'),
    event_type: z.string().describe('One of docs/events.md.'),
    timestamp: z.string().describe('RFC 3339 with microseconds.'),
    topic: z.string().describe('customer_id:<customer_id>:<resource>:<resource_id>.'),
    request_id: z.string().describe('Of the request that caused it; empty when none did.'),
    data: z.record(z.string(), z.unknown()).describe('The resource as it was then.'),
  })
  .meta({ id: 'EventMessage', description: 'What a webhook and a WebSocket client receive.' });

const wholeSchema = z
  .object({
    ...fields,
    event: eventSchema.describe('The body that is sent.'),
    attempt_log: z.array(attemptSchema).describe(`The last ${MOST_ATTEMPTS} attempts, oldest first.`),
  })
  .meta({ id: 'WholeWebhookDelivery', description: 'A delivery with its event and its attempts.' });

/** The delivery that a request names. Rejects WEBHOOK_DELIVERY_NOT_FOUND, for another customer's too. */
export const findDelivery = ({ context, identity }: RouteRequest, id: string): Promise<WholeDelivery> =>
  readDelivery(context.db, isSuperAdmin(identity) ? undefined : identity.customer_id, id);

const list = defineRoute({
  method: 'get',
  path: '/webhook_deliveries',
  operation_id: 'list_webhook_deliveries',
  summary: 'List webhook deliveries, newest first; `state=dead` are those given up',
  tag: 'WebhookDelivery',
  permission: 'manager',
  query: listQuery({
    state: byWord(DELIVERY_STATES, 'Only those in this state.'),
    target: byWord(DELIVERY_TARGETS, 'Only those to webhooks of this kind.'),
    event_id: byId('Only those of this event.'),
    event_type: byText('Only those of events of this type.'),
    resource_id: byId('Only those of events of this resource.'),
  }),
  response: pageOf(deliverySchema),
  async handle({ context, identity, query: { page_size, page_token, ...filters } }) {
    const page = { page_size, page_token };
    return pageFrom(await listDeliveries(context.db, identity.customer_id, page, filters), page);
  },
});

const get = defineRoute({
  method: 'get',
  path: '/webhook_deliveries/{id}',
  operation_id: 'get_webhook_delivery',
  summary: 'Get one webhook delivery with its event and its attempts',
  tag: 'WebhookDelivery',
  permission: 'manager',
  params: idParams,
  response: wholeSchema,
  reasons: ['WEBHOOK_DELIVERY_NOT_FOUND'],
  handle: request => findDelivery(request, request.params.id),
});

const retry = defineRoute({
  method: 'post',
  path: '/webhook_deliveries/{id}/retry',
  operation_id: 'retry_webhook_delivery',
  summary: 'Send one event once more, to where the webhook points now; its time to be given up starts anew',
  tag: 'WebhookDelivery',
  permission: 'manager',
  params: idParams,
  response: wholeSchema,
  reasons: ['WEBHOOK_DELIVERY_NOT_FOUND', 'STATE_INVALID'],
  async handle(request) {
    const { id } = await findDelivery(request, request.params.id);
    await request.context.db.transaction(trx => replayDelivery(trx, id));
    return findDelivery(request, id);
  },
});

export const webhookDeliveryRoutes: Route[] = [list, get, retry];
