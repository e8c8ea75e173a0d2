/** The UUID that means "null or unset reference" (platform-api, general convention 2). */
export const EMPTY_ID = '00000000-0000-0000-0000-000000000000';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A fresh random UUID. */
export const newId = (): string => crypto.randomUUID();

/** True when the text is a UUID of any version, the empty one included. */
export const isId = (text: string): boolean => UUID.test(text);

/** True when an id is present and is not the empty UUID. */
export const isSet = (id: string | null | undefined): id is string =>
  id !== null && id !== undefined && id !== '' && id !== EMPTY_ID;
