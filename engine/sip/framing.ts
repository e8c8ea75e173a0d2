import { checked, contentLength, LIMITS, parseHead, type Parsed } from './parser.ts';
import type { SipMessage } from './message.ts';

/** What a stream yields: a message, a keep-alive to answer (RFC 5626 3.5.1), or a fault after which it is unusable. */
export type StreamItem =
  { kind: 'message'; parsed: Parsed; size: number } | { kind: 'ping' } | { kind: 'broken'; error: string };

const END = Buffer.from('\r\n\r\n');
const NOTHING = Buffer.alloc(0);
const CR = 0x0d;
const LF = 0x0a;

/** Cuts a byte stream into SIP messages by Content-Length (RFC 3261 18.3), holding at most one message. */
export class StreamParser {
  #held: Buffer = NOTHING;
  /** What `held` is the beginning of: room for more, so that a message in small pieces is not copied with each. */
  #room: Buffer = NOTHING;
  /** So far the end of the head is not there. */
  #searched = 0;
  #head: SipMessage | undefined;
  #from = 0;

  /** A message has begun and is not whole. */
  get unfinished(): boolean {
    return this.#held.length > 0 || this.#head !== undefined;
  }

  /** Bytes of memory that wait for the rest of a message. */
  get bytes(): number {
    return this.#held.length === 0 ? 0 : Math.max(this.#held.length, this.#room.length);
  }

  /** Everything complete after this chunk. After a `broken` item the connection has to be closed. */
  push(chunk: Buffer): StreamItem[] {
    this.#append(chunk);
    const items: StreamItem[] = [];
    for (let item = this.#next(); item; item = this.#next()) {
      // Thousands of pings at once want to know one thing.
      if (item.kind === 'ping' && items.at(-1)?.kind === 'ping') continue;
      items.push(item);
      if (item.kind === 'broken') break;
    }
    return items;
  }

  #append(chunk: Buffer): void {
    const [used, wanted] = [this.#held.length, this.#held.length + chunk.length];
    if (used === 0) return void (this.#held = chunk);
    if (this.#room.length < wanted) this.#room = Buffer.concat([this.#held], 2 * wanted);
    chunk.copy(this.#room, used);
    this.#held = this.#room.subarray(0, wanted);
  }

  /** The first bytes are read. */
  #drop(count: number): void {
    this.#held = count === this.#held.length ? NOTHING : this.#held.subarray(count);
    this.#room = NOTHING;
    this.#searched = 0;
  }

  #next(): StreamItem | undefined {
    if (!this.#head) {
      const blank = this.#skipBlank();
      if (blank) return blank;
      const fault = this.#readHead();
      if (fault) return { kind: 'broken', error: fault };
    }
    return this.#head ? this.#readBody(this.#head) : undefined;
  }

  /** Line ends between messages: two in a row are a ping, a single one is a pong or noise. */
  #skipBlank(): StreamItem | undefined {
    let at = 0;
    while (this.#held[at] === CR && this.#held[at + 1] === LF && at < 4) at += 2;
    // Half a ping: the other half may be in the next chunk.
    if (at === 2 && (this.#held.length === 2 || (this.#held.length === 3 && this.#held[2] === CR))) return undefined;
    if (at > 0) this.#drop(at);
    return at === 4 ? { kind: 'ping' } : undefined;
  }

  #readHead(): string | undefined {
    const end = this.#held.indexOf(END, Math.max(0, this.#searched - END.length));
    this.#searched = this.#held.length;
    if (end < 0) return this.#held.length > LIMITS.message ? 'message too large' : undefined;
    if (end > LIMITS.message) return 'message too large';
    const parsed = parseHead(this.#held.toString('utf8', 0, end));
    if (!parsed.ok) return parsed.error;
    const length = contentLength(parsed.message);
    if (length === undefined || length < 0 || length > LIMITS.message) return 'no usable Content-Length';
    this.#head = parsed.message;
    this.#from = end + END.length;
    return undefined;
  }

  #readBody(message: SipMessage): StreamItem | undefined {
    const size = this.#from + (contentLength(message) ?? 0);
    if (this.#held.length < size) return undefined;
    message.body = Buffer.from(this.#held.subarray(this.#from, size));
    this.#drop(size);
    this.#head = undefined;
    return { kind: 'message', parsed: checked(message), size };
  }
}
