import { strict as assert } from 'node:assert';
import { SDP, type Heard, type Peer, type UdpPeer } from './peer.ts';
import { next, Rig, SHORT, type Call, type Client, type Request, type Response } from './rig.ts';

/** A server with one application, and calls between it and phones, all ended by `close`. */
export class Line {
  readonly rig: Rig;
  app!: Client;
  /** What the application does with the next INVITE; answers by default. */
  handle: (request: Request, response: Response) => void = (request, response) => this.answer(request, response);

  private constructor(rig: Rig) {
    this.rig = rig;
  }

  static async open(options: Parameters<typeof Rig.start>[0] = {}, more?: (client: Client) => void): Promise<Line> {
    const line = new Line(await Rig.start(options));
    line.app = await line.rig.app(client => {
      client.invite((request, response) => line.handle(request, response));
      more?.(client);
    });
    return line;
  }

  answer(request: Request, response: Response, headers: Record<string, string> = {}): void {
    void this.app
      .createUAS(request, response, { localSdp: SDP, headers })
      .then(call => this.app.emit('answered', call))
      .catch(() => undefined);
  }

  /** A phone's call up to the 200; its ACK is the caller's affair. */
  async answered(phone: Peer, headers: Record<string, string> = {}): Promise<{ invite: Heard; ok: Heard; call: Call }> {
    const answered = next(this.app, 'answered');
    const invite = phone.request('INVITE', this.rig.uri(), headers, SDP);
    const ok = await phone.expect(/ 200 /);
    const [call] = (await answered) as [Call];
    return { invite, ok, call };
  }

  /** A phone's call up to its ACK. */
  async called(phone: Peer, headers: Record<string, string> = {}): Promise<{ invite: Heard; ok: Heard; call: Call }> {
    const { invite, ok, call } = await this.answered(phone, headers);
    const acknowledged = next(call, 'ack');
    phone.inDialog('ACK', invite, ok, 1);
    await acknowledged;
    phone.heard.splice(0);
    return { invite, ok, call };
  }

  /** The application's call to a phone, up to its ACK. */
  async calling(phone: Peer, headers: Record<string, string> = {}): Promise<{ invite: Heard; call: Call }> {
    const call = this.app.createUAC(`sip:bob@127.0.0.1:${phone.port}`, { localSdp: SDP });
    const invite = await phone.expect(/^INVITE/);
    phone.answer(invite, '200 OK', headers, SDP);
    const standing = await call;
    await phone.expect(/^ACK/);
    return { invite, call: standing };
  }

  /** A request of the called phone inside the application's call. */
  static back(
    phone: Peer,
    method: string,
    invite: Heard,
    seq: number,
    headers: Record<string, string> = {},
    body = '',
  ) {
    const contact = /<([^>]+)>/.exec(invite.get('Contact'))?.[1] ?? '';
    const dialog = { From: `${invite.get('To')};tag=peer${phone.port}`, To: invite.get('From') };
    const all = { ...dialog, 'Call-ID': invite.get('Call-ID'), CSeq: `${seq} ${method}`, ...headers };
    return phone.request(method, contact, all, body);
  }

  /** Hangs up for the application. */
  async hangUp(phone: Peer, call: Call): Promise<void> {
    const gone = call.destroy();
    phone.answer(await phone.expect(/^BYE/), '200 OK');
    await gone;
  }

  close(): Promise<void> {
    return this.rig.close();
  }
}

/** A line with short timers for the tests of a suite, and a new phone for each of them. */
export function withLine(take: (line: Line, phone: UdpPeer) => void): void {
  let line: Line;
  before(async () => void (line = await Line.open({ timers: SHORT })));
  beforeEach(async () => take(line, await line.rig.phone()));
  after(() => line.close());
}

/** Waits for something that shows no event of its own. */
export async function settled(what: string, done: () => boolean): Promise<void> {
  for (const until = Date.now() + 3000; !done(); await new Promise(resolve => setTimeout(resolve, 5)))
    assert(Date.now() < until, `${what} did not come true`);
}
