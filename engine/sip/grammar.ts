const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = 0x3c;
const CLOSE = 0x3e;

/** Parts of `text` between separators that stand outside quotes and angle brackets, trimmed (RFC 3261 7.3.1). */
export function splitOutside(text: string, separator: ',' | ';'): string[] {
  if (!text.includes(separator)) return [text.trim()];
  const wanted = separator.charCodeAt(0);
  const parts: string[] = [];
  let [quoted, angled, start] = [false, false, 0];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (quoted && code === BACKSLASH) i++;
    else if (code === QUOTE) quoted = !quoted;
    else if (quoted) continue;
    else if (code === OPEN) angled = true;
    else if (code === CLOSE) angled = false;
    else if (code === wanted && !angled) {
      parts.push(text.slice(start, i).trim());
      start = i + 1;
    }
  }
  parts.push(text.slice(start).trim());
  return parts;
}

/** Every entry of a header that may be repeated and comma-joined, in order. Empty entries are dropped. */
export function listOf(values: string[]): string[] {
  return values.flatMap(value => splitOutside(value, ',')).filter(entry => entry !== '');
}

/** `;a=1;b` as a map; names lower-case, a parameter without value is ''. */
export function parseParams(text: string): Map<string, string> {
  const params = new Map<string, string>();
  if (text === '') return params;
  for (const part of splitOutside(text, ';')) {
    if (part === '') continue;
    const at = part.indexOf('=');
    if (at < 0) params.set(part.toLowerCase(), '');
    else params.set(part.slice(0, at).trim().toLowerCase(), part.slice(at + 1).trim());
  }
  return params;
}

/** The inverse of parseParams, with the leading semicolon. */
export function formatParams(params: Map<string, string>): string {
  let text = '';
  for (const [name, value] of params) text += value === '' ? `;${name}` : `;${name}=${value}`;
  return text;
}

/** A port number from 1 to 65535, or undefined. */
function parsePort(text: string): number | undefined {
  if (!/^\d{1,5}$/.test(text)) return undefined;
  const port = Number(text);
  return port > 0 && port < 65536 ? port : undefined;
}

/** `host`, `host:port`, `[v6]` or `[v6]:port`; undefined when it is none of them. IPv6 comes back without brackets. */
export function parseHostPort(text: string): { host: string; port?: number } | undefined {
  if (text.startsWith('[')) return parseIpv6(text);
  const at = text.indexOf(':');
  const host = at < 0 ? text : text.slice(0, at).trim();
  if (!/^[A-Za-z0-9._-]{1,255}$/.test(host)) return undefined;
  if (at < 0) return { host };
  const port = parsePort(text.slice(at + 1).trim());
  return port === undefined ? undefined : { host, port };
}

function parseIpv6(text: string): { host: string; port?: number } | undefined {
  const end = text.indexOf(']');
  const host = text.slice(1, end);
  if (end < 0 || !/^[0-9A-Fa-f:.]{2,45}$/.test(host)) return undefined;
  const rest = text.slice(end + 1);
  if (rest === '') return { host };
  const port = rest.startsWith(':') ? parsePort(rest.slice(1)) : undefined;
  return port === undefined ? undefined : { host, port };
}

/** `host:port` with brackets round IPv6; without a port just the host. */
export function formatHostPort(host: string, port?: number): string {
  const written = host.includes(':') ? `[${host}]` : host;
  return port ? `${written}:${port}` : written;
}
