import { fromDate } from '#contract/time';
import type { Context } from '../http/context.ts';
import { renewNumbers } from '../resources/number-renewal.ts';
import { startNightly } from './nightly.ts';

const DAY_MS = 24 * 3_600_000;
/** One o'clock at night, UTC (accounts-and-plumbing 31). */
const RENEWAL_HOUR = 1;
const PERIOD_MS = 28 * DAY_MS;

/** Renews normal numbers every night that were last renewed more than 28 days ago (accounts-and-plumbing 31). */
export const startNumberRenewal = (context: Context): { stop(): void } =>
  startNightly(RENEWAL_HOUR, at => {
    renewNumbers(context, fromDate(new Date(at.getTime() - PERIOD_MS)))
      .then(renewed => renewed.length > 0 && context.log.info({ renewed: renewed.length }, 'numbers renewed'))
      // The next night tries again; nothing depends on it meanwhile.
      .catch((error: unknown) => context.log.warn({ err: error }, 'numbers not renewed'));
  });
