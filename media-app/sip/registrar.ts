import type { Log } from '../log.ts';
import type { Authenticator } from './authenticate.ts';
import type { Contact, Contacts } from './contacts.ts';
import type { SipRequest, SipResponse } from './srf.ts';
import { uriOf } from './uri.ts';

const EXPIRES_DEFAULT_S = 3600;
const EXPIRES_MIN_S = 60;
const EXPIRES_MAX_S = 7200;

interface Binding {
  uri: string;
  expires: number;
}

/** The bindings a REGISTER asks for: `*` removes all, no Contact only asks (RFC 3261 section 10.2). */
const bindingsOf = (request: SipRequest): Binding[] | '*' => {
  const header = request.get('contact')?.trim() ?? '';
  if (header === '*') return '*';
  const general = request.get('expires');
  return splitContacts(header).map(text => {
    const parameter = /;\s*expires\s*=\s*(\d{1,9})/i.exec(text.replace(/<[^>]*>/, ''))?.[1];
    return { uri: uriOf(text), expires: Number(parameter ?? general ?? EXPIRES_DEFAULT_S) };
  });
};

/** Splits at commas that stand outside quotes and angle brackets. */
const splitContacts = (header: string): string[] =>
  header.match(/(?:"(?:[^"\\]|\\.)*"|<[^>]*>|[^,<"])+/g)?.map(part => part.trim()) ?? [];

/**
 * Registrations of phones (RFC 3261 section 10.3, accounts-and-plumbing 19.2): digest, at most three contacts an
 * extension, each with its own expiry.
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
    const caller = await this.#authenticator.authenticate(request, response);
    if (!caller) return;
    const bindings = bindingsOf(request);
    if (bindings !== '*' && bindings.some(one => one.expires > 0 && one.expires < EXPIRES_MIN_S)) {
      return response.send(423, { headers: { 'Min-Expires': String(EXPIRES_MIN_S) } });
    }
    if (bindings === '*') await this.#contacts.clear(caller.extension.id);
    else for (const binding of bindings) await this.#bind(caller.extension.id, binding, request, sipServer);
    const now = await this.#contacts.list(caller.extension.id);
    this.#log.info(
      { extension: caller.extension.extension, contacts: now.length, source: request.source_address },
      'registered contacts changed',
    );
    response.send(200, { headers: answerHeaders(now) });
  }

  async #bind(extensionId: string, binding: Binding, request: SipRequest, sipServer: string): Promise<void> {
    if (binding.expires === 0) {
      await this.#contacts.remove(extensionId, binding.uri);
      return;
    }
    const expires = Math.min(binding.expires, EXPIRES_MAX_S);
    await this.#contacts.save(extensionId, {
      uri: binding.uri,
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

const answerHeaders = (contacts: Contact[]): Record<string, string> => {
  const list = contacts.map(
    one => `<${one.uri}>;expires=${Math.max(0, Math.round((one.expires_at - Date.now()) / 1000))}`,
  );
  return list.length ? { Contact: list.join(', ') } : {};
};
