import { z } from 'zod';
import { parseTimestamp, toRfc3339, type Timestamp } from '#contract/time';

/** The largest page of most lists, and the usual one. */
const MOST_ROWS = 100;

/** What a list route takes (accounts-and-plumbing 1.5): at most `most` rows, `usual` when it is not said. A size out of range is silently 100. */
export const pageQueryUpTo = (most: number, usual = MOST_ROWS) =>
  z.object({
    page_size: z
      .string()
      .regex(/^[+-]?\d{1,15}$/, 'must be an integer')
      .optional()
      .transform(text => (text === undefined ? usual : sizeOf(text, most)))
      .describe(`How many to return, at most ${most}.`)
      .meta({ type: 'integer', default: usual, maximum: most }),
    page_token: z
      .string()
      .refine(text => text === '' || parseTimestamp(text) !== undefined, 'must be a next_page_token')
      .optional()
      .transform(text => (text ? parseTimestamp(text) : undefined))
      .describe('The next_page_token of the page before.'),
  });
export const pageQuery = pageQueryUpTo(MOST_ROWS);
export type Page = z.output<typeof pageQuery>;

/** A page of a list, and the filters that narrow it. */
export type ListQuery = Page & Record<string, unknown>;

/** What a list takes that can be narrowed (1.6). */
export const listQuery = (filters: z.ZodRawShape = {}, usual = MOST_ROWS) =>
  pageQueryUpTo(MOST_ROWS, usual).extend(filters) as z.ZodObject & z.ZodType<ListQuery>;

const sizeOf = (text: string, most: number): number => {
  const size = Number(text);
  return size <= 0 || size > most ? MOST_ROWS : size;
};

/** The schema of one page of a list. */
export const pageOf = (item: z.ZodType) =>
  z.object({
    result: z.array(item),
    next_page_token: z.string().describe('Pass it as page_token; empty on the last page.'),
  });

/** Cuts rows fetched with one to spare into a page: a token is given only when another row exists. */
export const pageFrom = <T extends { tm_create: Timestamp }>(
  rows: T[],
  page: Page,
): { result: T[]; next_page_token: string } => {
  const result = rows.slice(0, page.page_size);
  const last = result.at(-1);
  return { result, next_page_token: last && rows.length > page.page_size ? toRfc3339(last.tm_create) : '' };
};
