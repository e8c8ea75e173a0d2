import { z } from 'zod';
import { shownContactSchema } from '#contract/registration';
import { newDirectHash } from '../auth/secrets.ts';
import { forgetPhones } from '../customers/forget-phones.ts';
import type { Queryable } from '../db.ts';
import type { Context } from '../http/context.ts';
import type { Route } from '../http/route.ts';
import { crud } from './crud.ts';
import { regenerateHash } from './direct-hash.ts';
import { detailField, nameField } from './fields.ts';
import { byText } from './filters.ts';
import { defineResource } from './resource.ts';

/** SIP accounts of phones (accounts-and-plumbing 18). */
export const extensions = defineResource({
  name: 'extension',
  title: 'Extension',
  path: '/extensions',
  table: 'extensions',
  not_found: 'EXTENSION_NOT_FOUND',
  limited: 'extensions',
  read: 'manager',
  write: 'manager',
  unset: '',
  told: true,
  fields: {
    extension: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be 1 to 64 letters, digits, dots, dashes or underscores')
      .describe('What phones register as and are dialled by.'),
    password: z
      .string()
      .regex(/^\P{C}{1,128}$/u, 'must be 1 to 128 printable characters')
      .describe('The SIP password.'),
    name: nameField,
    detail: detailField,
  },
  changeable: ['name', 'detail', 'password'],
  shown: {
    username: z.string().describe('The SIP user name.'),
    domain_name: z.string().describe('The SIP domain; phones use it as it is.'),
    direct_hash: z.string().describe('Forms the direct SIP URI.'),
    registered: z.boolean().describe('Whether a phone of it is registered now.'),
    contacts: z.array(shownContactSchema).describe('Its registered phones, oldest first; three at most.'),
    tm_last_seen: z.string().describe('When a phone of it registered or answered last.'),
  },
  secrets: ['password'],
  filters: { extension: byText('Only the one with this extension number.') },
});

/** What the platform sets on a new extension of a customer (18.1). */
export const extensionColumns = async (
  db: Queryable,
  sipDomain: string,
  customerId: string,
  extension: string,
): Promise<{ username: string; domain_name: string; direct_hash: string }> => {
  const customer = await db<{ id: string; sip_label: string }>('customers').where('id', customerId).first('sip_label');
  const domain_name = `${customer?.sip_label ?? ''}.reg.${sipDomain}`;
  return { username: extension, domain_name, direct_hash: newDirectHash() };
};

type Shown = Record<string, unknown>;

/** Records of extensions with what is registered of them now, which is no part of their rows. */
export const withRegistrations = async ({ registrations }: Context, records: Shown[]): Promise<Shown[]> => {
  const found = await registrations.of(records.map(({ id }) => String(id)));
  return records.map((record, at) => ({ ...record, ...found[at] }));
};

const isPage = (answer: object): answer is { result: Shown[] } => 'result' in answer;

/** The route, whose answer says what is registered now too. */
const registeredToo = (route: Route): Route => ({
  ...route,
  async handle(request) {
    const answer = (await route.handle(request)) as Shown;
    if (isPage(answer)) return { ...answer, result: await withRegistrations(request.context, answer.result) };
    return (await withRegistrations(request.context, [answer]))[0];
  },
});

const routes = crud(extensions, {
  async prepare({ context, identity }, body) {
    const set = await extensionColumns(context.db, context.sipDomain, identity.customer_id, body.extension);
    return { ...body, ...set };
  },
  async removed({ context, request_id }, extension_id, customer_id) {
    forgetPhones(context, { customer_id, extension_id, request_id });
  },
});

export const extensionRoutes: Route[] = [...Object.values(routes), ...regenerateHash(extensions)].map(registeredToo);
