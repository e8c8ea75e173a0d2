import type { IncomingMessage } from 'node:http';

/** The one credential that decides a request. */
export interface Credential {
  kind: 'token' | 'accesskey';
  value: string;
}

const cookies = (header: string | undefined): Map<string, string> =>
  new Map(
    (header ?? '').split(';').map(pair => {
      const at = pair.indexOf('=');
      return [pair.slice(0, Math.max(at, 0)).trim(), pair.slice(at + 1).trim()];
    }),
  );

const bearer = (header: string | undefined): string => /^Bearer\s+(\S+)\s*$/i.exec(header ?? '')?.[1] ?? '';

/**
 * The first credential present: cookie token, query token, bearer header, cookie accesskey, query accesskey. Empty
 * values count as absent (4.1).
 */
export const credentialOf = (request: Pick<IncomingMessage, 'url' | 'headers'>): Credential | undefined => {
  const cookie = cookies(request.headers.cookie);
  const at = request.url?.indexOf('?') ?? -1;
  const query = new URLSearchParams(at < 0 ? '' : request.url?.slice(at));
  const present: Credential[] = [
    { kind: 'token', value: cookie.get('token') ?? '' },
    { kind: 'token', value: query.get('token') ?? '' },
    { kind: 'token', value: bearer(request.headers.authorization) },
    { kind: 'accesskey', value: cookie.get('accesskey') ?? '' },
    { kind: 'accesskey', value: query.get('accesskey') ?? '' },
  ];
  return present.find(credential => credential.value !== '');
};
