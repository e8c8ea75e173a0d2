import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { fromDate, timestamp, type Timestamp } from '#contract/time';
import type { Context } from '../http/context.ts';
import type { Queryable, Transaction } from '../db.ts';
import { passwordLetter, verifyLetter, welcomeLetter } from '../mail/letters.ts';
import { post } from '../mail/outbox.ts';
import { hashOfToken } from './secrets.ts';

/** What a link in a letter is good for, and how long (accounts-and-plumbing 8.2, 8.6). */
const PURPOSES = {
  verify: { path: '/auth/email-verify', lifetime_ms: 24 * 3_600_000 },
  password: { path: '/auth/password-reset', lifetime_ms: 3_600_000 },
} as const;
type Purpose = keyof typeof PURPOSES;

/** The secret of a link: 32 random bytes in hex (4.4). */
export const linkToken = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be 64 lowercase hex digits')
  .describe('The token of the link.');

interface LinkRow {
  customer_id: string;
  agent_id: string | null;
  tm_expire: Timestamp;
  tm_use: Timestamp | null;
}

interface Holder {
  customer_id: string;
  agent_id: string | null;
}

const newLink = async (trx: Transaction, publicUrl: string, purpose: Purpose, holder: Holder): Promise<string> => {
  const token = randomBytes(32).toString('hex');
  const { path, lifetime_ms } = PURPOSES[purpose];
  const tm_expire = fromDate(new Date(Date.now() + lifetime_ms));
  const row = { hash: hashOfToken(token), purpose, ...holder, tm_create: timestamp(), tm_expire };
  await trx('link_tokens').insert(row);
  return `${publicUrl}${path}?token=${token}`;
};

/** Posts the letter that asks a customer to confirm the address; `verify_again` when somebody asked for it. */
export const postVerification = async (
  trx: Transaction,
  { publicUrl }: Pick<Context, 'publicUrl'>,
  customer: { id: string; email: string },
  kind: 'verify' | 'verify_again',
): Promise<void> => {
  const to = { customer_id: customer.id, recipient: customer.email };
  const link = await newLink(trx, publicUrl, 'verify', { customer_id: customer.id, agent_id: null });
  await post(trx, to, verifyLetter(link, kind));
};

/** Posts the letter with which an agent chooses a password: the first one, or another. */
export const postPasswordLink = async (
  trx: Transaction,
  { publicUrl }: Pick<Context, 'publicUrl'>,
  agent: { id: string; customer_id: string; username: string },
  kind: 'welcome' | 'password',
): Promise<void> => {
  const { id: agent_id, customer_id, username: recipient } = agent;
  const link = await newLink(trx, publicUrl, 'password', { customer_id, agent_id });
  await post(trx, { customer_id, recipient }, kind === 'welcome' ? welcomeLetter(link) : passwordLetter(link));
};

/** Uses a link up: whose it is, or undefined when it is unknown, expired or was used. Of two at once one gets it. */
export const consumeLink = async (trx: Transaction, purpose: Purpose, token: string): Promise<LinkRow | undefined> => {
  const now = timestamp();
  const [row] = await trx<LinkRow & { hash: string; purpose: string }>('link_tokens')
    .where({ hash: hashOfToken(token), purpose })
    .whereNull('tm_use')
    .where('tm_expire', '>', now)
    .update({ tm_use: now })
    .returning('*');
  return row;
};

/** True while a link is known, not used and not expired. */
export const isLinkGood = async (db: Queryable, purpose: Purpose, token: string): Promise<boolean> => {
  const rows = db('link_tokens')
    .where({ hash: hashOfToken(token), purpose })
    .whereNull('tm_use');
  return (await rows.where('tm_expire', '>', timestamp()).first<{ hash: string } | undefined>('hash')) !== undefined;
};
