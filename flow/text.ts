const UNSTORABLE = /\0|\p{Surrogate}/u;
const UNSTORABLE_ALL = /\0|\p{Surrogate}/gu;

/** True when Postgres can keep the text in a jsonb column: no NUL and no half of a surrogate pair. */
export const isStorable = (text: string): boolean => !UNSTORABLE.test(text);

/** The text with NULs removed and lone surrogates replaced, so that it can be kept in jsonb. */
export const storable = (text: string): string =>
  isStorable(text) ? text : text.replace(UNSTORABLE_ALL, found => (found === '\0' ? '' : '\uFFFD'));

/** Size of a text in UTF-8 bytes. */
export const byteLength = (text: string): number => Buffer.byteLength(text, 'utf8');
