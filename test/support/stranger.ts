import { createHash, randomBytes } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

/** What somebody sends who is no phone of ours. */
export interface StrangeRequest {
  method?: string;
  uri: string;
  from?: string;
  to?: string;
  /** More header lines, as they go out. */
  lines?: string[];
  body?: string;
  branch?: string;
  callId?: string;
  cseq?: number;
  /** The tag of From; one of its own for each request when left out. */
  tag?: string;
  /** What stands in Contact; empty for none. Where we are when left out. */
  contact?: string;
}

/** A digest answer to a challenge. */
export interface Guess {
  username: string;
  password: string;
  method: string;
  uri: string;
  nc?: string;
}

/** A final answer, and the milliseconds until it came. */
export interface StrangeAnswer {
  status: number;
  text: string;
  ms: number;
}

const md5 = (text: string): string => createHash('md5').update(text).digest('hex');

/** An answer to a challenge (RFC 2617 section 3.2.2). */
export const guess = (challenge: string, { username, password, method, uri, nc = '00000001' }: Guess): string => {
  const [nonce = '', realm = ''] = ['nonce', 'realm'].map(
    name => new RegExp(`${name}="([^"]*)"`).exec(challenge)?.[1],
  ) as [string, string];
  const response = md5(`${md5(`${username}:${realm}:${password}`)}:${nonce}:${nc}:c0:auth:${md5(`${method}:${uri}`)}`);
  return (
    `Authorization: Digest username="${username}", realm="${realm}", nonce="${nonce}", uri="${uri}", ` +
    `algorithm=MD5, qop=auth, nc=${nc}, cnonce="c0", response="${response}"`
  );
};

/** Somebody at an address who sends raw SIP over UDP and hears what comes back. */
export class Stranger {
  readonly address: string;
  readonly #socket: Socket;
  readonly #server: { host: string; port: number };
  readonly #waiting = new Map<string, (answer: string) => void>();
  /** Every message that came, in order. */
  readonly heard: string[] = [];

  /** @param listen is told every message that comes */
  static async start(
    address: string,
    server: { host: string; port: number },
    listen?: (text: string) => void,
  ): Promise<Stranger> {
    const socket = createSocket('udp4').bind(0, address);
    await once(socket, 'listening');
    return new Stranger(socket, address, server, listen);
  }

  private constructor(
    socket: Socket,
    address: string,
    server: { host: string; port: number },
    listen?: (text: string) => void,
  ) {
    this.#socket = socket;
    this.#server = server;
    this.address = address;
    socket.on('message', data => {
      const text = data.toString('latin1');
      this.#hear(text);
      listen?.(text);
    });
  }

  /** Sends bytes as they are. */
  throw(data: string | Buffer): void {
    this.#socket.send(data, this.#server.port, this.#server.host);
  }

  /** The text of a request with a Via of ours. */
  write({ method = 'REGISTER', uri, body = '', ...given }: StrangeRequest): string {
    const { branch = `z9hG4bK${randomBytes(8).toString('hex')}`, callId = randomBytes(10).toString('hex') } = given;
    const { port } = this.#socket.address();
    const from = given.from ?? `<${uri}>`;
    return [
      `${method} ${uri} SIP/2.0`,
      `Via: SIP/2.0/UDP ${this.address}:${port};rport;branch=${branch}`,
      'Max-Forwards: 70',
      `From: ${from};tag=${given.tag ?? randomBytes(5).toString('hex')}`,
      `To: ${given.to ?? from}`,
      `Call-ID: ${callId}`,
      `CSeq: ${given.cseq ?? 1} ${method}`,
      ...(given.contact === '' ? [] : [`Contact: ${given.contact ?? `<sip:x@${this.address}:${port}>`}`]),
      ...(given.lines ?? []),
      `Content-Length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n');
  }

  /** Sends a request; the first final answer and how long it took, or undefined after `patience_ms` of silence. */
  async ask(request: StrangeRequest, patience_ms = 1500): Promise<StrangeAnswer | undefined> {
    const branch = `z9hG4bK${randomBytes(8).toString('hex')}`;
    const answer = new Promise<string>(resolve => this.#waiting.set(branch, resolve));
    const began = performance.now();
    this.throw(this.write({ ...request, branch }));
    let timer: NodeJS.Timeout | undefined;
    const silence = new Promise<undefined>(resolve => (timer = setTimeout(() => resolve(undefined), patience_ms)));
    const text = await Promise.race([answer, silence]);
    clearTimeout(timer);
    this.#waiting.delete(branch);
    return text === undefined ? undefined : { status: statusOf(text), text, ms: performance.now() - began };
  }

  /** Asks, and answers the challenge once; the status of the second answer. */
  async attempt(
    request: StrangeRequest & { method: string },
    who: { username: string; password: string },
    patience_ms?: number,
  ): Promise<StrangeAnswer | undefined> {
    const first = await this.ask(request, patience_ms);
    if (!first) return undefined;
    const lines = [...(request.lines ?? []), guess(first.text, { ...who, ...request })];
    return this.ask({ ...request, cseq: (request.cseq ?? 1) + 1, lines }, patience_ms);
  }

  /** Answers a request that was heard. */
  answer(request: string, status: string): void {
    const copied = request.split('\r\n').filter(line => /^(via|from|to|call-id|cseq):/i.test(line));
    this.throw([`SIP/2.0 ${status}`, ...copied, 'Content-Length: 0', '', ''].join('\r\n'));
  }

  close(): void {
    this.#socket.close();
  }

  #hear(text: string): void {
    this.heard.push(text);
    if (this.heard.length > 1000) this.heard.shift();
    const branch = /^via:.*;branch=([^;\s]+)/im.exec(text)?.[1] ?? '';
    if (statusOf(text) >= 200) this.#waiting.get(branch)?.(text);
  }
}

const statusOf = (text: string): number => Number(/^SIP\/2\.0 (\d{3})/.exec(text)?.[1] ?? 0);
