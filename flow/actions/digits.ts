import type { Variables } from '../variables.ts';

/** Where the keys a party pressed are kept (voice-and-flows 5.4). */
export const DIGITS = 'svc.call.digits';

/** More keys than this are not kept; nobody types them. */
const MAX_STORED = 1024;

/** During talk and play a key replaces what was stored, so that a following digits_receive sees it (6.3). */
export const overwriteDigit = (variables: Variables, digit: string): void => variables.set(DIGITS, digit);

/** During digits_receive keys add up. */
export const appendDigit = (variables: Variables, digit: string): void => {
  const stored = variables.get(DIGITS);
  if (stored.length < MAX_STORED) variables.set(DIGITS, stored + digit);
};
