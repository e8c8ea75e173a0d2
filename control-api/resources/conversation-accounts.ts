import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { NEVER } from '#contract/time';
import type { Route } from '../http/route.ts';
import { crud } from './crud.ts';
import { detailField, nameField, reference } from './fields.ts';
import { byWord } from './filters.ts';
import { mustBeFlow } from './flow-store.ts';
import { defineResource } from './resource.ts';
import { spelledAlso } from './spelled.ts';

const TYPES = ['line', 'sms', 'whatsapp'] as const;

const secret = (what: string) => z.string().max(4096).describe(`${what} Never shown again.`);
const phoneNumberId = z.string().max(255).default('').describe('Which number of the WhatsApp account it is.');

/** Accounts at messengers (contact-centre 13). What proves us there is written and never shown. */
export const conversationAccounts = defineResource({
  name: 'account',
  title: 'ConversationAccount',
  path: '/conversation_accounts',
  table: 'conversation_accounts',
  not_found: 'CONVERSATION_ACCOUNT_NOT_FOUND',
  read: 'manager',
  write: 'manager',
  unset: NEVER,
  told: true,
  refusals: ['INVALID_PROVIDER_DATA', 'FLOW_NOT_FOUND', 'SERVICE_UNAVAILABLE'],
  filters: { type: byWord(TYPES, 'Only those of this type.') },
  fields: {
    type: z.enum(TYPES).describe('The messenger; it cannot be changed later.'),
    name: nameField.unwrap(),
    detail: detailField.unwrap(),
    secret: secret('line: the channel secret. whatsapp: the token of the handshake.'),
    token: secret('The token that messages are sent with.'),
    provider_data: z
      .object({ phone_number_id: phoneNumberId, app_secret: secret('The secret of the app.').optional() })
      .optional()
      .describe('whatsapp only; phone_number_id is needed there.'),
    message_flow_id: reference('Run by messages that come in.'),
  },
  changeable: ['name', 'detail', 'secret', 'token', 'provider_data', 'message_flow_id'],
  request_only: ['secret', 'token'],
  shown: { provider_data: z.object({ phone_number_id: z.string() }).partial() },
});

type ProviderData = { phone_number_id: string; app_secret?: string | undefined } | undefined;

/** What is stored of `provider_data`: the secret in a column of its own, which nothing shows. */
const providerColumns = (type: unknown, given: ProviderData): Record<string, unknown> => {
  if (type !== 'whatsapp') return { provider_data: {} };
  if (!given) return {};
  const { phone_number_id, app_secret } = given;
  return { provider_data: { phone_number_id }, ...(app_secret === undefined ? {} : { app_secret }) };
};

const mustHaveNumber = (type: unknown, data: { phone_number_id?: string } | undefined): void => {
  if (type === 'whatsapp' && !data?.phone_number_id)
    throw new PlatformError('INVALID_PROVIDER_DATA', 'provider_data: whatsapp needs a phone_number_id.');
};

/** A line account exists only once its messenger sends here, and nothing here takes that up yet. */
const mustBeServed = (type: unknown): void => {
  if (type === 'line')
    throw new PlatformError('SERVICE_UNAVAILABLE', 'This installation cannot register with line yet.');
};

const routes = Object.values(
  crud(conversationAccounts, {
    async prepare({ context, identity }, { provider_data, ...body }) {
      mustHaveNumber(body.type, provider_data);
      await mustBeFlow(context.db, identity.customer_id, body.message_flow_id);
      mustBeServed(body.type);
      return { ...body, ...providerColumns(body.type, provider_data) };
    },
    async revise({ context, identity }, { provider_data, ...body }, row) {
      const given = provider_data as ProviderData;
      if (given) mustHaveNumber(row['type'], given);
      await mustBeFlow(context.db, identity.customer_id, body['message_flow_id']);
      return { ...body, ...providerColumns(row['type'], given) };
    },
  }),
).map(route => ({ ...route, operation_id: route.operation_id.replace(/_account$/, '_conversation_account') }));

const [COLLECTION, HYPHENATED] = [conversationAccounts.path, '/conversation-accounts'];

export const conversationAccountRoutes: Route[] = [...routes, ...spelledAlso(routes, COLLECTION, HYPHENATED)];
