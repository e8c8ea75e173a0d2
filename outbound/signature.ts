import { createHmac } from 'node:crypto';

/** The value of `X-Webhook-Signature`: HMAC-SHA256 of the raw body (accounts-and-plumbing 27). */
export const signatureOf = (body: string, secret: string): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
