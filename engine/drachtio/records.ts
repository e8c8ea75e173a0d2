import type { Hop, Source } from '../sip/hop.ts';
import type { SipLog } from '../sip/log.ts';
import type { SipRequest, SipResponse } from '../sip/message.ts';
import type { SipStack } from '../sip/stack.ts';
import type { Alarms } from '../sip/timers.ts';
import type { SentRequest } from '../sip/sent-request.ts';
import type { ServerTransaction } from '../sip/transactions/server.ts';
import type { App, Apps } from './app.ts';
import type { Crowd } from './crowd.ts';
import type { Dialogs } from './dialogs.ts';
import type { Loops } from './proxy/loops.ts';
import type { ProxiedDialogs } from './proxy/proxied-dialogs.ts';
import type { RegisteredContacts } from './registered.ts';
import type { Session } from './session-timer.ts';

/** A dialog or the beginning of one (RFC 3261 12). `local` and `remote` are From/To values with their tags. */
export interface Dialog {
  /** `<Call-ID>;from-tag=<tag of whoever began it>`; fixed for life. */
  id: string;
  /** Of the request that began it. */
  method: string;
  state: 'early' | 'confirmed' | 'ended';
  /** Undefined once its application has gone. */
  app: App | undefined;
  callId: string;
  localTag: string;
  remoteTag: string | undefined;
  local: string;
  remote: string;
  localSeq: number;
  remoteSeq: number;
  routes: string[];
  /** Remote target URI. */
  target: string;
  /** Where to send in spite of the target: a NAT's outside address, or the open stream. */
  peer: Hop | undefined;
  /** Our Contact value. */
  contact: string;
  /** The request that began it, when it came from the network. */
  begunBy: Incoming | undefined;
  /** The latest INVITE we sent in it. */
  invite: Outgoing | undefined;
  /** The latest UPDATE we sent in it. */
  update: Outgoing | undefined;
  /** What has to wait: a BYE for the ACK (RFC 3261 15), a NOTIFY for the answer to SUBSCRIBE. Run when the wait is over. */
  held: (() => void)[];
  /** What we said of our media last; empty before we said anything. */
  description: Buffer;
  /** Undefined while nobody has to give signs of life. */
  session: Session | undefined;
  /** Its own clocks: the end of a subscription, the refresh of a session. */
  alarms: Alarms;
}

/** A request from the network in the hands of an application. */
export interface Incoming {
  id: string;
  transaction: ServerTransaction;
  request: SipRequest;
  source: Source;
  app: App;
  dialog: Dialog | undefined;
  /** The application has answered something. */
  touched: boolean;
  /** Its first ACK has been announced. */
  acknowledged: boolean;
  /** Its offer has been answered by a response that cannot get lost. */
  agreed: boolean;
  /** RSeq of the latest reliable provisional response; 0 before the first (RFC 3262 3). */
  rseq: number;
  /** Reliable provisional response that no PRACK has come for. */
  unconfirmed: SipResponse | undefined;
  /** Answers of the application that have to wait for that PRACK. */
  waiting: (() => void)[];
}

/** A request of an application, or of the server itself, on its way. */
export interface Outgoing {
  id: string;
  transaction: SentRequest;
  /** Undefined for a request of the server itself. */
  app: App | undefined;
  /** Hears the responses to a request of the server itself. */
  own: ((response: SipResponse) => void) | undefined;
  method: string;
  seq: number;
  dialog: Dialog | undefined;
  /** It began its dialog. */
  initial: boolean;
  final: number | undefined;
  cancelled: boolean;
  /** To tag of the 2xx. */
  tag: string | undefined;
  /** Its offer has been answered by a response that cannot get lost. */
  agreed: boolean;
  /** Latest RSeq heard from each fork, by To tag (RFC 3262 4). */
  rseqs: Map<string, number>;
  /** Forks whose reliable response waits for the PRACK of the application. */
  unconfirmed: { rseq: number; fork: Dialog }[];
  ack: { request: SipRequest; hop: Hop } | undefined;
}

/** Everything the parts of the server share. */
export interface Core {
  stack: SipStack;
  apps: Apps;
  dialogs: Dialogs;
  registered: RegisteredContacts;
  proxied: ProxiedDialogs;
  loops: Loops;
  incoming: Map<string, Incoming>;
  crowd: Crowd;
  /** Takes care of requests that go to applications we connect to. */
  director: { directs(asked: ServerTransaction): boolean };
  outgoing: Map<string, Outgoing>;
  alarms: Alarms;
  /** What session timers do when they ring. */
  sessions: { refresh(dialog: Dialog): void; expire(dialog: Dialog): void };
  /** The shortest session we grant (Min-SE). */
  minSessionSeconds: number;
  orphanGraceMs: number;
  log: SipLog;
}
