import { z } from 'zod';

/** A list narrowed to the records that name another one; ids are compared as they are stored. */
export const byId = (what: string) =>
  z
    .uuid()
    .overwrite(text => text.toLowerCase())
    .optional()
    .describe(what);

/** A list narrowed to the records with one value of several. */
export const byWord = <const W extends readonly string[]>(words: W, what: string) =>
  z.enum(words).optional().describe(what);

/** A list narrowed to the records with exactly this text. */
export const byText = (what: string) => z.string().max(1024).optional().describe(what);

/** A switch of a list. */
export const bySwitch = (what: string) =>
  z
    .enum(['true', 'false'])
    .transform(word => word === 'true')
    .optional()
    .describe(what);
