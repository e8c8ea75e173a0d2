import { createSocket, type Socket } from 'node:dgram';
import { eventually } from './eventually.ts';

/** A carrier that says nothing to an INVITE until it is told to; to OPTIONS only when it is `there`. */
export class LateCarrier {
  readonly canceled: Promise<void>;
  readonly #socket: Socket;
  #invite: { text: string; port: number } | undefined;

  static async start({ there = false } = {}): Promise<LateCarrier> {
    const socket = createSocket('udp4');
    await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve));
    return new LateCarrier(socket, there);
  }

  private constructor(socket: Socket, there: boolean) {
    this.#socket = socket;
    this.canceled = new Promise(resolve =>
      socket.on('message', (data, { port }) => {
        const text = data.toString('utf8');
        if (there && text.startsWith('OPTIONS ')) this.#answer(text, '200 OK', port);
        if (text.startsWith('INVITE ')) this.#invite ??= { text, port };
        if (!text.startsWith('CANCEL ')) return;
        this.#answer(text, '200 OK', port);
        if (this.#invite) this.#answer(this.#invite.text, '487 Request Terminated', port);
        resolve();
      }),
    );
  }

  get port(): number {
    return this.#socket.address().port;
  }

  /** The answer to the INVITE, such as `180 Ringing`, once there is one. */
  async say(status: string): Promise<void> {
    const invite = await eventually('the INVITE', () => this.#invite, Boolean);
    if (invite) this.#answer(invite.text, status, invite.port);
  }

  stop(): void {
    this.#socket.close();
  }

  #answer(request: string, status: string, port: number): void {
    const copied = request.split('\r\n').filter(line => /^(via|from|to|call-id|cseq):/i.test(line));
    const headers = copied.map(line => (/^to:(?!.*tag=)/i.test(line) ? `${line};tag=late` : line));
    this.#socket.send(`SIP/2.0 ${status}\r\n${headers.join('\r\n')}\r\nContent-Length: 0\r\n\r\n`, port, '127.0.0.1');
  }
}
