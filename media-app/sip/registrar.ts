import { isAdmitted } from '../directory.ts';
import type { Log } from '../log.ts';
import type { Authenticator } from './authenticate.ts';
import { bindingsOf, pathOf, type Binding } from './bindings.ts';
import type { Contact, Contacts } from './contacts.ts';
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
    const bindings = bindingsOf(request);
    const adds = bindings !== '*' && bindings.some(one => one.expires > 0);
    if (adds && !isAdmitted(caller.customer.status)) return response.send(403, 'Account Not Active');
    if (bindings !== '*' && bindings.some(one => one.expires > 0 && one.expires < EXPIRES_MIN_S)) {
      return response.send(423, { headers: { 'Min-Expires': String(EXPIRES_MIN_S) } });
    }
    const outbound = bindings !== '*' && bindings.some(one => one.flow);
    if (outbound && !firstHopKnowsOutbound(request)) return response.send(439);
    if (bindings === '*') await this.#contacts.clear(caller.extension.id);
    else for (const binding of bindings) await this.#bind(caller.extension.id, binding, request, sipServer);
    const now = await this.#contacts.list(caller.extension.id);
    this.#log.info(
      { extension: caller.extension.extension, contacts: now.length, source: request.source_address },
      'registered contacts changed',
    );
    response.send(200, { headers: { ...answerHeaders(now), ...extensionHeaders(request, outbound) } });
  }

  /** A browser's phone that was closed, or a flow that broke, is not rung any more. */
  async #connectionLost(request: SipRequest, sipServer: string): Promise<void> {
    const via = VIA.exec(request.get('via') ?? '')?.groups;
    const bindings = bindingsOf(request);
    if (!via || bindings === '*') return;
    const { transport = '', host = '', port = '' } = via;
    const source = { transport: transport.toLowerCase(), address: host.replace(/^\[|\]$/g, ''), port: Number(port) };
    const gone = await this.#contacts.removeLost(
      { source, sip_server: sipServer },
      bindings.map(one => one.uri),
    );
    this.#log.info({ contacts: gone, source }, 'a connection is gone, and the contacts registered over it');
  }

  async #bind(extensionId: string, binding: Binding, request: SipRequest, sipServer: string): Promise<void> {
    if (binding.expires === 0) {
      await this.#contacts.remove(extensionId, binding);
      return;
    }
    const expires = Math.min(binding.expires, EXPIRES_MAX_S);
    await this.#contacts.save(extensionId, {
      uri: binding.uri,
      ...(binding.flow ? { flow: binding.flow } : {}),
      path: pathOf(request),
      source: { address: request.source_address, port: Number(request.source_port), transport: transportOf(request) },
      sip_server: sipServer,
      user_agent: request.get('user-agent')?.slice(0, 200) ?? '',
      call_id: request.get('call-id') ?? '',
      cseq: Number.parseInt(request.get('cseq') ?? '0', 10),
      registered_at: Date.now(),
      expires_at: Date.now() + expires * 1000,
    });
  }
}

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
      `<${one.uri}>;expires=${Math.max(0, Math.round((one.expires_at - Date.now()) / 1000))}${flowParameters(one)}`,
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
