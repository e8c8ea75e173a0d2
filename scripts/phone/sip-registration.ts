import { randomBytes } from 'node:crypto';
import { parseNameAddress } from './sip-address.ts';
import { ALLOW } from './sip-call.ts';
import type { SipClient } from './sip-client.ts';
import { header, headerList } from './sip-message.ts';
import type { SipHeader, SipRequest, SipResponse } from './sip-message.ts';
import type { Identity } from './sip-wire.ts';

export interface RegisterOptions {
  /** Seconds; default 3600. */
  expires?: number;
  /** How long to wait for the server's answer; default 32 s (RFC 3261 timer F). */
  timeout_ms?: number;
  /** Parameters of the Contact, such as `;reg-id=1`, and further headers; kept for refreshes. */
  contactParameters?: string;
  headers?: SipHeader[];
}

/** The server said no. */
export class SipRefused extends Error {
  readonly status: number;

  constructor(what: string, status: number, reason: string) {
    super(`${what} was refused: ${status} ${reason}`);
    this.name = 'SipRefused';
    this.status = status;
  }
}

/** The server said nothing. */
export class SipUnreachable extends Error {
  override name = 'SipUnreachable';
}

/** Keeps one Contact registered (RFC 3261 section 10). */
export class Registration {
  /** Seconds the server granted; 0 while not registered. */
  granted = 0;
  onLost: (error: Error) => void = () => undefined;
  #identity: Identity;
  #contact: { contact: string };
  #client: SipClient;
  #call_id = randomBytes(12).toString('hex');
  #tag = randomBytes(6).toString('hex');
  #sequence = 0;
  #refresh: NodeJS.Timeout | undefined;

  constructor(identity: Identity, contact: { contact: string }, client: SipClient) {
    this.#identity = identity;
    this.#contact = contact;
    this.#client = client;
  }

  /**
   * Registers and keeps the registration fresh. Resolves with the seconds granted.
   * Rejects with SipRefused or SipUnreachable.
   */
  async register(options: RegisterOptions = {}): Promise<number> {
    const expires = options.expires ?? 3600;
    const response = await this.#exchange(expires, options.timeout_ms ?? 32_000, options);
    this.granted = grantedTo(response, this.#contact.contact, expires);
    this.#refreshLater(options);
    return this.granted;
  }

  /** Takes the Contact off the server again. */
  async unregister(options: { timeout_ms?: number } = {}): Promise<void> {
    this.forget();
    await this.#exchange(0, options.timeout_ms ?? 32_000);
  }

  /** Stops refreshing without telling the server. */
  forget(): void {
    clearTimeout(this.#refresh);
    this.granted = 0;
  }

  #refreshLater(options: RegisterOptions): void {
    clearTimeout(this.#refresh);
    if (this.granted === 0) return;
    const again = () => void this.register(options).catch((error: Error) => this.onLost(error));
    this.#refresh = setTimeout(again, Math.max(this.granted * 500, (this.granted - 30) * 1000)).unref();
  }

  async #exchange(expires: number, timeout_ms: number, options: RegisterOptions = {}): Promise<SipResponse> {
    const { server } = this.#identity;
    if (!server) throw new Error('this phone has no server to register with');
    const where = `${server.host}:${server.port}`;
    const response = await new Promise<SipResponse>((resolve, reject) => {
      const silent = () => reject(new SipUnreachable(`no answer from ${where}`));
      const deadline = setTimeout(silent, timeout_ms);
      this.#client.request(this.#request(expires, options), server, {
        response: answer => answer.status >= 200 && (clearTimeout(deadline), resolve(answer)),
        timeout: () => (clearTimeout(deadline), silent()),
      });
    });
    this.#sequence += 2;
    if (response.status >= 300) throw new SipRefused('REGISTER', response.status, response.reason);
    return response;
  }

  #request(expires: number, { contactParameters = '', headers: more = [] }: RegisterOptions): SipRequest {
    this.#sequence += 1;
    const headers = [
      { name: 'max-forwards', value: '70' },
      { name: 'from', value: `${this.#identity.address};tag=${this.#tag}` },
      { name: 'to', value: this.#identity.address },
      { name: 'call-id', value: this.#call_id },
      { name: 'cseq', value: `${this.#sequence} REGISTER` },
      { name: 'contact', value: `${this.#contact.contact}${contactParameters}` },
      { name: 'expires', value: String(expires) },
      ALLOW,
      ...more,
    ];
    return { kind: 'request', method: 'REGISTER', uri: `sip:${this.#identity.domain}`, headers, body: '' };
  }
}

/** The expiry of our own Contact in the answer, else its Expires header, else what we asked for (section 10.3). */
function grantedTo(response: SipResponse, contact: string, asked: number): number {
  const own = parseNameAddress(contact).uri;
  const listed = headerList(response, 'contact')
    .map(parseNameAddress)
    .find(c => c.uri === own);
  return Number(listed?.params.get('expires') ?? header(response, 'expires') ?? asked);
}
