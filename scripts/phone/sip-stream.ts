const MAX_MESSAGE_BYTES = 65_536;

export interface Taken {
  messages: Buffer[];
  rest: Buffer;
  /** The stream holds no SIP: the connection is of no use any more. */
  broken: boolean;
}

/** Cuts whole messages off a TCP stream by their Content-Length (RFC 3261 section 18.3); keep-alive line breaks are skipped (RFC 5626). */
export function takeMessages(stream: Buffer): Taken {
  const messages: Buffer[] = [];
  let rest = skipLineBreaks(stream);
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) return { messages, rest, broken: rest.length > MAX_MESSAGE_BYTES };
    const total = end + 4 + contentLength(rest.toString('latin1', 0, end + 2));
    if (Number.isNaN(total) || total > MAX_MESSAGE_BYTES) return { messages, rest, broken: true };
    if (rest.length < total) return { messages, rest, broken: false };
    messages.push(rest.subarray(0, total));
    rest = skipLineBreaks(rest.subarray(total));
  }
}

function skipLineBreaks(stream: Buffer): Buffer {
  let start = 0;
  while (stream[start] === 13 || stream[start] === 10) start += 1;
  return stream.subarray(start);
}

/** Content-Length is mandatory on a stream (RFC 3261 section 20.14). */
function contentLength(head: string): number {
  return Number(/\r\n(?:content-length|l)[ \t]*:[ \t]*(\d+)[ \t]*\r\n/i.exec(head)?.[1] ?? NaN);
}
