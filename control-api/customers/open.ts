import { randomBytes } from 'node:crypto';
import { newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { hashPassword, newDirectHash, newSipLabel, newWebhookSecret } from '../auth/secrets.ts';
import { openAccount } from '../billing/ledger.ts';
import type { Transaction } from '../db.ts';
import { PERMISSION } from '../http/permit.ts';
import { tellCustomer } from '../resources/customer.ts';
import { createOutboundConfig } from '../resources/outbound-config.ts';
import type { Row } from '../resources/resource.ts';

/** The admin every customer begins with. */
export interface DefaultAdmin {
  id: string;
  customer_id: string;
  username: string;
}

const openAdmin = async (trx: Transaction, customer_id: string, username: string): Promise<DefaultAdmin> => {
  const admin = { id: newId(), customer_id, username };
  await trx('agents').insert({
    ...admin,
    // Nobody knows it: the owner chooses a password by a link that only the owner reads.
    password: await hashPassword(randomBytes(48).toString('base64url')),
    name: 'default admin',
    permission: PERMISSION.admin,
    direct_hash: newDirectHash(),
    tm_create: timestamp(),
  });
  return admin;
};

/**
 * Opens a customer with what each begins with: its row, its SIP label, its billing account, an empty outbound config and its default admin, whose user name is the
 * e-mail address (accounts-and-plumbing 8.1). Rejects with a duplicate (`isDuplicate`) when the address is a live
 * customer's or a live agent's already; the database decides, so a lost race ends the same way.
 */
export const openCustomer = async (
  trx: Transaction,
  values: { email: string } & Record<string, unknown>,
  request_id: string,
): Promise<{ customer: Row; admin: DefaultAdmin }> => {
  const given = { webhook_secret: newWebhookSecret(), sip_label: newSipLabel() };
  const [customer] = await trx<Row>('customers')
    .insert({ id: newId(), billing_account_id: newId(), ...given, tm_create: timestamp(), ...values })
    .returning('*');
  if (!customer) throw new Error('PostgreSQL returned no row of an insert.');
  await openAccount(trx, { id: String(customer['billing_account_id']), customer_id: customer.id });
  await createOutboundConfig(trx, customer.id);
  const admin = await openAdmin(trx, customer.id, values.email);
  await tellCustomer(trx, 'customer_created', customer, request_id);
  return { customer, admin };
};
