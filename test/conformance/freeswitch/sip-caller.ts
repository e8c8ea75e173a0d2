import type { Socket } from 'node:dgram';
import { createSocket } from 'node:dgram';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { until } from './engine-under-test.ts';

/** A caller of a few lines over UDP, sharing no code with the engine: INVITE, ACK, BYE, and answers 200 to any BYE or INVITE. */
export class SipCaller {
  readonly received: string[] = [];
  /** True once it has said BYE. */
  ended = false;
  /** What it answers an offer with. */
  description = '';
  readonly #socket: Socket = createSocket('udp4');
  readonly #callId = randomUUID();
  readonly #fromTag = randomUUID();
  readonly #target: number;
  readonly #told: (message: string) => void;
  #port = 0;
  #to = '';
  #cseq = 1;

  private constructor(target: number, told: (message: string) => void) {
    this.#target = target;
    this.#told = told;
  }

  /** `target` is the SIP port to call on loopback; `told` gets every message that comes. */
  static async open(target: number, told: (message: string) => void = () => undefined): Promise<SipCaller> {
    const caller = new SipCaller(target, told);
    caller.#socket.bind(0, '127.0.0.1');
    await once(caller.#socket, 'listening');
    caller.#port = caller.#socket.address().port;
    caller.#to = `<sip:drachtio@127.0.0.1:${target}>`;
    // The port above a telephone's may be ours, and then its RTCP reports come here.
    caller.#socket.on('message', (packet, { port }) => port === target && caller.#receive(packet.toString()));
    return caller;
  }

  /** Calls, or offers anew, acknowledges a 200 and gives its body; rejects with the status of a failure. */
  async invite(sdp: string, headers: Record<string, string> = {}, acknowledge = true): Promise<string> {
    if (this.received.length > 0) this.#cseq += 1;
    const branch = `z9hG4bK${randomUUID()}`;
    const own = { Contact: `<sip:caller@127.0.0.1:${this.#port}>`, ...headers };
    this.#send('INVITE', sdp, sdp === '' ? own : { 'Content-Type': 'application/sdp', ...own }, branch);
    await until(() => this.#final('INVITE') !== undefined, 'an answer to the INVITE', 5000);
    const answer = this.#final('INVITE') ?? '';
    this.#to = /^To: (.*)$/im.exec(answer)?.[1]?.trim() ?? this.#to;
    if (!answer.startsWith('SIP/2.0 200')) {
      this.#send('ACK', '', {}, branch); // of the transaction of the INVITE (RFC 3261 17.1.1.3)
      throw new Error(answer.split('\r\n')[0]);
    }
    if (acknowledge) this.ack();
    return answer.slice(answer.indexOf('\r\n\r\n') + 4);
  }

  ack(sdp = ''): void {
    this.#send('ACK', sdp, sdp === '' ? {} : { 'Content-Type': 'application/sdp' });
  }

  bye(headers: Record<string, string> = {}): void {
    this.ended = true;
    this.#cseq += 1;
    this.#send('BYE', '', headers);
  }

  /** The first BYE that came. */
  byeReceived(): string | undefined {
    return this.received.find(one => one.startsWith('BYE '));
  }

  close(): void {
    this.#socket.close();
  }

  #final(method: string): string | undefined {
    const pattern = new RegExp(`^CSeq: *${this.#cseq} ${method}`, 'im');
    return this.received.find(one => /^SIP\/2\.0 [2-6]/.test(one) && pattern.test(one));
  }

  #send(method: string, body = '', headers: Record<string, string> = {}, branch = `z9hG4bK${randomUUID()}`): void {
    const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const lines = [
      `${method} sip:drachtio@127.0.0.1:${this.#target} SIP/2.0`,
      `Via: SIP/2.0/UDP 127.0.0.1:${this.#port};rport;branch=${branch}`,
      'Max-Forwards: 70',
      `From: <sip:127.0.0.1:${this.#port}>;tag=${this.#fromTag}`,
      `To: ${this.#to}`,
      `Call-ID: ${this.#callId}`,
      `CSeq: ${this.#cseq} ${method}`,
      ...own,
      `Content-Length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ];
    this.#socket.send(lines.join('\r\n'), this.#target, '127.0.0.1');
  }

  #receive(message: string): void {
    this.received.push(message);
    this.#told(message);
    const offered = message.startsWith('INVITE ');
    if (!offered && !message.startsWith('BYE ')) return;
    const copied = message.split('\r\n').filter(line => /^(Via|From|To|Call-ID|CSeq):/i.test(line));
    const own = [`Contact: <sip:caller@127.0.0.1:${this.#port}>`, 'Content-Type: application/sdp'];
    const body = offered ? this.description : '';
    const length = `Content-Length: ${Buffer.byteLength(body)}`;
    const answer = ['SIP/2.0 200 OK', ...copied, ...(offered ? own : []), length, '', body].join('\r\n');
    this.#socket.send(answer, this.#target, '127.0.0.1');
  }
}
