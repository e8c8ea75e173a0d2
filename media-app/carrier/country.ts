import { parsePhoneNumberFromString } from 'libphonenumber-js/max';

/** Where a number lies by the numbering plans of the world. */
export interface NumberPlace {
  /** ISO 3166 alpha-2, lower case; `undefined` where the plan does not tell (satellites, free numbers of the world). */
  country: string | undefined;
  /** `+` and the country calling code: what routes are looked for by. */
  calling_code: string;
}

/** The place of an E.164 number; countries that share a calling code are told by the number. `undefined` for no number. */
export const placeOf = (number: string): NumberPlace | undefined => {
  if (!/^\+[1-9]\d{6,14}$/.test(number)) return undefined;
  const parsed = parsePhoneNumberFromString(number);
  return parsed && { country: parsed.country?.toLowerCase(), calling_code: `+${parsed.countryCallingCode}` };
};
