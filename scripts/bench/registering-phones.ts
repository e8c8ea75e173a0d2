import { randomBytes } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { guess } from '../../test/support/stranger.ts';

const SOCKETS = 4;
const AGAIN_MS = 500;
const PATIENCE_MS = 10_000;
const BUFFER_BYTES = 4 << 20;

/** An extension as a phone knows it. */
export interface Account {
  username: string;
  password: string;
  domain: string;
}

/** Many phones behind a few sockets, each with one contact; they register, and answer OPTIONS. */
export class RegisteringPhones {
  readonly #sockets: Socket[];
  readonly #server: { host: string; port: number };
  readonly #waiting = new Map<string, (answer: string) => void>();
  /** OPTIONS that were answered. */
  asked = 0;

  static async start(server: { host: string; port: number }): Promise<RegisteringPhones> {
    const sockets = Array.from({ length: SOCKETS }, () => createSocket({ type: 'udp4', recvBufferSize: BUFFER_BYTES }));
    for (const socket of sockets) await once(socket.bind(0, '127.0.0.1'), 'listening');
    return new RegisteringPhones(sockets, server);
  }

  constructor(sockets: Socket[], server: { host: string; port: number }) {
    this.#sockets = sockets;
    this.#server = server;
    for (const socket of sockets)
      socket.on('message', (data, { port }) => this.#hear(socket, data.toString('latin1'), port));
  }

  /** Registers the phone of an account, answering a challenge; resolves with the milliseconds it took. */
  async register(account: Account, number: number): Promise<number> {
    const began = performance.now();
    const call = { callId: randomBytes(8).toString('hex'), socket: this.#sockets[number % SOCKETS] as Socket };
    let answer = await this.#ask(account, { ...call, cseq: 1, lines: [] });
    if (answer.startsWith('SIP/2.0 401')) {
      const lines = [guess(answer, { ...account, method: 'REGISTER', uri: `sip:${account.domain}` })];
      answer = await this.#ask(account, { ...call, cseq: 2, lines });
    }
    if (!answer.startsWith('SIP/2.0 200')) throw new Error(`${account.username}: ${answer.split('\r\n')[0]}`);
    return performance.now() - began;
  }

  close(): void {
    for (const socket of this.#sockets) socket.close();
  }

  async #ask(
    { username, domain }: Account,
    { callId, socket, cseq, lines }: { callId: string; socket: Socket; cseq: number; lines: string[] },
  ): Promise<string> {
    const branch = `z9hG4bK${randomBytes(8).toString('hex')}`;
    const { port } = socket.address();
    const text = [
      `REGISTER sip:${domain} SIP/2.0`,
      `Via: SIP/2.0/UDP 127.0.0.1:${port};rport;branch=${branch}`,
      'Max-Forwards: 70',
      `From: <sip:${username}@${domain}>;tag=${branch.slice(-8)}`,
      `To: <sip:${username}@${domain}>`,
      `Call-ID: ${callId}`,
      `CSeq: ${cseq} REGISTER`,
      `Contact: <sip:${username}@127.0.0.1:${port}>`,
      'Expires: 3600',
      ...lines,
      'Content-Length: 0',
      '',
      '',
    ].join('\r\n');
    return this.#exchange(branch, () => socket.send(text, this.#server.port, this.#server.host));
  }

  /** Sends until there is an answer (RFC 3261 section 17.1.2); an empty one when there is none. */
  async #exchange(branch: string, send: () => void): Promise<string> {
    send();
    const again = setInterval(send, AGAIN_MS);
    let late: NodeJS.Timeout | undefined;
    try {
      return await new Promise(resolve => {
        this.#waiting.set(branch, resolve);
        late = setTimeout(() => resolve(''), PATIENCE_MS);
      });
    } finally {
      clearInterval(again);
      clearTimeout(late);
      this.#waiting.delete(branch);
    }
  }

  #hear(socket: Socket, text: string, port: number): void {
    if (text.startsWith('OPTIONS ')) {
      this.asked++;
      const copied = text.split('\r\n').filter(line => /^(via|from|to|call-id|cseq):/i.test(line));
      const answer = ['SIP/2.0 200 OK', ...copied, 'Content-Length: 0', '', ''].join('\r\n');
      return socket.send(answer, port, this.#server.host);
    }
    this.#waiting.get(/^via:.*;branch=([^;\s]+)/im.exec(text)?.[1] ?? '')?.(text);
  }
}
