/** Compact header names (RFC 3261 7.3.3 and the registry of later RFCs), by letter. */
const COMPACT: Readonly<Record<string, string>> = {
  a: 'accept-contact',
  b: 'referred-by',
  c: 'content-type',
  d: 'request-disposition',
  e: 'content-encoding',
  f: 'from',
  i: 'call-id',
  j: 'reject-contact',
  k: 'supported',
  l: 'content-length',
  m: 'contact',
  n: 'identity-info',
  o: 'event',
  r: 'refer-to',
  s: 'subject',
  t: 'to',
  u: 'allow-events',
  v: 'via',
  x: 'session-expires',
  y: 'identity',
};

/** Spelling of the headers the stack knows; anything else keeps the spelling it came with. */
const SPELLING = new Map(
  [
    ...['Accept', 'Accept-Contact', 'Accept-Encoding', 'Accept-Language', 'Alert-Info', 'Allow', 'Allow-Events'],
    ...['Authentication-Info', 'Authorization', 'Call-ID', 'Call-Info', 'Contact', 'Content-Disposition'],
    ...['Content-Encoding', 'Content-Language', 'Content-Length', 'Content-Type', 'CSeq', 'Date', 'Diversion'],
    ...['Error-Info', 'Event', 'Expires', 'From', 'History-Info', 'Identity', 'Identity-Info', 'In-Reply-To', 'Join'],
    ...['Max-Forwards', 'MIME-Version', 'Min-Expires', 'Min-SE', 'Organization', 'P-Asserted-Identity'],
    ...['P-Preferred-Identity', 'Path', 'Priority', 'Privacy', 'Proxy-Authenticate', 'Proxy-Authorization'],
    ...['Proxy-Require', 'RAck', 'Reason', 'Record-Route', 'Refer-Sub', 'Refer-To', 'Referred-By', 'Reject-Contact'],
    ...['Remote-Party-ID', 'Replaces', 'Reply-To', 'Request-Disposition', 'Require', 'Retry-After', 'Route', 'RSeq'],
    ...['Server', 'Service-Route', 'Session-Expires', 'SIP-ETag', 'SIP-If-Match', 'Subject', 'Subscription-State'],
    ...['Supported', 'Timestamp', 'To', 'Unsupported', 'User-Agent', 'Via', 'Warning', 'WWW-Authenticate'],
  ].map(name => [name.toLowerCase(), name]),
);

/** The lower-case long form under which a header is looked up: `f` and `FROM` give `from`. */
export function headerKey(name: string): string {
  const lower = name.toLowerCase();
  return (lower.length === 1 ? COMPACT[lower] : undefined) ?? lower;
}

/** How a header is written: the RFC's spelling if known, otherwise as given. */
export function headerName(key: string, given: string): string {
  return SPELLING.get(key) ?? given;
}
