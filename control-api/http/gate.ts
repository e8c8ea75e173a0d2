import { PlatformError } from '#contract/errors';
import { fromDate, toMillis, type Timestamp } from '#contract/time';
import type { Account, CustomerStatus } from './authenticate.ts';

/** How long a frozen account can come back, in milliseconds (platform-api, Limits: 30 days). */
export const GRACE_MS = 30 * 24 * 3600 * 1000;

/** When a frozen account is deleted, by when its deletion was scheduled. */
export const deletionEffectiveAt = (scheduled: Timestamp): Timestamp =>
  fromDate(new Date(toMillis(scheduled) + GRACE_MS));

const frozen = ({ tm_deletion_scheduled: scheduled }: Account): PlatformError =>
  new PlatformError('ACCOUNT_FROZEN', 'The account is frozen and will be deleted. It can still be recovered.', [
    {
      ...(scheduled && {
        deletion_scheduled_at: scheduled,
        deletion_effective_at: deletionEffectiveAt(scheduled),
      }),
      recovery_endpoint: 'DELETE /auth/unregister',
    },
  ]);

const expired = (): PlatformError =>
  new PlatformError('ACCOUNT_EXPIRED', 'The e-mail address was never verified.', [
    { recovery_endpoint: 'POST /auth/email-verify-resend' },
  ]);

const deleted = (): PlatformError => new PlatformError('ACCOUNT_DELETED', 'The account is deleted.');

type Refusal = ((account: Account) => PlatformError) | undefined;

/** Where an account is asked for its status, and what is refused there (accounts-and-plumbing 5). */
const GATES = {
  /** The versioned API. */
  versioned: { initial: undefined, active: undefined, frozen, expired, deleted },
  /** Login, and the two operations of /auth/unregister. */
  login: { initial: undefined, active: undefined, frozen: undefined, expired, deleted },
} as const satisfies Record<string, Record<CustomerStatus, Refusal>>;
export type Gate = keyof typeof GATES;

/**
 * Throws what the gate answers to an account of this status. One whose status could not be looked up passes: the
 * versioned API fails open (5); login asks for a status first, and fails closed.
 */
export const pass = (gate: Gate, account: Account): void => {
  const refuse: Refusal = GATES[gate][account.status];
  if (refuse) throw refuse(account);
};
