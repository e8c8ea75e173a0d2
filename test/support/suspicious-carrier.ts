import { createHash, randomBytes } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { parseAuthorization } from '../../media-app/sip/digest.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * A carrier that challenges every request but ACK with SHA-256 and a new nonce, inside a call too. It answers a call at once
 * and describes media that nobody sends.
 */
export class SuspiciousCarrier {
  /** The methods that came with the right answer to a challenge. */
  readonly proven: string[] = [];
  readonly #socket: Socket;
  readonly #nonces = new Set<string>();

  static async start(): Promise<SuspiciousCarrier> {
    const socket = createSocket('udp4');
    await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve));
    return new SuspiciousCarrier(socket);
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('message', (data, { port }) => this.#hear(data.toString('utf8'), port));
  }

  get port(): number {
    return this.#socket.address().port;
  }

  stop(): void {
    this.#socket.close();
  }

  #hear(text: string, port: number): void {
    const [, method = '', uri = ''] = /^([A-Z]+) (\S+) SIP\/2\.0\r\n/.exec(text) ?? [];
    if (!method || method === 'ACK') return;
    if (!this.#proves(text, method, uri)) return this.#answer(text, port, '401 Unauthorized', this.#challenge());
    this.proven.push(method);
    this.#answer(text, port, '200 OK', [], method === 'INVITE' ? this.#media() : '');
  }

  #proves(text: string, method: string, uri: string): boolean {
    const said = parseAuthorization(/^authorization: (.*)$/im.exec(text)?.[1]?.trim() ?? '');
    if (!said || said['uri'] !== uri || !this.#nonces.delete(said['nonce'] ?? '')) return false;
    const secret = sha256('us:carrier:secret');
    const { nonce, nc, cnonce, response } = said;
    return response === sha256(`${secret}:${nonce}:${nc}:${cnonce}:auth:${sha256(`${method}:${uri}`)}`);
  }

  #challenge(): string[] {
    const nonce = randomBytes(8).toString('hex');
    this.#nonces.add(nonce);
    return [`WWW-Authenticate: Digest realm="carrier", nonce="${nonce}", algorithm=SHA-256, qop="auth"`];
  }

  #media(): string {
    const lines = ['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=-', 'c=IN IP4 127.0.0.1', 't=0 0'];
    return [...lines, `m=audio ${this.port} RTP/AVP 0`, 'a=rtpmap:0 PCMU/8000', ''].join('\r\n');
  }

  #answer(request: string, port: number, status: string, more: string[], body = ''): void {
    const copied = request.split('\r\n').filter(line => /^(via|from|to|call-id|cseq|record-route):/i.test(line));
    const headers = copied.map(line => (/^to:(?!.*tag=)/i.test(line) ? `${line};tag=suspicious` : line));
    const ours = [`Contact: <sip:carrier@127.0.0.1:${this.port}>`, ...more];
    const about = body ? ['Content-Type: application/sdp'] : [];
    const text = [`SIP/2.0 ${status}`, ...headers, ...ours, ...about, `Content-Length: ${body.length}`, '', body];
    this.#socket.send(text.join('\r\n'), port, '127.0.0.1');
  }
}
