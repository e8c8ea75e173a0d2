import type { Customer, Directory, Extension, Trunk } from '../directory.ts';
import type { Log } from '../log.ts';
import { type Digest, parseAuthorization } from './digest.ts';
import type { SipRequest, SipResponse } from './srf.ts';
import { isInRanges } from './ip-ranges.ts';
import { isAddress, parseSipUri } from './uri.ts';

export interface Caller {
  customer: Customer;
  extension: Extension;
  realm: string;
}

/** Never a password: unknown users cost the same work and get the same answer. */
const NOBODY = '\0nobody';

/**
 * Who a phone is: the customer by the request's domain, the extension by digest. Answers 401 or 403 itself when the
 * phone has not proved it (accounts-and-plumbing 19.2); the realm is always the request's domain.
 */
export class Authenticator {
  readonly #directory: Directory;
  readonly #digest: Digest;
  readonly #domain: string;
  readonly #log: Log;

  constructor(directory: Directory, digest: Digest, domain: string, log: Log) {
    this.#directory = directory;
    this.#digest = digest;
    this.#domain = domain.toLowerCase();
    this.#log = log;
  }

  /** The customer whose phones live under a host: by label, or the home customer for a bare address. */
  async customerOf(host: string): Promise<Customer | undefined> {
    const suffix = `.reg.${this.#domain}`;
    if (host.endsWith(suffix)) return this.#directory.customerByLabel(host.slice(0, -suffix.length));
    return isAddress(host) || host === this.#domain ? this.#directory.homeCustomer() : undefined;
  }

  /** The extension that sent the request, or `undefined` after it was answered. */
  async authenticate(request: SipRequest, response: SipResponse): Promise<Caller | undefined> {
    const realm = parseSipUri(request.uri)?.host ?? '';
    const fields = parseAuthorization(request.get('authorization') ?? '');
    if (!fields) return this.#challenge(request, response, realm, false);
    const customer = await this.customerOf(realm);
    const extension = customer && (await this.#directory.extensionByUsername(customer.id, fields.username ?? ''));
    const verdict = await this.#digest.verify(fields, request.method, realm, extension?.password ?? NOBODY);
    if (verdict === 'stale') return this.#challenge(request, response, realm, true);
    if (verdict === 'accepted' && customer && extension) return { customer, extension, realm };
    this.#log.warn(
      { realm, username: fields.username, source: request.source_address },
      `${request.method} refused: wrong username or password`,
    );
    response.send(403);
    return undefined;
  }

  /**
   * The trunk an INVITE comes from, told by its address or by digest, whichever the trunk takes (21); `undefined` after it
   * was answered. The realm is the trunk's domain.
   */
  async trunk(request: SipRequest, response: SipResponse, domainName: string): Promise<Trunk | undefined> {
    const realm = parseSipUri(request.uri)?.host ?? '';
    const source = request.source_address;
    const trunk = await this.#directory.trunk(domainName);
    if (trunk?.auth_types.includes('ip') && isInRanges(source, trunk.allowed_ips)) return trunk;
    const facts = { realm, source, auth_types: trunk?.auth_types ?? [] };
    if (trunk && !trunk.auth_types.includes('basic')) {
      this.#log.warn(
        { ...facts, allowed_ips: trunk.allowed_ips },
        'INVITE refused: not from an allowed address of the trunk',
      );
      response.send(403);
      return undefined;
    }
    const fields = parseAuthorization(request.get('authorization') ?? '');
    if (!fields) return this.#challenge(request, response, realm, false);
    const known = trunk && fields.username === trunk.username;
    const verdict = await this.#digest.verify(fields, request.method, realm, known ? trunk.password : NOBODY);
    if (verdict === 'stale') return this.#challenge(request, response, realm, true);
    if (verdict === 'accepted' && known) return trunk;
    const why = trunk ? 'wrong username or password of the trunk' : 'no trunk has this domain name';
    this.#log.warn({ ...facts, username: fields.username }, `INVITE refused: ${why}`);
    response.send(403);
    return undefined;
  }

  async #challenge(request: SipRequest, response: SipResponse, realm: string, stale: boolean): Promise<undefined> {
    const headers = await this.#digest.challenge(realm, request.get('user-agent') ?? '', stale);
    response.send(401, { headers });
    return undefined;
  }
}
