import type { HttpAnswer, HttpRequest } from '#flow/action';
import type { GuardedFetch } from '#outbound/guarded-fetch';
import { signatureOf } from '#outbound/signature';
import type { Directory } from './directory.ts';

/**
 * HTTP on behalf of a flow (webhook_send, fetch): guarded against private targets and signed with the customer's webhook
 * secret when there is one (voice-and-flows 6.6).
 */
export const flowHttp =
  (fetch: GuardedFetch, directory: Directory) =>
  async ({
    customer_id,
    uri,
    method,
    data_type,
    data,
    timeout_ms,
    keep_bytes,
    signal,
  }: HttpRequest): Promise<HttpAnswer> => {
    const customer = await directory.customer(customer_id);
    const headers: Record<string, string> = data_type ? { 'content-type': data_type } : {};
    if (customer?.webhook_secret) headers['x-webhook-signature'] = signatureOf(data, customer.webhook_secret);
    const request = { uri, method, headers, body: data, timeout_ms, signal };
    if (keep_bytes === undefined) return { status: await fetch.send(request), body: '' };
    const { status, body } = await fetch.exchange(request, keep_bytes);
    return { status, body: body.toString('utf8') };
  };
