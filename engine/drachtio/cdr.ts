import { serialize, type SipMessage } from '../sip/message.ts';
import { timeOfDay } from './announce.ts';
import type { Core } from './records.ts';

/** Who has sent the message that is told. */
export type Origin = 'network' | 'application';
/** What we are to the one who sent the INVITE, or took it. */
export type Role = 'uac' | 'uas' | 'proxy-uac' | 'proxy-uas';
/** Why a call is over, in drachtio's words. */
export type Ending =
  | 'call-rejected'
  | 'call-canceled'
  | 'normal-release'
  | 'session-expired'
  | 'system-initiated-termination'
  | 'system-error-initiated-termination';

/**
 * Call records (drachtio's `cdr:attempt`, `cdr:start` and `cdr:stop`): each goes to one application that has registered
 * that word, in turn, with the message that began, answered or ended a call. Nobody has: nothing is done.
 */
export const callAttempted = (core: Core, origin: Origin, invite: SipMessage): void =>
  tell(core, 'cdr:attempt', origin, '', invite);

/** A call was answered; `role`: which side of it we are. */
const callStarted = (core: Core, origin: Origin, role: Role, answer: SipMessage): void =>
  tell(core, 'cdr:start', origin, `|${role}`, answer);

/** A call was refused or has ended, by this message. */
export const callStopped = (core: Core, origin: Origin, ending: Ending, message: SipMessage): void =>
  tell(core, 'cdr:stop', origin, `|${ending}`, message);

/** A final answer to the INVITE of a call: it has begun, or never will. */
export function callAnswered(core: Core, origin: Origin, role: Role, answer: SipMessage & { status: number }): void {
  if (answer.status < 300) callStarted(core, origin, role, answer);
  else callStopped(core, origin, answer.status === 487 ? 'call-canceled' : 'call-rejected', answer);
}

function tell(core: Core, record: string, origin: Origin, more: string, message: SipMessage): void {
  const app = core.apps.next(record);
  app?.send(`${record}|${origin}|${timeOfDay()}${more}\r\n${serialize(message).toString()}`);
}
