import { canPay, type Operation } from '#contract/billing';
import { PlatformError } from '#contract/errors';
import type { Services } from '../services.ts';

type Paying = Pick<Services, 'directory' | 'settings'>;

/** Whether a customer can pay what is about to begin (accounts-and-plumbing 14.7). */
export const isPaid = async (services: Paying, customerId: string, operation: Operation): Promise<boolean> => {
  const funds = await services.directory.funds(customerId);
  return !!funds && canPay(funds, operation, services.settings.BILLING_RATES);
};

/** Why something is not begun for want of money. */
export const tooLittle = (what: string): PlatformError =>
  new PlatformError('INSUFFICIENT_BALANCE', `The balance of the billing account is too low for ${what}.`);

/** Rejects INSUFFICIENT_BALANCE unless a customer can pay; `what` ends the sentence that says so. */
export const mustPay = async (
  services: Paying,
  customerId: string,
  operation: Operation,
  what: string,
): Promise<void> => {
  if (!(await isPaid(services, customerId, operation))) throw tooLittle(what);
};
