import type { Context } from '../http/context.ts';

interface Gone {
  customer_id: string;
  extension_id: string;
  request_id: string;
}

/** The row is gone, so phones can register no more; that they are forgotten at once needs no request to wait. */
export const forgetPhones = ({ commands, log }: Context, { extension_id, ...from }: Gone): void => {
  commands
    .tell('extension.unregister', { ...from, body: { extension_id } })
    .catch((error: unknown) => log.warn({ err: error, extension_id }, 'phones not forgotten'));
};
