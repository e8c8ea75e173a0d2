import { createHash, randomBytes } from 'node:crypto';
import { parseAuthorization } from './digest.ts';
import {
  askOnce,
  type Dialog,
  type InDialog,
  type OutOfDialog,
  type SipError,
  type SipRequest,
  type SipResponse,
  type SrfConnection,
  type UacOptions,
  type UacProgress,
} from './srf.ts';

/** What we log in with. */
export interface Login {
  username: string;
  password: string;
}

const HASHES = new Map([
  ['md5', 'md5'],
  ['sha-256', 'sha256'],
  ['sha-512-256', 'sha512-256'],
]);

/** Once with a nonce, and once more when that one was stale (RFC 7616 section 3.3); to a proxy (407) and to the far end (401) each. */
const MOST_ANSWERS = 2;

type Challenge = Record<string, string>;

/** The challenges of a response, the one its sender likes best first (RFC 8760 section 2.4). */
const challengesOf = (response: SipResponse): Challenge[] => {
  // The spelling of phones' challenges is kept apart from all others (DRACHTIO_PRESERVE_HEADER_NAMES).
  const names = response.status === 407 ? ['proxy-authenticate'] : ['WWW-Authenticate', 'www-authenticate'];
  return names
    .map(name => response.get(name) ?? '')
    .join(', ')
    .split(/(?:^|,)\s*(?=Digest\s)/i)
    .map(one => parseAuthorization(one.trim()))
    .filter(one => one !== undefined);
};

const canAnswer = ({ algorithm = 'MD5', qop }: Challenge): boolean =>
  HASHES.has(algorithm.toLowerCase()) && (qop === undefined || /(^|[\s,])auth([\s,]|$)/i.test(qop));

/** `name="value"`, with what would end it escaped. */
const field = (name: string, value: string): string =>
  `${name}="${value.replace(/[\r\n]/g, '').replace(/["\\]/g, '\\$&')}"`;

/**
 * The answer to a challenge (RFC 7616 section 3.4, RFC 2617 for those without quality of protection). drachtio-srf knows
 * MD5 alone and says so whatever it was asked (RFC 8760).
 */
const answerTo = (challenge: Challenge, method: string, uri: string, { username, password }: Login): string => {
  const { realm = '', nonce = '', opaque, algorithm = 'MD5', qop } = challenge;
  const hash = (text: string) =>
    createHash(HASHES.get(algorithm.toLowerCase()) ?? 'md5')
      .update(text)
      .digest('hex');
  const [secret, asked, cnonce, nc] = [
    hash(`${username}:${realm}:${password}`),
    hash(`${method}:${uri}`),
    randomBytes(8).toString('hex'),
    '00000001',
  ];
  const response =
    qop === undefined ? hash(`${secret}:${nonce}:${asked}`) : hash(`${secret}:${nonce}:${nc}:${cnonce}:auth:${asked}`);
  const counted = qop === undefined ? [] : ['qop=auth', `nc=${nc}`, field('cnonce', cnonce)];
  const said = [field('username', username), field('realm', realm), field('nonce', nonce), field('uri', uri)];
  const kept = opaque === undefined ? [] : [field('opaque', opaque)];
  return `Digest ${[...said, field('response', response), `algorithm=${algorithm}`, ...counted, ...kept].join(', ')}`;
};

/**
 * The headers that send a request once more with an answer to its challenge: same Call-ID and From, next CSeq (RFC 3261
 * section 22.2). `undefined` when it was not challenged, or not by anything we can answer.
 */
const answeredHeaders = (
  { method, uri }: { method: string; uri: string },
  request: SipRequest,
  response: SipResponse,
  login: Login,
): Record<string, string> | undefined => {
  const credentials = credentialsFor({ method, uri }, response, login);
  return (
    credentials && {
      From: request.get('from') ?? '',
      'Call-ID': request.get('call-id') ?? '',
      CSeq: `${Number.parseInt(request.get('cseq') ?? '1', 10) + 1} ${method}`,
      ...credentials,
    }
  );
};

/** The header that answers the challenge to a request; `undefined` as above. */
const credentialsFor = (
  { method, uri }: { method: string; uri: string },
  response: SipResponse,
  login: Login,
): Record<string, string> | undefined => {
  const challenge = [401, 407].includes(response.status) ? challengesOf(response).find(canAnswer) : undefined;
  const name = response.status === 407 ? 'Proxy-Authorization' : 'Authorization';
  return challenge && { [name]: answerTo(challenge, method, uri, login) };
};

/** Whether a challenge is worth an answer after those that were given to `statuses`. */
const isWorth = (response: SipResponse, statuses: number[]): boolean => {
  const given = statuses.filter(status => status === response.status).length;
  return given === 0 || (given < MOST_ANSWERS && isStale(response));
};

const isStale = (response: SipResponse): boolean =>
  challengesOf(response).some(({ stale }) => /^true$/i.test(stale ?? ''));

/** Headers without those that others replace; names in any case are one. */
const replaced = (headers: Record<string, string>, by: Record<string, string>): Record<string, string> => {
  const names = new Set(Object.keys(by).map(name => name.toLowerCase()));
  return { ...Object.fromEntries(Object.entries(headers).filter(([name]) => !names.has(name.toLowerCase()))), ...by };
};

/** What the dialogs began with whose far end may challenge what comes later, too. */
const LOGINS = new WeakMap<Dialog, Login>();

/** A request inside a dialog; carriers challenge re-INVITE and BYE too. */
export const askInside = async (dialog: Dialog, options: InDialog): Promise<SipResponse> => {
  const login = LOGINS.get(dialog);
  let headers = options.headers ?? {};
  for (const answered: number[] = []; ;) {
    const response = await dialog.request({ ...options, headers: { ...headers } });
    const request = { method: options.method, uri: response.req.uri };
    const credentials = login && isWorth(response, answered) ? credentialsFor(request, response, login) : undefined;
    if (!credentials) return response;
    answered.push(response.status);
    headers = replaced(headers, credentials);
  }
};

/** BYE. The dialog is nobody's any more when it is answered. */
export const hangUp = (dialog: Dialog, headers: Record<string, string>): Promise<unknown> =>
  LOGINS.has(dialog) ? askInside(dialog, { method: 'BYE', headers }) : dialog.destroy({ headers });

/** As `askOnce`, and answers challenges with `login`. */
export const askWithLogin = async (
  srf: SrfConnection,
  uri: string,
  options: OutOfDialog,
  login: Login,
): Promise<SipResponse> => {
  let headers = options.headers ?? {};
  for (const answered: number[] = []; ;) {
    let sent: SipRequest | undefined;
    const response = await askOnce(srf, uri, { ...options, headers }, request => (sent = request));
    if (!sent || !isWorth(response, answered)) return response;
    answered.push(response.status);
    const more = answeredHeaders({ method: options.method, uri }, sent, response, login);
    if (!more) return response;
    headers = replaced(headers, more);
  }
};

/**
 * As `createUAC`, and answers challenges with `login`, inside the dialog too. Rejects with what was answered last.
 * @param goesOn whether a challenge is still worth an answer; a call may be over meanwhile
 */
export const inviteWithLogin = async (
  srf: SrfConnection,
  uri: string,
  options: UacOptions,
  progress: UacProgress,
  { login, goesOn }: { login: Login; goesOn: () => boolean },
): Promise<Dialog> => {
  let { headers } = options;
  for (const answered: number[] = []; ;) {
    let sent: SipRequest | undefined;
    const cbRequest = (error: unknown, request: SipRequest): void => {
      sent = request;
      progress.cbRequest(error, request);
    };
    try {
      // drachtio-srf writes into the headers it is given.
      const dialog = await srf.createUAC(uri, { ...options, headers: { ...headers } }, { ...progress, cbRequest });
      LOGINS.set(dialog, login);
      return dialog;
    } catch (error) {
      const { res } = error as SipError;
      if (!sent || !res || !isWorth(res, answered) || !goesOn()) throw error;
      const more = answeredHeaders({ method: 'INVITE', uri }, sent, res, login);
      if (!more) throw error;
      answered.push(res.status);
      headers = replaced(headers, more);
    }
  }
};
