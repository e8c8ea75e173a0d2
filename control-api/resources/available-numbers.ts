import { z } from 'zod';
import { COUNTRIES } from '#contract/countries';
import { PlatformError } from '#contract/errors';
import { randomVirtualNumber } from '../auth/secrets.ts';
import type { Db } from '../db.ts';
import { pageQuery } from '../http/pagination.ts';
import { defineRoute, type Route } from '../http/route.ts';

const schema = z
  .object({
    number: z.string().describe('E.164.'),
    country: z.string().describe('899 for virtual numbers.'),
    region: z.string(),
    postal_code: z.string(),
    features: z.array(z.enum(['emergency', 'fax', 'mms', 'sms', 'voice'])),
  })
  .meta({ id: 'AvailableNumber', description: 'A number that could be had.' });

/** Random virtual numbers that nobody has now; listing reserves none (accounts-and-plumbing 15.4). */
const freeVirtualNumbers = async (db: Db, count: number): Promise<string[]> => {
  const drawn = [...new Set(Array.from({ length: count }, randomVirtualNumber))];
  const rows = await db<{ number: string }>('numbers').whereIn('number', drawn).whereNull('tm_delete').select('number');
  const taken = new Set(rows.map(row => row.number));
  return drawn.filter(number => !taken.has(number));
};

const list = defineRoute({
  method: 'get',
  path: '/available_numbers',
  operation_id: 'list_available_numbers',
  summary: 'List numbers that could be had',
  tag: 'Number',
  permission: 'manager',
  query: z.object({
    page_size: pageQuery.shape.page_size,
    country_code: z.string().max(64).optional().describe('ISO 3166 alpha-2; required unless type is virtual.'),
    type: z.string().max(16).optional().describe('virtual or normal.'),
  }),
  response: z.object({ result: z.array(schema) }),
  reasons: ['INVALID_ARGUMENT', 'SERVICE_UNAVAILABLE'],
  async handle({ context, query }) {
    if (query.type === 'virtual') {
      const free = await freeVirtualNumbers(context.db, query.page_size);
      const facts = { country: '899', region: '', postal_code: '' };
      return { result: free.map(number => ({ number, ...facts, features: ['voice' as const] })) };
    }
    const country = query.country_code?.toLowerCase() ?? '';
    if (!COUNTRIES.has(country))
      throw new PlatformError('INVALID_ARGUMENT', 'country_code must be an ISO 3166 alpha-2 code.');
    return { result: await context.carrier.offers(country, query.page_size) };
  },
});

export const availableNumberRoutes: Route[] = [list];
