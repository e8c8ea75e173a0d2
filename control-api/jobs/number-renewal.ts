import { fromDate } from '#contract/time';
import type { Context } from '../http/context.ts';
import { renewNumbers } from '../resources/number-renewal.ts';

const DAY_MS = 24 * 3_600_000;
/** One o'clock at night, UTC (accounts-and-plumbing 31). */
const AT_MS = 3_600_000;
const PERIOD_MS = 28 * DAY_MS;

/** Renews normal numbers every night that were last renewed more than 28 days ago (accounts-and-plumbing 31). */
export const startNumberRenewal = (context: Context): { stop(): void } => {
  let timer: NodeJS.Timeout | undefined;
  const renew = (): void => {
    sleep();
    renewNumbers(context, fromDate(new Date(Date.now() - PERIOD_MS)))
      .then(renewed => renewed.length > 0 && context.log.info({ renewed: renewed.length }, 'numbers renewed'))
      // The next night tries again; nothing depends on it meanwhile.
      .catch((error: unknown) => context.log.warn({ err: error }, 'numbers not renewed'));
  };
  const sleep = (): void => {
    timer = setTimeout(renew, DAY_MS - ((Date.now() - AT_MS) % DAY_MS)).unref();
  };
  sleep();
  return { stop: () => clearTimeout(timer) };
};
