import { z } from 'zod';

/** How many requests a second, and how many at once after a pause. */
export interface Rate {
  per_second: number;
  burst: number;
}

const FORM = /^(\d{1,7}(?:\.\d{1,3})?)\/(\d{1,7})$/;

const parse = (text: string): Rate | undefined => {
  const [, per_second, burst] = FORM.exec(text) ?? [];
  const rate = { per_second: Number(per_second), burst: Number(burst) };
  return rate.per_second > 0 && rate.burst > 0 ? rate : undefined;
};

/** A setting such as `16.7/33`. `off`, or a rate or burst of 0, means no limit. */
export const rateSetting = (fallback: string) =>
  z
    .string()
    .refine(text => text === 'off' || FORM.test(text), 'must be requests a second and burst, such as 10/20, or off')
    .default(fallback)
    .transform(parse);
