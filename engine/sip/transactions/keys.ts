import { createHash } from 'node:crypto';
import { cseqOf, headerOf, type HeaderInput, type SipMessage, type SipRequest } from '../message.ts';
import { tagOf } from '../uri.ts';
import { topVia } from '../via.ts';

/** By what messages find their transaction. */

/**
 * RFC 3261 17.2.3: branch and sent-by; without the magic cookie, or with nothing behind it, what RFC 2543 compared. The
 * Call-ID is looked at in any case: a branch that somebody else has thought up as well is no repetition. Joined, because a
 * template's text would be made of pieces of the message, and keep the whole of it, whatever its length.
 */
export function serverKey(request: SipRequest, method = request.method): string {
  const via = topVia(request);
  const branch = via?.params.get('branch') ?? '';
  const sentBy = `${via?.host ?? ''}:${via?.port ?? 0}`;
  const callId = headerOf(request, 'call-id') ?? '';
  if (branch.length > COOKIE.length && branch.startsWith(COOKIE)) return [branch, sentBy, callId, method].join(' ');
  const tag = tagOf(headerOf(request, 'from'));
  return [callId, tag, cseqOf(request)?.number, sentBy, branch, method].join(' ');
}

const COOKIE = 'z9hG4bK';

/** To with a tag, which is the same for every repetition although nothing is remembered (RFC 3261 8.2.7). */
export function tagged(request: SipRequest): HeaderInput {
  const to = headerOf(request, 'to');
  if (to === undefined || tagOf(to) !== undefined) return {};
  const tag = createHash('sha256').update(serverKey(request)).digest('hex').slice(0, 16);
  return { To: `${to};tag=${tag}` };
}

/** What a 2xx to INVITE and its ACK have in common. */
export function ackKey(message: SipMessage): string {
  const [from, to] = [tagOf(headerOf(message, 'from')), tagOf(headerOf(message, 'to'))];
  return [headerOf(message, 'call-id'), from, to, cseqOf(message)?.number].join(' ');
}
