import { z } from 'zod';
import { NEVER, fromDate } from '#contract/time';
import { hashOfToken, newAccesskeyToken, prefixOfToken } from '../auth/secrets.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { crud, scopeOf } from './crud.ts';
import { detailField, nameField } from './fields.ts';
import { defineResource, render } from './resource.ts';
import { Store } from './store.ts';

const YEAR_S = 31_536_000;
const DAY_S = 86_400;
/** A hundred years: beyond it the expiry would leave the range of a timestamp some day. */
const LONGEST_S = 100 * YEAR_S;

/** Long-lived keys (accounts-and-plumbing 10). The token is shown once and stored as a hash. */
export const accesskeys = defineResource({
  name: 'accesskey',
  title: 'Accesskey',
  path: '/accesskeys',
  table: 'accesskeys',
  not_found: 'ACCESSKEY_NOT_FOUND',
  read: 'admin',
  write: 'admin',
  unset: NEVER,
  told: false,
  fields: {
    name: nameField,
    detail: detailField,
    expire: z.number().int().min(DAY_S).max(LONGEST_S).default(YEAR_S).describe('Seconds from now.'),
  },
  changeable: ['name', 'detail'],
  request_only: ['expire'],
  shown: {
    token_prefix: z.string().describe('The first 11 characters of the token.'),
    tm_expire: z.string().describe('The key is refused from then on.'),
  },
});

/** A new key with its token. */
export const createdAccesskey = accesskeys.schema
  .extend({ token: z.string().describe('The secret; shown this once.') })
  .meta({ id: 'AccesskeyCreated' });

/** What is stored of a new key, beside its name. */
export const accesskeyColumns = (token: string, expireS: number): Record<string, unknown> => ({
  token_hash: hashOfToken(token),
  token_prefix: prefixOfToken(token),
  tm_expire: fromDate(new Date(Date.now() + expireS * 1000)),
});

const create = defineRoute({
  method: 'post',
  path: '/accesskeys',
  operation_id: 'create_accesskey',
  summary: 'Create one accesskey; the answer holds its token',
  tag: 'Accesskey',
  permission: 'admin',
  body: accesskeys.create,
  response: createdAccesskey,
  async handle(request) {
    const { expire, name, detail } = request.body;
    const token = newAccesskeyToken();
    const store = new Store(accesskeys, request.context.db);
    const row = await store.insert(scopeOf(request), { name, detail, ...accesskeyColumns(token, expire) });
    return { ...render(accesskeys, row), token };
  },
});

const { list, get, update, remove } = crud(accesskeys);
export const accesskeyRoutes: Route[] = [list, create, get, update, remove];
