import type { Contact } from '#contract/registration';
import { isAdmitted } from '../directory.ts';
import type { Log } from '#process/log';
import type { Authenticator, Caller } from './authenticate.ts';
import { BadBinding, bindingsOf, pathOf, type Binding } from './bindings.ts';
import { bindingOf, withRoom, type Contacts, type Edit } from './contacts.ts';
import type { SipRequest, SipResponse } from './srf.ts';

const EXPIRES_MIN_S = 60;
const EXPIRES_MAX_S = 7200;
/** How often a phone that speaks outbound should let itself be heard (RFC 5626 section 6); silent streams are not closed sooner. */
const FLOW_TIMER_S = 120;

/**
 * Registrations of phones (RFC 3261 section 10.3, accounts-and-plumbing 19.2): digest, at most three contacts an
 * extension, each with its own expiry. Path (RFC 3327) and outbound (RFC 5626) are understood, and what was registered
 * over a connection goes with it.
 */
export class Registrar {
  readonly #authenticator: Authenticator;
  readonly #contacts: Contacts;
  readonly #log: Log;

  constructor(authenticator: Authenticator, contacts: Contacts, log: Log) {
    this.#authenticator = authenticator;
    this.#contacts = contacts;
    this.#log = log;
  }

  /** Answers one REGISTER that arrived through `sipServer`. */
  async register(request: SipRequest, response: SipResponse, sipServer: string): Promise<void> {
    // Only the SIP server itself has no address: it tells that a connection is gone.
    if (request.source_address === '') return this.#connectionLost(request, sipServer);
    const caller = await this.#authenticator.authenticate(request, response);
    if (!caller) return;
    try {
      await this.#bind(caller, request, response, sipServer);
    } catch (error) {
      if (error instanceof BadBinding) response.send(400, error.message);
      else if (error instanceof OlderRequest) response.send(500, 'Older Than The Registration');
      else throw error;
    }
  }

  async #bind({ customer, extension }: Caller, request: SipRequest, response: SipResponse, sipServer: string) {
    const bindings = bindingsOf(request);
    const adds = bindings === '*' ? [] : bindings.filter(one => one.expires > 0);
    if (adds.length && !isAdmitted(customer.status)) return response.send(403, 'Account Not Active');
    if (adds.some(one => one.expires < EXPIRES_MIN_S))
      return response.send(423, { headers: { 'Min-Expires': String(EXPIRES_MIN_S) } });
    const outbound = adds.some(one => one.flow);
    if (outbound && !firstHopKnowsOutbound(request)) return response.send(439);
    const contacts = adds.map(binding => contactOf(customer.id, binding, request, sipServer));
    const now = await this.#contacts.change(extension.id, live => editOf(live, bindings, contacts, request));
    this.#log.info(
      { extension: extension.extension, contacts: now.length, source: request.source_address },
      'registered contacts changed',
    );
    response.send(200, { headers: { ...answerHeaders(now), ...extensionHeaders(request, outbound) } });
  }

  /** A phone whose connection is gone is not rung any more: nothing leads to it (RFC 5626 section 5.3). */
  async #connectionLost(request: SipRequest, sipServer: string): Promise<void> {
    const via = VIA.exec(request.get('via') ?? '')?.groups;
    if (!via) return;
    const { transport = '', host = '', port = '' } = via;
    const source = { transport: transport.toLowerCase(), address: host.replace(/^\[|\]$/g, ''), port: Number(port) };
    await this.#contacts.removeLost({ source, sip_server: sipServer });
  }
}

/** A REGISTER that was overtaken by a later one of the same phone (RFC 3261 section 10.3 step 7). */
class OlderRequest extends Error {}

const orderOf = (request: SipRequest): { call_id: string; cseq: number } => ({
  call_id: request.get('call-id') ?? '',
  cseq: Number.parseInt(request.get('cseq') ?? '0', 10),
});

const contactOf = (
  customer_id: string,
  { expires, ...binding }: Binding,
  request: SipRequest,
  sip_server: string,
): Contact => ({
  customer_id,
  ...binding,
  path: pathOf(request),
  source: { address: request.source_address, port: Number(request.source_port), transport: transportOf(request) },
  sip_server,
  user_agent: request.get('user-agent')?.slice(0, 200) ?? '',
  ...orderOf(request),
  registered_at: Date.now(),
  expires_at: Date.now() + Math.min(expires, EXPIRES_MAX_S) * 1000,
});

/** What a REGISTER asks for, all or nothing (RFC 3261 section 10.3 step 7). */
const editOf = (live: Contact[], bindings: Binding[] | '*', save: Contact[], request: SipRequest): Edit => {
  const removed = new Set(bindings === '*' ? live.map(bindingOf) : bindings.filter(one => !one.expires).map(bindingOf));
  const drop = live.filter(one => removed.has(bindingOf(one)));
  const { call_id, cseq } = orderOf(request);
  const touched = new Set([...save, ...drop].map(bindingOf));
  if (live.some(one => touched.has(bindingOf(one)) && one.call_id === call_id && one.cseq >= cseq))
    throw new OlderRequest();
  const reasoned = drop.map(contact => ({ contact, reason: 'unregistered' as const }));
  return { ...withRoom(live, save, reasoned), heard: true };
};

/** By its Via, because SIP servers name the protocol under a WebSocket: `tcp` for WS, `tls` for WSS. */
const transportOf = (request: SipRequest): string => {
  const via = /^SIP\s*\/\s*2\.0\s*\/\s*(WSS?)\s/i.exec(request.get('via') ?? '')?.[1]?.toLowerCase();
  return via ?? request.protocol;
};

/** `SIP/2.0/WSS 192.0.2.1:50000;…` */
const VIA = /^SIP\/2\.0\/(?<transport>[A-Z]+) (?<host>\[[^\]]+\]|[^:;\s]+):(?<port>\d+)/;

/** Behind an edge proxy the first hop is that one, and says so in its Path (RFC 5626 section 6). */
const firstHopKnowsOutbound = (request: SipRequest): boolean => {
  const hops = (request.get('via') ?? '').split(/,\s*(?=SIP\s*\/)/i).length;
  return hops === 1 || /;\s*ob\b/i.test(pathOf(request).at(-1) ?? '');
};

const answerHeaders = (contacts: Contact[]): Record<string, string> => {
  const list = contacts.map(
    one =>
      `<${one.uri}>;expires=${Math.max(0, Math.round((one.expires_at - Date.now()) / 1000))}${one.q ? `;q=${one.q}` : ''}${flowParameters(one)}`,
  );
  return list.length ? { Contact: list.join(', ') } : {};
};

/** What we understood beyond the plain registration (RFC 3327 section 5.3, RFC 5626 section 6). */
const extensionHeaders = (request: SipRequest, outbound: boolean): Record<string, string> => {
  const headers: Record<string, string> = { Supported: 'path, outbound' };
  const path = request.get('path');
  if (path) headers['Path'] = path;
  return outbound ? { ...headers, Require: 'outbound', 'Flow-Timer': String(FLOW_TIMER_S) } : headers;
};

const flowParameters = ({ flow }: Contact): string =>
  flow ? `;+sip.instance="${flow.instance}";reg-id=${flow.reg_id}` : '';
