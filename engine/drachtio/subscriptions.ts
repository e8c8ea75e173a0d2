import { headerOf, type SipRequest, type SipResponse } from '../sip/message.ts';
import type { Core, Dialog } from './records.ts';

const DEFAULT_SECONDS = 3600;

/** RFC 6665 4.4.1: the notifier says when a subscription is over. */
export const endsSubscription = (dialog: Dialog, request: SipRequest): boolean =>
  dialog.method === 'SUBSCRIBE' &&
  request.method === 'NOTIFY' &&
  (headerOf(request, 'subscription-state') ?? '').toLowerCase().startsWith('terminated');

/**
 * A SUBSCRIBE was accepted: its dialog lasts until that runs out, and then as long as a last NOTIFY may take (Timer N,
 * RFC 6665 4.1.2). Nobody is told: both sides know the time as well.
 */
export function renew(core: Core, dialog: Dialog, request: SipRequest, response: SipResponse): void {
  if (dialog.method !== 'SUBSCRIBE' || request.method !== 'SUBSCRIBE' || response.status >= 300) return;
  const seconds = Number(headerOf(response, 'expires') ?? headerOf(request, 'expires') ?? DEFAULT_SECONDS);
  const lasting = (Number.isFinite(seconds) ? seconds : DEFAULT_SECONDS) * 1000 + 64 * core.stack.timers.T1;
  dialog.alarms.set('expiry', lasting, () => core.dialogs.remove(dialog));
}

/** The other side knows the subscription no more, or is gone (RFC 6665 4.1.2.2 and 4.2.2). */
export const losesSubscription = (dialog: Dialog, method: string, status: number): boolean =>
  dialog.method === 'SUBSCRIBE' &&
  (method === 'NOTIFY' || method === 'SUBSCRIBE') &&
  (status === 481 || status === 408);
