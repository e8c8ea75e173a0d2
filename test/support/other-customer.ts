import { strict as assert } from 'node:assert';
import type { ApiAnswer, Stack } from './stack.ts';
import type { PhoneAccount } from './office.ts';

let opened = 0;

/** A customer beside the one of the first start, with an accesskey of its own: `initial`, as signup leaves it. */
export interface OtherCustomer {
  id: string;
  /** Calls the API as this customer. */
  api(method: string, path: string, body?: unknown): Promise<ApiAnswer>;
  /** Makes an extension and tells what a phone needs to be it. */
  extension(extension: string): Promise<PhoneAccount & { id: string }>;
}

/** Signs a customer up. */
export const otherCustomer = async (stack: Stack): Promise<OtherCustomer> => {
  const response = await fetch(`${stack.baseUrl}/auth/signup`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ email: `other${(opened += 1)}@example.org`, accepted_tos: true }),
  });
  const { customer, accesskey } = (await response.json()) as { customer: { id: string }; accesskey: { token: string } };
  const api: OtherCustomer['api'] = (method, path, body) =>
    stack.api(method, `${path}?accesskey=${accesskey.token}`, body, {});
  return {
    id: customer.id,
    api,
    async extension(extension) {
      const made = await api('POST', '/extensions', { extension, password: 'secret' });
      assert.equal(made.status, 200, JSON.stringify(made.body));
      return made.body as PhoneAccount & { id: string };
    },
  };
};
