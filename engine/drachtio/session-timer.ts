import { randomInt } from 'node:crypto';
import { header, headerOf, setHeader, type SipHeader, type SipRequest, type SipResponse } from '../sip/message.ts';
import { parseParams } from '../sip/grammar.ts';
import { LONGEST_MS } from '../sip/timers.ts';
import type { Objection } from './glare.ts';
import type { Core, Dialog } from './records.ts';

/** Session timers (RFC 4028) as drachtio-server runs them: for its applications, which need not know of them. */

type Side = 'uac' | 'uas';

/** Session-Expires of a message; undefined when absent or unreadable. */
function expiresOf(message: { headers: SipHeader[] }): { seconds: number; refresher: Side | undefined } | undefined {
  const [digits = '', ...rest] = (headerOf(message, 'session-expires') ?? '').split(';');
  if (!/^\s*\d{1,10}\s*$/.test(digits)) return undefined;
  const refresher = parseParams(rest.join(';')).get('refresher')?.toLowerCase();
  return { seconds: Number(digits), refresher: refresher === 'uac' || refresher === 'uas' ? refresher : undefined };
}

const carriesSession = (method: string): boolean => method === 'INVITE' || method === 'UPDATE';

/** A refresh that asks for less than we grant gets 422 (RFC 4028 9). The first INVITE gets what we grant instead. */
export function tooShort(core: Core, request: SipRequest): Objection | undefined {
  const asked = carriesSession(request.method) ? expiresOf(request) : undefined;
  if (!asked || asked.seconds >= core.minSessionSeconds) return undefined;
  return { status: 422, headers: { 'Min-SE': String(core.minSessionSeconds) } };
}

/**
 * Writes into a 2xx of ours what was agreed: what the application says, else what the caller asked for, if he says who
 * refreshes; in a refresh the roles stay.
 */
export function grant(core: Core, dialog: Dialog, request: SipRequest, response: SipResponse): void {
  if (!carriesSession(request.method) || response.status >= 300) return;
  const asked = expiresOf(request);
  const theirs: Side = dialog.session?.ours ? 'uas' : 'uac';
  const known = asked?.refresher ?? (dialog.session && theirs);
  const given = expiresOf(response) ?? (asked && known && { seconds: asked.seconds, refresher: known });
  if (!given) return;
  const refresher = given.refresher ?? 'uac';
  const seconds = Math.max(given.seconds, core.minSessionSeconds);
  setHeader(response, 'Session-Expires', `${seconds};refresher=${refresher}`);
  // RFC 4028 9: a caller who is to refresh has to know how.
  if (refresher === 'uac' && !/\btimer\b/i.test(headerOf(response, 'require') ?? ''))
    response.headers.push(header('Require', 'timer'));
}

/** A 2xx went out (`as` uas) or came in (`as` uac): the session begins anew, as it says, or as it was agreed before. */
export function prolong(core: Core, dialog: Dialog, method: string, response: SipResponse, as: Side): void {
  if (!carriesSession(method) || dialog.method !== 'INVITE' || dialog.state !== 'confirmed') return;
  const said = expiresOf(response);
  if (said) dialog.session = { seconds: Math.max(said.seconds, 1), ours: (said.refresher ?? 'uac') === as };
  if (dialog.session) arm(core, dialog, dialog.session);
}

/** A session that ends when nobody refreshes it (RFC 4028). */
export interface Session {
  seconds: number;
  /** We refresh it, not the other side. */
  ours: boolean;
}

function arm(core: Core, dialog: Dialog, { seconds, ours }: Session): void {
  const ms = Math.min(seconds * 1000, LONGEST_MS);
  dialog.alarms.clear('refresh');
  dialog.alarms.set('session', ms, () => core.sessions.expire(dialog));
  // Half the time, and not for all calls in the same second.
  if (ours)
    dialog.alarms.set('refresh', ms / 2 - randomInt(0, Math.ceil(ms / 20)), () => core.sessions.refresh(dialog));
}

/** What an INVITE or UPDATE of ours says about the session that runs (RFC 4028 7.4). */
export function sessionHeaders(core: Core, dialog: Dialog, method: string): SipHeader[] {
  if (!dialog.session || !carriesSession(method)) return [];
  const { seconds, ours } = dialog.session;
  return [
    header('Session-Expires', `${seconds};refresher=${ours ? 'uac' : 'uas'}`),
    header('Min-SE', String(core.minSessionSeconds)),
    header('Supported', 'timer'),
  ];
}
