/** One command from an event socket client: its first line, its header lines and, if it announced one, its body. */
export interface EslMessage {
  /** The first line, without its line end, for instance `api sofia status`. */
  command: string;
  /** Header lines after the first, names in lower case; of a repeated header the first one counts. */
  headers: ReadonlyMap<string, string>;
  body: string;
}

/** How much one client may make us keep in memory. */
export interface ReaderLimits {
  headerBytes: number;
  bodyBytes: number;
}

const defaultLimits: ReaderLimits = { headerBytes: 64 * 1024, bodyBytes: 1024 * 1024 };

/**
 * Cuts the byte stream of one connection into messages. Line ends may be LF or CRLF, empty lines before a command are
 * skipped, one write may hold several messages and one message may come in many writes (protocol page §2, traps 11 and 12).
 */
export class EslReader {
  #buffer: Buffer = Buffer.alloc(0);
  /** Has room behind what is in it, so that a slow writer costs neither quadratic time nor an object for every byte. */
  #store: Buffer = Buffer.alloc(0);
  #scanned = 0;
  #head: { message: Omit<EslMessage, 'body'>; bodyBytes: number } | null = null;
  readonly #limits: ReaderLimits;

  constructor(limits: Partial<ReaderLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits };
  }

  /**
   * Adds bytes and returns the messages they complete.
   * @throws Error when a message is larger than the limits; the connection is of no use after that.
   */
  push(chunk: Buffer): EslMessage[] {
    this.#append(chunk);
    const messages: EslMessage[] = [];
    for (let message = this.#next(); message; message = this.#next()) messages.push(message);
    return messages;
  }

  #append(chunk: Buffer): void {
    const held = this.#buffer.length;
    if (held === 0) {
      this.#buffer = this.#store = chunk;
      return;
    }
    let start = this.#buffer.byteOffset - this.#store.byteOffset;
    if (start + held + chunk.length > this.#store.length) {
      this.#store = Buffer.concat([this.#buffer, chunk], 2 * (held + chunk.length));
      start = 0;
    } else chunk.copy(this.#store, start + held);
    this.#buffer = this.#store.subarray(start, start + held + chunk.length);
  }

  #next(): EslMessage | null {
    this.#head ??= this.#readHead();
    if (!this.#head || this.#buffer.length < this.#head.bodyBytes) return null;
    const { message, bodyBytes } = this.#head;
    const body = this.#buffer.toString('utf8', 0, bodyBytes);
    this.#consume(bodyBytes);
    this.#head = null;
    return { ...message, body };
  }

  #readHead(): { message: Omit<EslMessage, 'body'>; bodyBytes: number } | null {
    this.#skipEmptyLines();
    const end = this.#headEnd();
    if (end === null) {
      if (this.#buffer.length > this.#limits.headerBytes) throw new Error('event socket command is too long');
      return null;
    }
    if (end.length > this.#limits.headerBytes) throw new Error('event socket command is too long');
    const message = parseHead(this.#buffer.toString('utf8', 0, end.length));
    this.#consume(end.next);
    const bodyBytes = Number(message.headers.get('content-length') ?? 0);
    if (!Number.isInteger(bodyBytes) || bodyBytes < 0 || bodyBytes > this.#limits.bodyBytes) {
      throw new Error('event socket command announces a body that is too long');
    }
    return { message, bodyBytes };
  }

  #skipEmptyLines(): void {
    let at = 0;
    while (this.#buffer[at] === 0x0a || this.#buffer[at] === 0x0d) at += 1;
    if (at > 0) this.#consume(at);
  }

  /** Finds the empty line, remembering how far it looked, so that a slow writer does not cost quadratic time. */
  #headEnd(): { length: number; next: number } | null {
    for (;;) {
      const at = this.#buffer.indexOf(0x0a, this.#scanned);
      if (at < 0) return null;
      if (this.#buffer[at + 1] === 0x0a) return { length: at, next: at + 2 };
      if (this.#buffer[at + 1] === 0x0d && this.#buffer[at + 2] === 0x0a) return { length: at, next: at + 3 };
      if (at + 2 >= this.#buffer.length) return null;
      this.#scanned = at + 1;
    }
  }

  #consume(bytes: number): void {
    this.#buffer = this.#buffer.subarray(bytes);
    this.#scanned = 0;
  }
}

function parseHead(text: string): Omit<EslMessage, 'body'> {
  const [command = '', ...lines] = text.split('\n').map(line => line.replace(/\r$/, ''));
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    const name = line.slice(0, colon).trim().toLowerCase();
    if (!headers.has(name)) headers.set(name, line.slice(colon + 1).replace(/^[ \t]/, ''));
  }
  return { command: command.trimStart(), headers };
}
