/** SIP URIs and name-addr values (RFC 3261 sections 19.1 and 20.10). */

export interface SipUri {
  scheme: string;
  user: string;
  host: string;
  port: number | undefined;
  params: Map<string, string>;
}

export interface NameAddress {
  display: string;
  uri: string;
  params: Map<string, string>;
}

/** A socket address: where a message came from or goes to. */
export interface Remote {
  host: string;
  port: number;
}

/** Reads `sip:user@host:port;params`. Throws SyntaxError for anything else. */
export function parseUri(text: string): SipUri {
  const match = /^(sips?|tel):(?:([^@]*)@)?(\[[^\]]+\]|[^:;?@]+)(?::(\d{1,5}))?((?:;[^;?]+)*)(?:\?.*)?$/i.exec(
    text.trim(),
  );
  if (!match?.[1] || !match[3]) throw new SyntaxError(`no SIP address: "${text.slice(0, 80)}"`);
  return {
    scheme: match[1].toLowerCase(),
    user: (match[2] ?? '').replace(/:.*$/, ''),
    host: match[3].replace(/^\[|\]$/g, ''),
    port: match[4] === undefined ? undefined : Number(match[4]),
    params: parseParams(match[5] ?? ''),
  };
}

/** Reads `"Display" <uri>;params` or a bare `uri;params` (whose parameters then belong to the header). */
export function parseNameAddress(text: string): NameAddress {
  const bracketed = /^\s*(?:"((?:[^"\\]|\\.)*)"|([^<"]*))\s*<([^>]*)>(.*)$/.exec(text);
  if (bracketed) {
    const display = (bracketed[1]?.replace(/\\(.)/g, '$1') ?? bracketed[2] ?? '').trim();
    return { display, uri: bracketed[3] ?? '', params: parseParams(bracketed[4] ?? '') };
  }
  const [uri = '', ...rest] = text.trim().split(';');
  return { display: '', uri, params: parseParams(rest.map(p => `;${p}`).join('')) };
}

/** `;a=1;b` as a map with lower-case names; a parameter without value is the empty string. */
export function parseParams(text: string): Map<string, string> {
  const params = new Map<string, string>();
  for (const match of text.matchAll(/;\s*([^=;\s]+)\s*(?:=\s*("(?:[^"\\]|\\.)*"|[^;\s]*))?/g)) {
    params.set((match[1] ?? '').toLowerCase(), (match[2] ?? '').replace(/^"|"$/g, ''));
  }
  return params;
}

/** Where a request for this URI goes: its host and port, 5060 when it names none (RFC 3263 without DNS records). */
export function remoteOf(uri: SipUri): Remote {
  return { host: uri.host, port: uri.port ?? 5060 };
}

/** The tag of a From or To value. */
export function tagOf(value: string | undefined): string | undefined {
  return value === undefined ? undefined : parseNameAddress(value).params.get('tag');
}

/** `host:port` for a URI or Via, with brackets around IPv6. */
export function hostPort(remote: Remote): string {
  return `${remote.host.includes(':') ? `[${remote.host}]` : remote.host}:${remote.port}`;
}
