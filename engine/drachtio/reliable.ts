import { randomInt } from 'node:crypto';
import { hopOfSource } from '../sip/hop.ts';
import { header, headerOf, headersOf, type SipMessage, type SipRequest, type SipResponse } from '../sip/message.ts';
import { companion } from '../sip/transactions/client.ts';
import { tagOf } from '../sip/uri.ts';
import { announceOwn } from './announce.ts';
import type { Core, Dialog, Incoming, Outgoing } from './records.ts';

/** Provisional responses that cannot get lost (RFC 3262), on both sides. */

const lists = (message: SipMessage, name: string): boolean =>
  headersOf(message, name).join().toLowerCase().includes('100rel');

const isProvisional = ({ status }: SipResponse): boolean => status > 100 && status < 200;

/** Whether this answer of the application goes out reliably: it says so, or the caller insists (RFC 3262 3). */
export const isReliable = ({ request }: Incoming, given: SipResponse): boolean =>
  request.method === 'INVITE' && isProvisional(given) && (lists(given, 'require') || lists(request, 'require'));

/** Whether the caller knows reliable provisional responses (RFC 3262 3). */
export const takesReliable = (request: SipRequest): boolean => lists(request, 'supported') || lists(request, 'require');

/** One reliable response at a time, and no 2xx before its PRACK (RFC 3262 3). */
export const hasToWait = (incoming: Incoming, given: SipResponse): boolean =>
  incoming.unconfirmed !== undefined && (isReliable(incoming, given) || (given.status >= 200 && given.status < 300));

/** Numbers a response before it is sent. The first number is any, the following ones count on (RFC 3262 3). */
export function number(incoming: Incoming, response: SipResponse): void {
  incoming.rseq = incoming.rseq === 0 ? randomInt(1, 2 ** 31) : incoming.rseq + 1;
  response.headers.push(header('RSeq', String(incoming.rseq)));
  if (!lists(response, 'require')) response.headers.push(header('Require', '100rel'));
}

/** Repeats a response, whatever the transport, until its PRACK; `givenUp` when none comes in 64*T1 (RFC 3262 3). */
export function insist(core: Core, incoming: Incoming, response: SipResponse, givenUp: () => void): void {
  incoming.unconfirmed = response;
  const repeat = (after: number): void =>
    core.alarms.set(`rel ${incoming.id}`, after, () => {
      incoming.transaction.respond(response);
      repeat(after * 2);
    });
  repeat(core.stack.timers.T1);
  core.alarms.set(`prack ${incoming.id}`, 64 * core.stack.timers.T1, () => {
    givenUp();
    announceGone(incoming);
  });
}

/** The caller is gone. The application hears it as a CANCEL of the server's own: size 0, no address, a Reason. */
function announceGone({ app, id, request, source, dialog }: Incoming): void {
  const why = { Reason: 'SIP;cause=504;text="PRACK timeout"' };
  const cancel = companion('CANCEL', request, headerOf(request, 'to') ?? '', why);
  announceOwn(app, id, dialog?.id ?? '', cancel, hopOfSource(source));
}

/** No PRACK is waited for any more; what waited for it goes on. */
export function relent(core: Core, incoming: Incoming): void {
  core.alarms.clear(`rel ${incoming.id}`, `prack ${incoming.id}`);
  incoming.unconfirmed = undefined;
  for (const run of incoming.waiting.splice(0)) run();
}

/** The INVITE whose reliable response a PRACK confirms, by its RAck; undefined when it fits none (RFC 3262 3). */
export function confirmedBy(dialog: Dialog, prack: SipRequest): Incoming | undefined {
  const [rseq, seq, method] = headerOf(prack, 'rack')?.split(/\s+/) ?? [];
  const open = [...(dialog.app?.incoming ?? [])].find(one => one.dialog === dialog && one.unconfirmed !== undefined);
  const [number, name] = headerOf(open?.request ?? prack, 'cseq')?.split(/\s+/) ?? [];
  const same = Number(rseq) === open?.rseq && Number(seq) === Number(number) && method === name;
  return same ? open : undefined;
}

/**
 * A reliable response of the callee that the application must not see: it has seen it, or one before it is missing
 * (RFC 3262 4). The callee repeats it until its PRACK.
 */
export function isOutOfTurn(outgoing: Outgoing, response: SipResponse): boolean {
  if (outgoing.method !== 'INVITE' || !isProvisional(response) || !lists(response, 'require')) return false;
  const rseq = Number(headerOf(response, 'rseq'));
  const tag = tagOf(headerOf(response, 'to')) ?? '';
  const last = outgoing.rseqs.get(tag);
  if (!Number.isInteger(rseq) || rseq <= 0 || (last !== undefined && rseq !== last + 1)) return true;
  // Forks are counted, so that a flood of tags fills nothing.
  if (last === undefined && outgoing.rseqs.size >= MOST_FORKS) return true;
  outgoing.rseqs.set(tag, rseq);
  return false;
}

const MOST_FORKS = 50;

/** Remembers which fork a reliable response came from, for the PRACK that the application will send. */
export function expectPrack(outgoing: Outgoing, response: SipResponse): void {
  if (!outgoing.dialog || outgoing.method !== 'INVITE') return;
  if (!isProvisional(response) || !lists(response, 'require') || outgoing.unconfirmed.length >= MOST_FORKS) return;
  outgoing.unconfirmed.push({ rseq: Number(headerOf(response, 'rseq')), fork: { ...outgoing.dialog } });
}

/** The fork a PRACK of the application is for; the dialog itself when there is but one. */
export function forkOf(dialog: Dialog, prack: SipRequest): Dialog {
  const waiting = dialog.invite?.unconfirmed ?? [];
  const at = waiting.findIndex(one => one.rseq === parseInt(headerOf(prack, 'rack') ?? ''));
  return (at >= 0 && waiting.splice(at, 1)[0]?.fork) || dialog;
}
