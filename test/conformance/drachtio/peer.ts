import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { randomBytes } from 'node:crypto';
import { WebSocket } from 'ws';

/** A SIP message as text, with the few things a script asks of it. Shares no code with the engine. */
export class Heard {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  get start(): string {
    return this.text.slice(0, this.text.indexOf('\r\n'));
  }
  get body(): string {
    return this.text.slice(this.text.indexOf('\r\n\r\n') + 4);
  }
  all(name: string): string[] {
    const head = this.text.slice(0, this.text.indexOf('\r\n\r\n')).split('\r\n').slice(1);
    const prefix = `${name.toLowerCase()}:`;
    return head.filter(line => line.toLowerCase().startsWith(prefix)).map(line => line.slice(prefix.length).trim());
  }
  get(name: string): string {
    return this.all(name)[0] ?? '';
  }
}

export const SDP = [
  ...['v=0', 'o=ua 1 1 IN IP4 127.0.0.1', 's=-', 'c=IN IP4 127.0.0.1', 't=0 0', 'm=audio 26002 RTP/AVP 0 101'],
  ...['a=rtpmap:0 PCMU/8000', 'a=rtpmap:101 telephone-event/8000', 'a=sendrecv', ''],
].join('\r\n');

const id = (): string => randomBytes(6).toString('hex');
const WAIT_MS = 3000;

/** What a scripted user agent can do, whatever carries it. */
export abstract class Peer {
  abstract readonly port: number;
  abstract readonly transport: 'UDP' | 'TCP' | 'TLS' | 'WS' | 'WSS';
  abstract send(text: string): void;
  abstract close(): void;
  readonly heard: Heard[] = [];
  /** What Via and Contact say. */
  host = '127.0.0.1';
  #waiting: { pattern: RegExp; resolve: (heard: Heard) => void }[] = [];

  protected arrived(text: string): void {
    const heard = new Heard(text);
    const at = this.#waiting.findIndex(one => one.pattern.test(heard.start));
    if (at >= 0) this.#waiting.splice(at, 1)[0]?.resolve(heard);
    else this.heard.push(heard);
  }

  /** The next message, from now or from before, whose start line matches; earlier ones stay for later. */
  async expect(pattern: RegExp, withinMs = WAIT_MS): Promise<Heard> {
    const at = this.heard.findIndex(one => pattern.test(one.start));
    const [found] = at >= 0 ? this.heard.splice(at, 1) : [];
    if (found) return found;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter(one => one.resolve !== done); // it takes nothing from the next test
        const seen = this.heard.map(one => one.start).join(', ');
        reject(new Error(`nothing like ${pattern} arrived; unread: ${seen}`));
      }, withinMs);
      const done = (heard: Heard): void => {
        clearTimeout(timer);
        resolve(heard);
      };
      this.#waiting.push({ pattern, resolve: done });
    });
  }

  contact(): string {
    return `<sip:alice@${this.host}:${this.port}${this.transport === 'UDP' ? '' : `;transport=${this.transport.toLowerCase()}`}>`;
  }

  via(branch = `z9hG4bK${id()}`): string {
    return `SIP/2.0/${this.transport} ${this.host}:${this.port};branch=${branch};rport`;
  }

  /** Sends a request of its own, new unless the headers say otherwise; returns what was sent. */
  request(method: string, uri: string, headers: Record<string, string> = {}, body = ''): Heard {
    const all: Record<string, string> = {
      ...{ Via: this.via(), 'Max-Forwards': '70', From: `<sip:alice@127.0.0.1>;tag=${id()}`, To: `<${uri}>` },
      ...{ 'Call-ID': `${id()}@127.0.0.1`, CSeq: `1 ${method}`, Contact: this.contact() },
      ...(body !== '' && { 'Content-Type': 'application/sdp' }),
      ...headers,
    };
    const text = write(`${method} ${uri} SIP/2.0`, Object.entries(all), body);
    this.send(text);
    return new Heard(text);
  }

  /** Answers a request that was heard. */
  answer(to: Heard, status: string, headers: Record<string, string> = {}, body = ''): void {
    const tagged = to.get('To').includes(';tag=') ? to.get('To') : `${to.get('To')};tag=peer${this.port}`;
    const copied: [string, string][] = [
      ...to.all('Via').map((via): [string, string] => ['Via', via]),
      ...to.all('Record-Route').map((route): [string, string] => ['Record-Route', route]),
      ...[['From', to.get('From')] as [string, string], ['To', tagged] as [string, string]],
      ...[['Call-ID', to.get('Call-ID')] as [string, string], ['CSeq', to.get('CSeq')] as [string, string]],
    ];
    const own: Record<string, string> = {
      ...(/^[12]\d\d/.test(status) && to.start.startsWith('INVITE') && { Contact: this.contact() }),
      ...(body !== '' && { 'Content-Type': 'application/sdp' }),
      ...headers,
    };
    const lines = copied.filter(([name]) => !(name in headers));
    this.send(write(`SIP/2.0 ${status}`, [...lines, ...Object.entries(own)], body));
  }

  /** The next request inside the dialog that this INVITE and its 2xx made. */
  inDialog(
    method: string,
    invite: Heard,
    ok: Heard,
    seq: number,
    headers: Record<string, string> = {},
    body = '',
  ): Heard {
    const target = /<([^>]+)>/.exec(ok.get('Contact'))?.[1] ?? 'sip:127.0.0.1';
    const dialog = { From: invite.get('From'), To: ok.get('To'), 'Call-ID': invite.get('Call-ID') };
    return this.request(method, target, { ...dialog, CSeq: `${seq} ${method}`, ...headers }, body);
  }

  /** CANCEL or the ACK of a failure: the INVITE's own branch. */
  companion(method: 'ACK' | 'CANCEL', invite: Heard, to = invite.get('To')): Heard {
    const same = { Via: invite.get('Via'), From: invite.get('From'), 'Call-ID': invite.get('Call-ID') };
    const uri = invite.start.split(' ')[1] ?? '';
    return this.request(method, uri, { ...same, To: to, CSeq: `${parseInt(invite.get('CSeq'))} ${method}` });
  }
}

function write(start: string, headers: [string, string][], body: string): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `${start}\r\n${lines}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

export class UdpPeer extends Peer {
  readonly transport = 'UDP';
  readonly #socket = createSocket('udp4');
  readonly #server: number;
  #open = true;

  private constructor(server: number) {
    super();
    this.#server = server;
  }

  static async open(server: number): Promise<UdpPeer> {
    const peer = new UdpPeer(server);
    peer.#socket.on('message', data => peer.arrived(data.toString()));
    peer.#socket.bind(0, '127.0.0.1');
    await once(peer.#socket, 'listening');
    return peer;
  }

  get port(): number {
    return this.#socket.address().port;
  }

  send(text: string): void {
    this.#socket.send(text, this.#server, '127.0.0.1');
  }

  close(): void {
    if (this.#open) this.#socket.close();
    this.#open = false;
  }
}

/** A phone on a byte stream: TCP or TLS. */
export class TcpPeer extends Peer {
  readonly transport: 'TCP' | 'TLS';
  readonly port: number;
  readonly socket: Socket;
  #rest = '';
  /** Bytes that are no message: answers to keep-alives. */
  pongs = 0;

  constructor(socket: Socket, transport: 'TCP' | 'TLS') {
    super();
    this.socket = socket;
    this.transport = transport;
    this.port = socket.localPort ?? 0;
    socket.on('data', chunk => this.#read(chunk.toString()));
    socket.on('error', () => undefined);
  }

  static async open(server: number, host = '127.0.0.1'): Promise<TcpPeer> {
    const socket = connect(server, host);
    await once(socket, 'connect');
    return new TcpPeer(socket, 'TCP');
  }

  /** Trusts only what it is told to. */
  static async openTls(server: number, options: ConnectionOptions): Promise<TcpPeer> {
    const socket = connectTls({ host: '127.0.0.1', port: server, ...options });
    await once(socket, 'secureConnect');
    return new TcpPeer(socket, 'TLS');
  }

  #read(text: string): void {
    this.#rest += text;
    for (;;) {
      while (this.#rest.startsWith('\r\n')) {
        this.#rest = this.#rest.slice(2);
        this.pongs++;
      }
      const end = this.#rest.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = Number(/\r\nContent-Length: *(\d+)/i.exec(this.#rest)?.[1] ?? 0);
      if (this.#rest.length < end + 4 + length) return;
      this.arrived(this.#rest.slice(0, end + 4 + length));
      this.#rest = this.#rest.slice(end + 4 + length);
    }
  }

  send(text: string): void {
    this.socket.write(text);
  }

  close(): void {
    this.socket.destroy();
  }
}

/** A browser's phone: it cannot be connected to, and says so (RFC 7118 5.1). */
export class WsPeer extends Peer {
  readonly transport: 'WS' | 'WSS';
  readonly port = 443;
  override host = `${id()}.invalid`;
  readonly socket: WebSocket;
  /** Frames that are no message: answers to keep-alives. */
  pongs = 0;

  private constructor(socket: WebSocket, transport: 'WS' | 'WSS') {
    super();
    this.socket = socket;
    this.transport = transport;
    socket.on('error', () => undefined);
    socket.on('message', (data: Buffer) => {
      if (data.toString() === '\r\n') this.pongs++;
      else this.arrived(data.toString());
    });
  }

  static async open(server: number, ca?: string, localAddress?: string): Promise<WsPeer> {
    const host = localAddress?.includes(':') ? `[${localAddress}]` : '127.0.0.1';
    const socket = new WebSocket(`${ca ? 'wss' : 'ws'}://${host}:${server}/`, 'sip', { ca, localAddress });
    const peer = new WsPeer(socket, ca ? 'WSS' : 'WS');
    await once(socket, 'open');
    return peer;
  }

  send(text: string): void {
    this.socket.send(text);
  }

  close(): void {
    this.socket.terminate();
  }
}
