import { lookup, type LookupAddress } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { Agent, request, type Dispatcher } from 'undici';

export type Method = 'POST' | 'GET' | 'PUT' | 'DELETE';

/** A request to an address that a customer chose. */
export interface OutboundRequest {
  uri: string;
  method: Method;
  headers: Record<string, string>;
  body: string;
  /** For everything together: name look-up, connecting, redirects and the head of the answer. */
  timeout_ms: number;
  /** Gives up early. */
  signal?: AbortSignal;
}

/** The target may not be asked: a private address, not http(s), or too many redirects. Trying again is useless. */
export class TargetRefused extends Error {
  override readonly name = 'TargetRefused';
}

const MOST_REDIRECTS = 3;
/** Bytes of an answer's body that are read to keep the connection; beyond it the connection is dropped. */
const MOST_BODY = 64 * 1024;

/** Special-purpose addresses: IANA registries (RFC 6890), multicast, and IPv6 forms that carry an IPv4 address. */
const RESERVED_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
/** Only 2000::/3 is global unicast (RFC 4291); inside it some blocks are not. */
const RESERVED_V6 = ['::/3', '4000::/2', '8000::/1', '2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const blockList = (blocks: string[], family: 'ipv4' | 'ipv6'): BlockList => {
  const list = new BlockList();
  for (const block of blocks) {
    const [address = '', bits] = block.split('/');
    list.addSubnet(address, Number(bits), family);
  }
  return list;
};

/** Refused even where private targets are allowed: link-local (cloud metadata lives there) and multicast. */
const neverV4 = blockList(['169.254.0.0/16', '224.0.0.0/4', '0.0.0.0/8', '255.255.255.255/32'], 'ipv4');
const neverV6 = blockList(['fe80::/10', 'ff00::/8'], 'ipv6');

/** Two lists, because one list takes an IPv4 address for its IPv6 form ::ffff:0:0/96 too. */
const reservedV4 = blockList(RESERVED_V4, 'ipv4');
const reservedV6 = blockList(RESERVED_V6, 'ipv6');

/** True for an address that only means something on this machine or network: private, loopback, link-local, reserved. */
export const isPrivateAddress = (address: string): boolean => {
  const family = isIP(address);
  if (family === 0) return true;
  return family === 6 ? reservedV6.check(address, 'ipv6') : reservedV4.check(address, 'ipv4');
};

const LOOPBACK = /^(127\.|::1$|localhost$)/;

/** Whether the setting lets customers name private addresses; `auto`: only where nobody else reaches HOST either. */
export const privateTargetsAllowed = (settings: {
  ALLOW_PRIVATE_TARGETS: 'auto' | 'yes' | 'no';
  HOST: string;
}): boolean =>
  settings.ALLOW_PRIVATE_TARGETS === 'yes' ||
  (settings.ALLOW_PRIVATE_TARGETS === 'auto' && LOOPBACK.test(settings.HOST));

/** True for an address that must not be asked, whoever allows what. */
const isNever = (address: string): boolean =>
  isIP(address) === 6 ? neverV6.check(address, 'ipv6') : neverV4.check(address, 'ipv4');

/** Look-up for a connection that is about to be made: what is checked here is what is connected to (no rebinding). */
const lookupExcept =
  (refused: (address: string) => boolean): LookupFunction =>
  (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const allowed = error ? [] : addresses.filter(({ address }: LookupAddress) => !refused(address));
      const [first] = allowed;
      if (error) callback(error, '');
      else if (!first) callback(new TargetRefused(`${hostname} is a private address`), '');
      else if (options.all) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };

const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status);

const limitOf = ({ timeout_ms, signal }: OutboundRequest): AbortSignal =>
  signal ? AbortSignal.any([signal, AbortSignal.timeout(timeout_ms)]) : AbortSignal.timeout(timeout_ms);

/** The status is the answer; the body is read only to use the connection again, and given up at the deadline. */
const readToEnd = (answer: Dispatcher.ResponseData, signal: AbortSignal): void => {
  answer.body.dump({ limit: MOST_BODY, signal }).catch(() => undefined);
};

/** A body, as long as it has no more bytes than that. */
const atMost = async function* (body: AsyncIterable<Buffer>, mostBytes: number): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > mostBytes) throw new Error(`the body has more than ${mostBytes} bytes`);
    yield chunk;
  }
};

const collect = async (body: AsyncIterable<Buffer>, mostBytes: number): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of atMost(body, mostBytes)) chunks.push(chunk);
  return Buffer.concat(chunks);
};

/** The reason inside the errors that undici and Node wrap around it. */
const refusalIn = (error: unknown): TargetRefused | undefined => {
  if (error instanceof TargetRefused) return error;
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? undefined : refusalIn(cause);
};

/**
 * Requests to addresses that customers chose, which must not become a way into the operator's network: http and https
 * only, private targets refused by name, by literal and after every redirect (accounts-and-plumbing 27).
 */
export class GuardedFetch {
  /** Which addresses are refused. */
  readonly #refused: (address: string) => boolean;
  readonly #agent: Agent;

  constructor(given: { allowPrivateTargets: boolean }) {
    this.#refused = given.allowPrivateTargets ? isNever : isPrivateAddress;
    const guard = { lookup: lookupExcept(this.#refused) };
    this.#agent = new Agent({ connections: 16, pipelining: 1, connect: { timeout: 5000, ...guard } });
  }

  /**
   * Sends a request and follows at most three redirects with the same method and body.
   * @returns the status of the last answer
   * @throws TargetRefused; any other error is of the connection or the time
   */
  async send(given: OutboundRequest): Promise<number> {
    const signal = limitOf(given);
    const answer = await this.#follow(given, signal);
    readToEnd(answer, signal);
    return answer.statusCode;
  }

  /**
   * Sends a request like `send` and keeps the body of the answer.
   * @throws TargetRefused; Error for a body of more than `mostBytes`; any other error is of the connection or the time
   */
  async exchange(given: OutboundRequest, mostBytes: number): Promise<{ status: number; body: Buffer }> {
    const answer = await this.#follow(given, limitOf(given));
    return { status: answer.statusCode, body: await collect(answer.body, mostBytes) };
  }

  /**
   * Fetches a body of at most `mostBytes`, piece by piece, so that a large one need not be kept in memory.
   * @throws TargetRefused; Error for another status than 200 or a body that is too large
   */
  async *download(uri: string, given: { timeout_ms: number; mostBytes: number }): AsyncGenerator<Buffer> {
    const request: OutboundRequest = { uri, method: 'GET', headers: {}, body: '', timeout_ms: given.timeout_ms };
    const signal = limitOf(request);
    const answer = await this.#follow(request, signal);
    if (answer.statusCode !== 200) {
      readToEnd(answer, signal);
      throw new Error(`${uri} answered ${answer.statusCode}`);
    }
    yield* atMost(answer.body, given.mostBytes);
  }

  /** The answer behind at most three redirects, each checked like the first address. */
  async #follow(given: OutboundRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    let target = this.#checked(given.uri);
    for (let redirects = 0; ; redirects++) {
      const answer = await this.#once(target, given, signal);
      const location = answer.headers['location'];
      if (!isRedirect(answer.statusCode) || typeof location !== 'string') return answer;
      readToEnd(answer, signal);
      if (redirects === MOST_REDIRECTS) throw new TargetRefused(`more than ${MOST_REDIRECTS} redirects`);
      target = this.#checked(location, target);
    }
  }

  /**
   * The address to connect to for a host that is asked otherwise than by HTTP. Connect to it and not to the name, which
   * may lead elsewhere the next moment.
   * @throws TargetRefused; any other error is of the look-up
   */
  async resolve(host: string): Promise<{ address: string; family: number }> {
    const bare = host.replace(/^\[|\]$/g, '');
    if (isIP(bare) !== 0 && this.#refused(bare)) throw new TargetRefused(`${bare} is a private address`);
    return new Promise((resolve, reject) => {
      lookupExcept(this.#refused)(bare, {}, (error, address, family = 4) => {
        if (error || typeof address !== 'string') reject(error ?? new Error(`${bare} has several addresses`));
        else resolve({ address, family });
      });
    });
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  /** undici's look-up never sees literal addresses; the URL parser has brought all their spellings to one. */
  #checked(uri: string, base?: URL): URL {
    const target = URL.canParse(uri, base?.href) ? new URL(uri, base) : undefined;
    if (!target || !['http:', 'https:'].includes(target.protocol)) throw new TargetRefused('not an http or https URL');
    const host = target.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && this.#refused(host)) throw new TargetRefused(`${host} is a private address`);
    return target;
  }

  async #once(target: URL, given: OutboundRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { method, headers, body } = given;
    const { username, password } = target;
    const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
    const authorization = username ? { authorization: `Basic ${login}` } : {};
    const bare = new URL(target);
    bare.username = bare.password = '';
    try {
      const options = { method, body, signal, dispatcher: this.#agent, headers: { ...headers, ...authorization } };
      return await request(bare, options);
    } catch (error) {
      throw refusalIn(error) ?? error;
    }
  }
}
