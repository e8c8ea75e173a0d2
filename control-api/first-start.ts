import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { EMPTY_ID, newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { validateActions } from '#flow/validate';
import {
  hashPassword,
  newAccesskeyToken,
  newDirectHash,
  newPassword,
  newSipLabel,
  newWebhookSecret,
  randomVirtualNumber,
} from './auth/secrets.ts';
import { openAccount } from './billing/ledger.ts';
import type { Db, Transaction } from './db.ts';
import type { Welcome } from '#contract/welcome';
import { PERMISSION } from './http/permit.ts';
import { accesskeyColumns } from './resources/accesskeys.ts';
import { createOutboundConfig } from './resources/outbound-config.ts';
import { extensionColumns } from './resources/extensions.ts';
import { welcomeActions } from './welcome-flow.ts';

export interface FirstStart {
  db: Db;
  dataDir: string;
  sipDomain: string;
  /** Where clients reach the API, without the version prefix. */
  publicUrl: string;
}

/** Any fixed number: the advisory lock of "somebody looks whether this is the first start". */
const FIRST_START_LOCK = 7_120_603;
const HUNDRED_YEARS_S = 3_153_600_000;

/** The operator's own account is refused nothing: nobody sells an installation to itself. */
const createCustomer = async (trx: Transaction, email: string): Promise<string> => {
  const id = newId();
  const account = { id: newId(), customer_id: id, plan_type: 'unlimited' } as const;
  await trx('customers').insert({
    id,
    billing_account_id: account.id,
    name: 'Home',
    detail: 'Made by the first start.',
    email,
    email_verified: true,
    status: 'active',
    webhook_secret: newWebhookSecret(),
    sip_label: newSipLabel(),
    home: true,
    tm_create: timestamp(),
  });
  await openAccount(trx, account);
  return id;
};

const createAgent = async (trx: Transaction, customer_id: string, username: string): Promise<string> => {
  const password = newPassword();
  await trx('agents').insert({
    id: newId(),
    customer_id,
    username,
    password: await hashPassword(password),
    name: 'Administrator',
    permission: PERMISSION.all,
    direct_hash: newDirectHash(),
    tm_create: timestamp(),
  });
  return password;
};

const createAccesskey = async (trx: Transaction, customer_id: string): Promise<string> => {
  const token = newAccesskeyToken();
  const times = { tm_create: timestamp() };
  const columns = accesskeyColumns(token, HUNDRED_YEARS_S);
  await trx('accesskeys').insert({ id: newId(), customer_id, name: 'Home', detail: '', ...columns, ...times });
  return token;
};

const createExtension = async (
  { trx, sipDomain }: { trx: Transaction; sipDomain: string },
  customer_id: string,
  extension: string,
): Promise<Welcome['extensions'][number]> => {
  const set = await extensionColumns(trx, sipDomain, customer_id, extension);
  const row = { id: newId(), extension, password: newPassword(), ...set };
  await trx('extensions').insert({
    ...row,
    customer_id,
    name: `Phone ${extension}`,
    detail: '',
    tm_create: timestamp(),
  });
  const { username, domain_name } = set;
  return { id: row.id, extension, password: row.password, username, domain_name };
};

const createFlow = async (trx: Transaction, customer_id: string): Promise<string> => {
  const id = newId();
  const actions = JSON.stringify(validateActions(welcomeActions()));
  const detail = 'What callers of the first number hear.';
  const direct_hash = newDirectHash();
  await trx('flows').insert({ id, customer_id, name: 'Welcome', detail, actions, direct_hash, tm_create: timestamp() });
  return id;
};

const createNumber = async (trx: Transaction, customer_id: string, call_flow_id: string): Promise<string> => {
  const number = randomVirtualNumber();
  const facts = { number, type: 'virtual', status: 'active', call_flow_id, message_flow_id: EMPTY_ID };
  await trx('numbers').insert({
    id: newId(),
    customer_id,
    ...facts,
    name: 'Welcome',
    detail: '',
    tm_create: timestamp(),
  });
  return number;
};

const createHome = async (trx: Transaction, given: FirstStart): Promise<Welcome> => {
  const username = `admin@${given.sipDomain}`;
  const customer_id = await createCustomer(trx, username);
  await createOutboundConfig(trx, customer_id);
  const with_ = { trx, sipDomain: given.sipDomain };
  const extensions = [
    await createExtension(with_, customer_id, '1001'),
    await createExtension(with_, customer_id, '1002'),
  ];
  const flow_id = await createFlow(trx, customer_id);
  const password = await createAgent(trx, customer_id, username);
  const accesskey = await createAccesskey(trx, customer_id);
  const number = await createNumber(trx, customer_id, flow_id);
  const base_url = `${given.publicUrl}/v1.0`;
  return { base_url, username, password, accesskey, extensions, number, customer_id, flow_id };
};

/** Writes a file only its owner reads, completely on disk before this resolves. */
const writePrivate = async (path: string, text: string): Promise<void> => {
  await rm(path, { force: true });
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
};

/**
 * On the very first start, when there is no customer, makes what a newcomer needs and writes it to
 * `DATA_DIR/welcome.json` (mode 0600). The file is on disk before the rows are committed and gets its name after, so
 * a crash never leaves passwords that nobody knows: a file left under its temporary name is taken up when the rows it
 * tells of exist. Returns the facts, or undefined when this is not the first start.
 */
export const firstStart = async (given: FirstStart): Promise<Welcome | undefined> => {
  const path = join(given.dataDir, 'welcome.json');
  const temporary = `${path}.new`;
  await mkdir(given.dataDir, { recursive: true });
  const welcome = await given.db.transaction(async trx => {
    await trx.raw('select pg_advisory_xact_lock(?)', [FIRST_START_LOCK]);
    if (await trx('customers').first('id')) return undefined;
    const made = await createHome(trx, given);
    await writePrivate(temporary, `${JSON.stringify(made, null, 2)}\n`);
    return made;
  });
  await rename(temporary, path).catch((error: unknown) => {
    // On every later start there is nothing to take up.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || welcome) throw error;
  });
  return welcome;
};
