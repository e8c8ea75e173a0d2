import { strict as assert } from 'node:assert';
import type { PlanType } from '#contract/billing';
import { newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import {
  hashPassword,
  hashOfToken,
  newAccesskeyToken,
  newDirectHash,
  newSipLabel,
} from '../../control-api/auth/secrets.ts';
import { openAccount } from '../../control-api/billing/ledger.ts';
import type { TestApi } from './api.ts';

/** One password for all, hashed once: bcrypt is slow on purpose. */
const PASSWORD = 'a password of a test';
const HASH = hashPassword(PASSWORD);

/** Adds a bare customer that may do everything; resolves with its id. */
export const addCustomer = async (
  api: TestApi,
  {
    id = newId(),
    plan_type = 'unlimited',
    ...values
  }: { id?: string; plan_type?: PlanType } & Record<string, unknown> = {},
): Promise<string> => {
  const row = { id, email: `${id}@example.com`, status: 'active', sip_label: `${newSipLabel()}${id.slice(0, 6)}` };
  const account = { id: newId(), customer_id: id, plan_type };
  const own = { ...row, billing_account_id: account.id, tm_create: timestamp(), ...values };
  await api.database.db.transaction(async trx => {
    await trx('customers').insert(own);
    await openAccount(trx, account);
  });
  return id;
};

/** Adds an agent of a customer, with a password that `tokenOf` takes. */
export const addAgent = async (
  api: TestApi,
  customer_id: string,
  permission: number,
  values: Record<string, unknown> = {},
): Promise<{ id: string; username: string; password: string }> => {
  const id = newId();
  const row = { id, customer_id, username: `${id}@example.com`, permission, direct_hash: newDirectHash() };
  await api.database.db('agents').insert({ ...row, password: await HASH, tm_create: timestamp(), ...values });
  return { id, username: row.username, password: PASSWORD };
};

/** Adds an accesskey of a customer; resolves with its token. */
export const addAccesskey = async (api: TestApi, customer_id: string): Promise<string> => {
  const token = newAccesskeyToken();
  const secret = { token_hash: hashOfToken(token), token_prefix: token.slice(0, 11) };
  const row = { id: newId(), customer_id, name: '', detail: '', ...secret, tm_create: timestamp() };
  await api.database.db('accesskeys').insert({ ...row, tm_expire: '2999-01-01 00:00:00.000000' });
  return token;
};

/** Logs in. */
export const tokenOf = async (api: TestApi, username: string, password: string): Promise<string> => {
  const answer = await api.request('POST', '/auth/login', { username, password }, { credentials: {} });
  assert.equal(answer.status, 200, 'login refused');
  return String(answer.body['token']);
};
