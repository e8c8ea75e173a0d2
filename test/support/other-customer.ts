import { strict as assert } from 'node:assert';
import type { ApiAnswer, Stack } from './stack.ts';
import type { PhoneAccount } from './office.ts';

let opened = 0;

/** A customer beside the one of the first start, with an accesskey of its own: `initial`, as signup leaves it. */
export interface OtherCustomer {
  id: string;
  /** Calls the API as this customer. */
  api<T = unknown>(method: string, path: string, body?: unknown): Promise<ApiAnswer<T>>;
  /** Its owner asks for the end of the account: frozen for 30 days, or deleted at once. */
  close(immediate: boolean): Promise<void>;
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
  const api = <T = unknown>(method: string, path: string, body?: unknown): Promise<ApiAnswer<T>> =>
    stack.api<T>(method, `${path}?accesskey=${accesskey.token}`, body, {});
  return {
    id: customer.id,
    api,
    async close(immediate) {
      const asked = await fetch(`${stack.baseUrl}/auth/unregister?accesskey=${accesskey.token}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ confirmation_phrase: 'DELETE', immediate }),
      });
      assert.equal(asked.status, 200, await asked.text());
    },
    async extension(extension) {
      const made = await api<PhoneAccount & { id: string }>('POST', '/extensions', { extension, password: 'secret' });
      assert.equal(made.status, 200, JSON.stringify(made.body));
      return made.body;
    },
  };
};
