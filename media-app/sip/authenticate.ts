import { sourceOf } from '#contract/ban';
import { EMPTY_ID } from '#contract/ids';
import type { Customer, Directory, Extension, Trunk } from '../directory.ts';
import type { Log } from '#process/log';
import { type Digest, type DigestVerdict, parseAuthorization } from './digest.ts';
import type { Guard } from './guard/guard.ts';
import type { Refusals } from './refusals.ts';
import type { SipRequest, SipResponse } from './srf.ts';
import { isInRanges } from './ip-ranges.ts';
import { isAddress, parseSipUri, uriOf } from './uri.ts';

export interface Caller {
  customer: Customer;
  extension: Extension;
  realm: string;
}

interface AuthenticatorParts {
  directory: Directory;
  digest: Digest;
  guard: Guard;
  refusals: Refusals;
  /** SIP_DOMAIN. */
  domain: string;
  log: Log;
}

/** Never a password: unknown users cost the same work and get the same answer. */
const NOBODY = '\0nobody';

/** Text of a message that Postgres can be asked for. */
const word = (text: string | undefined): string => (text ?? '').replaceAll('\0', '').slice(0, 255);

/** Whether the answer was made for this request and no other (RFC 7616 section 3.4.6): same user, same host. */
const isFor = (request: SipRequest, digestUri: string | undefined): boolean => {
  const [asked, answered] = [parseSipUri(request.uri), parseSipUri(digestUri ?? '')];
  return asked !== undefined && answered?.user === asked.user && answered.host === asked.host;
};

/** Nobody registers somebody else, or under another domain than it proves itself for (accounts-and-plumbing 19.2). */
const isOwn = (request: SipRequest, username: string, realm: string): boolean => {
  if (request.method !== 'REGISTER') return true;
  const [from, to] = ['from', 'to'].map(name => parseSipUri(uriOf(request.get(name) ?? '')));
  return from?.host === realm && to?.host === realm && to.user === username;
};

const digestSentence = (username: string, proper: boolean): string =>
  proper
    ? `The digest for extension ${username} is wrong: the password of that extension would have matched.`
    : `The digest of extension ${username} was made for another request: one for this very request URI would have matched.`;

const addressSentence = ({ domain_name, allowed_ips }: Trunk, source: string): string =>
  `Trunk ${domain_name} takes calls by address alone, and ${source} is not allowed: ${allowed_ips.join(', ')} would have matched.`;

const trunkSentence = (trunk: Trunk, source: string, username: string): string => {
  const { domain_name, auth_types, allowed_ips } = trunk;
  const ip = auth_types.includes('ip')
    ? ` So would an address among ${allowed_ips.join(', ')}; this is ${source}.`
    : '';
  return `Trunk ${domain_name} does not know the username ${username} with this password: its own username ${trunk.username} and password would have matched.${ip}`;
};

/**
 * Who a phone is: the customer by the request's domain, the extension by digest. Answers 401 or 403 itself when the
 * phone has not proved it (accounts-and-plumbing 19.2); the realm is always the request's domain. Users and domains that
 * do not exist cost the same questions and get the same answers as those that do.
 */
export class Authenticator {
  readonly #directory: Directory;
  readonly #digest: Digest;
  readonly #guard: Guard;
  readonly #refusals: Refusals;
  readonly #domain: string;
  readonly #log: Log;

  constructor(parts: AuthenticatorParts) {
    const { directory, digest, guard, refusals, domain, log } = parts;
    this.#directory = directory;
    this.#digest = digest;
    this.#guard = guard;
    this.#refusals = refusals;
    this.#domain = domain.toLowerCase();
    this.#log = log;
  }

  /** The customer whose phones live under a host: by label, or the home customer for a bare address. */
  async customerOf(host: string): Promise<Customer | undefined> {
    const suffix = `.reg.${this.#domain}`;
    if (host.endsWith(suffix)) return this.#directory.customerByLabel(word(host.slice(0, -suffix.length)));
    return isAddress(host) || host === this.#domain ? this.#directory.homeCustomer() : undefined;
  }

  /** The extension that sent the request, or `undefined` after it was answered. */
  async authenticate(request: SipRequest, response: SipResponse): Promise<Caller | undefined> {
    const realm = parseSipUri(request.uri)?.host ?? '';
    const fields = this.#answerIn(request, 'authorization');
    if (!fields) return this.#challenge(request, response, realm, false);
    const username = word(fields.username);
    const customer = await this.customerOf(realm);
    const extension = await this.#directory.extensionByUsername(customer?.id ?? EMPTY_ID, username);
    const password = extension?.password ?? NOBODY;
    const source = sourceOf(request.source_address);
    const verdict = await this.#digest.verify(fields, request.method, realm, password, source);
    if (verdict === 'stale') return this.#challenge(request, response, realm, true);
    if (verdict === 'accepted') this.#guard.know(request);
    const proper = isFor(request, fields.uri) && isOwn(request, username, realm);
    if (verdict === 'accepted' && proper && customer && extension) return { customer, extension, realm };
    const why = extension === undefined ? 'unknown user' : proper ? 'wrong password' : 'not the answer to this request';
    const owner = extension && customer && { id: customer.id, sentence: digestSentence(username, proper) };
    return this.#refuse(request, response, verdict, { realm, username, source: request.source_address }, why, owner);
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
      this.#refusals.tell(request, trunk.customer_id, 403, addressSentence(trunk, source));
      response.send(403);
      return undefined;
    }
    const fields = this.#answerIn(request, 'proxy-authorization', 'authorization');
    if (!fields) return this.#challenge(request, response, realm, false, 407);
    const known = trunk && fields.username === trunk.username;
    const password = known ? trunk.password : NOBODY;
    const verdict = await this.#digest.verify(fields, request.method, realm, password, sourceOf(source));
    if (verdict === 'stale') return this.#challenge(request, response, realm, true, 407);
    if (verdict === 'accepted') this.#guard.know(request);
    const proper = isFor(request, fields.uri);
    if (verdict === 'accepted' && proper && known) return trunk;
    const why = trunk ? 'wrong username or password of the trunk' : 'no trunk has this domain name';
    const owner = trunk && { id: trunk.customer_id, sentence: trunkSentence(trunk, source, word(fields.username)) };
    return this.#refuse(request, response, verdict, { ...facts, username: fields.username }, why, owner);
  }

  /** The digest of a request; one without is noted. */
  #answerIn(request: SipRequest, ...headers: string[]): Record<string, string> | undefined {
    const name = headers.find(header => request.has(header)) ?? '';
    const fields = parseAuthorization(request.get(name) ?? '');
    if (!fields) this.#guard.offend(request, 'probing', `${request.method} without credentials.`);
    return fields;
  }

  /** @param owner whom the account belongs to that was tried; told when the source is proven, or anybody could bother it */
  #refuse(
    request: SipRequest,
    response: SipResponse,
    verdict: DigestVerdict,
    facts: object,
    why: string,
    owner?: { id: string; sentence: string },
  ): undefined {
    if (owner && verdict !== 'forged' && request.method === 'INVITE')
      this.#refusals.tell(request, owner.id, 403, owner.sentence);
    this.#log.warn(facts, `${request.method} refused: ${why}`);
    this.#guard.offend(request, 'bad_credentials', `${request.method} refused: ${why}.`, verdict !== 'forged');
    response.send(403);
    return undefined;
  }

  /** @param status 407 for exchanges, which dial through us; 401 for phones (accounts-and-plumbing 19.2) */
  async #challenge(
    request: SipRequest,
    response: SipResponse,
    realm: string,
    stale: boolean,
    status: 401 | 407 = 401,
  ): Promise<undefined> {
    const source = sourceOf(request.source_address);
    const lines = await this.#digest.challenge(realm, request.get('user-agent') ?? '', stale, source);
    const name = status === 407 ? 'Proxy-Authenticate' : 'WWW-Authenticate';
    // Names in two spellings, because the library takes one value for each.
    const headers = Object.fromEntries(lines.map((line, at) => [at ? name.toLowerCase() : name, line]));
    response.send(status, { headers });
    return undefined;
  }
}
