import type { Address } from '#contract/address';
import { PlatformError } from '#contract/errors';
import type { CallSession } from '../call/session.ts';
import { type DialogName, parseReferTo } from '../sip/replaces.ts';
import type { SipRequest, SipResponse } from '../sip/srf.ts';
import { isAddress, parseSipUri, type SipUri } from '../sip/uri.ts';
import { findElsewhere } from './elsewhere.ts';
import { joinConversations, joinElsewhere } from './join.ts';
import { callOfDialog } from './replace.ts';
import { startTransfer, type TransferSession } from './session.ts';

/** A REFER that is refused, with the response that says why. */
class Refusal extends Error {
  readonly status: number;

  constructor(status: number, reason: string) {
    super(reason);
    this.status = status;
  }
}

const PHRASES: Record<number, string> = {
  403: 'Forbidden',
  404: 'Not Found',
  408: 'Request Timeout',
  480: 'Temporarily Unavailable',
  486: 'Busy Here',
  500: 'Server Internal Error',
  600: 'Busy Everywhere',
  603: 'Decline',
};

/**
 * A phone hands its conversation on by REFER (RFC 3515, RFC 5589): blind to whom it could call, who rings while it may stay
 * on the line, or attended, joining those it talks with in two calls. Answers 202 and tells how it goes by NOTIFY, or
 * refuses and says why.
 */
export const takeReferral = async (call: CallSession, request: SipRequest, response: SipResponse): Promise<void> => {
  const news = new News(call, request);
  try {
    const target = parseReferTo(request.get('refer-to') ?? '');
    if (!target) throw new Refusal(400, 'Exactly One SIP URI In Refer-To');
    requirePhone(call);
    if (target.replaces) await attended(call, target.replaces, news, response);
    else await blind(call, await destinationOf(call, target.uri, request.uri), news, response);
  } catch (error) {
    const { status, message } = refusalOf(error);
    call.log.info({ status, error: String(error) }, 'REFER refused');
    if (!response.finalResponseSent) response.send(status, message);
  }
};

const refusalOf = (error: unknown): { status: number; message: string } => {
  if (error instanceof Refusal) return error;
  if (!(error instanceof PlatformError)) return { status: 500, message: 'Server Internal Error' };
  if (error.reason === 'CALL_STATE_INVALID') return { status: 403, message: 'No Conversation To Transfer' };
  if (error.reason === 'INVALID_ARGUMENT') return { status: 480, message: 'Temporarily Unavailable' };
  // What the account may not do, or cannot pay for, is no passing trouble of ours.
  const forbidden = error.httpStatus === 403 || error.httpStatus === 402;
  return { status: forbidden ? 403 : 503, message: 'Cannot Transfer' };
};

/** Only phones of extensions hand calls on: a stranger at the other end must not dial at our customer's expense. */
const requirePhone = ({ call }: CallSession): void => {
  const party = call.direction === 'incoming' ? call.source : call.destination;
  if (party.type !== 'extension') throw new Refusal(403, 'Only Extensions Transfer');
};

const blind = async (call: CallSession, to: Address, news: News, response: SipResponse): Promise<void> => {
  const transfer = await startTransfer(call.services, call, {
    type: 'blind',
    transferee_addresses: [to],
    returnable: true,
  });
  news.accept(response);
  follow(transfer, news);
};

const follow = (transfer: TransferSession, news: News): void => {
  const rings = () => news.tell('180 Ringing');
  const over = (completed: boolean): void => news.tell(completed ? '200 OK' : outcomeOf(transfer), true);
  if (transfer.ringing) rings();
  if (transfer.completed !== undefined) return over(transfer.completed);
  transfer.once('ringing', rings);
  transfer.once('ended', over);
};

/** What the phones that were rung said: the first refusal, or that they did not answer in time. */
const outcomeOf = ({ legs }: TransferSession): string => {
  const refusals = legs.map(({ leg }) => leg.sipStatus).filter(status => status > 0 && status !== 487);
  const status = refusals[0] ?? (legs.some(({ released }) => released === 'dial_timeout') ? 408 : 480);
  return `${status} ${PHRASES[status] ?? 'Not Connected'}`;
};

const attended = async (call: CallSession, replaces: DialogName, news: News, response: SipResponse): Promise<void> => {
  const second = callOfDialog(call.services, replaces);
  if (second) await joinHere(call, second);
  else await joinAcross(call, replaces);
  news.accept(response);
  news.tell('200 OK', true);
  await Promise.all([call, ...(second ? [second] : [])].map(one => one.hangup('normal_clearing')));
};

const noDialog = () => new Refusal(481, 'No Such Dialog To Replace');

const joinHere = async (call: CallSession, second: CallSession): Promise<void> => {
  if (second.call.customer_id !== call.call.customer_id || second === call) throw noDialog();
  await joinConversations(call, second);
};

const joinAcross = async (call: CallSession, replaces: DialogName): Promise<void> => {
  const second = await findElsewhere(call.services, replaces, call.call.customer_id);
  if (!second) throw noDialog();
  if ('status' in second || second.vacancy.kind !== 'replaces') throw new Refusal(403, 'No Conversation To Transfer');
  await joinElsewhere(call, second);
};

/** What the phone would reach by calling the URI: numbers and the extensions of its customer. */
const destinationOf = async (call: CallSession, text: string, ourUri: string): Promise<Address> => {
  const uri = parseSipUri(text);
  if (!uri?.user) throw new Refusal(400, 'No SIP URI In Refer-To');
  if (!isHere(call, uri, ourUri)) throw new Refusal(404, 'No Such Domain Here');
  const to = (type: 'tel' | 'extension', target: string): Address => ({
    ...{ type, target, target_name: type === 'tel' ? '' : target },
    ...{ name: '', detail: '' },
  });
  if (/^(tel:)?\+/.test(uri.user)) return to('tel', uri.user.replace(/^tel:/, ''));
  const key = uri.user.replace(/^extension:/, '');
  const extension = await call.services.directory.extensionByKey(call.call.customer_id, key);
  if (!extension) throw new Refusal(404, 'Not Found');
  return to('extension', extension.extension);
};

/** Our domain, or the address the phone knows us by: the one it sent the REFER to. */
const isHere = ({ services }: CallSession, { host, port }: SipUri, ourUri: string): boolean => {
  const domain = services.settings.SIP_DOMAIN.toLowerCase();
  if (host === domain || host.endsWith(`.reg.${domain}`)) return true;
  const ours = parseSipUri(ourUri);
  return isAddress(host) && host === ours?.host && (port === undefined || port === (ours.port ?? 5060));
};

/** What a phone is told of its REFER: 202, then the responses of whom it named, in NOTIFYs (RFC 3515 section 2.4). */
class News {
  readonly #call: CallSession;
  readonly #event: string;
  /** RFC 4488: the phone asked not to be told. */
  readonly #unwanted: boolean;

  constructor(call: CallSession, request: SipRequest) {
    const sequence = /^\s*(\d+)/.exec(request.get('cseq') ?? '')?.[1];
    this.#call = call;
    // The id is a must from a dialog's second REFER on and allowed with its first (RFC 3515 section 2.4.6).
    this.#event = sequence ? `refer;id=${sequence}` : 'refer';
    this.#unwanted = request.get('refer-sub')?.trim().toLowerCase().startsWith('false') ?? false;
  }

  accept(response: SipResponse): void {
    response.send(202, this.#unwanted ? { headers: { 'Refer-Sub': 'false' } } : {});
    this.tell('100 Trying');
  }

  tell(status_line: string, over = false): void {
    if (!this.#unwanted) void this.#call.leg.notify({ event: this.#event, status_line, over });
  }
}
