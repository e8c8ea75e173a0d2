import { randomInt } from 'node:crypto';
import { cseqOf, type HeaderInput, type SipRequest } from '../sip/message.ts';
import type { Dialog, Incoming, Outgoing } from './records.ts';
import { contactOf } from './target.ts';

/** Why a request inside a dialog cannot be taken now. */
export interface Objection {
  status: number;
  headers?: HeaderInput;
}

/** RFC 3261 14.2 and RFC 3311 5.2: try again, after a time that both sides do not choose alike. */
const comeAgain = (): Objection => ({ status: 500, headers: { 'Retry-After': String(randomInt(0, 11)) } });

const PENDING: Objection = { status: 491 };

/** Says whether a request fits into its dialog at this moment; undefined when it does. Takes note of its CSeq. */
export function objectionTo(dialog: Dialog, request: SipRequest): Objection | undefined {
  const seq = cseqOf(request)?.number ?? 0;
  // RFC 3261 12.2.2: a lower CSeq is out of order.
  if (seq < dialog.remoteSeq) return { status: 500 };
  dialog.remoteSeq = seq;
  if (request.method === 'INVITE') return objectionToInvite(dialog, request);
  return request.method === 'UPDATE' ? objectionToUpdate(dialog, request) : undefined;
}

/** RFC 3261 14.2: one INVITE at a time, and one offer. */
function objectionToInvite(dialog: Dialog, request: SipRequest): Objection | undefined {
  if (contactOf(request) === undefined) return { status: 400 };
  if (isOpen(dialog.invite) || hasOpenOffer(dialog.update)) return PENDING;
  const theirs = openOf(dialog);
  return theirs.some(one => one.request.method === 'INVITE' || waitsForAnswer(one)) ? comeAgain() : undefined;
}

/** RFC 3311 5.2: one UPDATE at a time, and one offer, whichever request it travels in. */
function objectionToUpdate(dialog: Dialog, request: SipRequest): Objection | undefined {
  const theirs = openOf(dialog);
  if (theirs.some(one => one.request.method === 'UPDATE')) return comeAgain();
  if (request.body.length === 0) return undefined;
  if (hasOpenOffer(dialog.invite) || hasOpenOffer(dialog.update)) return PENDING;
  return theirs.some(waitsForAnswer) ? comeAgain() : undefined;
}

/** Whether an INVITE or UPDATE is under way in it, from either side. */
export const isBusy = (dialog: Dialog): boolean =>
  isOpen(dialog.invite) || isOpen(dialog.update) || openOf(dialog).length > 0;

const isOpen = (one: Outgoing | undefined): one is Outgoing => one !== undefined && one.final === undefined;

const hasOpenOffer = (one: Outgoing | undefined): boolean =>
  isOpen(one) && !one.agreed && one.transaction.request.body.length > 0;

/** INVITEs and UPDATEs of the other side that the application has not finally answered. */
const openOf = (dialog: Dialog): Incoming[] =>
  [...(dialog.app?.incoming ?? [])].filter(one => one.dialog === dialog && OFFERING.has(one.request.method));

const OFFERING = new Set(['INVITE', 'UPDATE']);

const waitsForAnswer = (one: Incoming): boolean => !one.agreed && one.request.body.length > 0;
