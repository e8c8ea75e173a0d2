import { strict as assert } from 'node:assert';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import type { EslHost } from '../../../../engine/esl/connection.ts';
import { EslConnection } from '../../../../engine/esl/connection.ts';
import { InboundServer } from '../../../../engine/esl/inbound.ts';

/** A raw client that collects what the server writes. */
class RawClient {
  text = '';
  closed = false;
  readonly socket: Socket;
  #waiting: (() => void)[] = [];

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('data', data => this.#changed(() => (this.text += data.toString())));
    this.socket.on('close', () => this.#changed(() => (this.closed = true)));
    this.socket.on('error', () => undefined);
  }

  #changed(change: () => void): void {
    change();
    for (const wake of this.#waiting.splice(0)) wake();
  }

  async until(test: () => boolean): Promise<void> {
    while (!test()) await new Promise<void>(resolve => this.#waiting.push(resolve));
  }

  /** Sends a command and gives what arrives until `end` does. */
  async ask(command: string, end: string | RegExp): Promise<string> {
    this.text = '';
    this.socket.write(command);
    const pattern = typeof end === 'string' ? new RegExp(end.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')) : end;
    await this.until(() => pattern.test(this.text));
    return this.text;
  }
}

describe('inbound event socket', () => {
  const host: EslHost = {
    api: (name, args) =>
      name === 'slow' ? new Promise(resolve => setTimeout(() => resolve(`slow ${args}`), 20)) : `fast ${args}`,
    sendMessage: uuid => `-ERR invalid session id [${uuid}]`,
    raise: () => undefined,
  };
  let server: InboundServer;
  let port = 0;
  let client: RawClient;

  beforeEach(async () => {
    server = new InboundServer({ host, address: '127.0.0.1', port: 0, password: 'ClueCon' });
    port = await server.start();
    client = new RawClient(port);
    await client.until(() => client.text.includes('auth/request\n\n'));
  });

  afterEach(async () => {
    client.socket.destroy();
    await server.stop();
  });

  const login = () => client.ask('auth ClueCon\n\n', 'Reply-Text: +OK accepted\n\n');

  it('lets nobody do anything before the password', async () => {
    assert.match(await client.ask('api status\n\n', '\n\n'), /-ERR command not found/);
  });

  it('says invalid to a wrong password and hangs up', async () => {
    const text = await client.ask('auth wrong\n\n', 'cluecon.com');
    assert.match(text, /Reply-Text: -ERR invalid\n\nContent-Type: text\/disconnect-notice\nContent-Length: 67\n\n/);
    await client.until(() => client.closed);
  });

  it('answers commands in their order, however long one takes', async () => {
    await login();
    const text = await client.ask('api slow 1\n\napi quick 2\n\napi slow 3\n\n', 'slow 3');
    assert.deepEqual(text.match(/(slow|fast) \d/g), ['slow 1', 'fast 2', 'slow 3']);
  });

  for (const [command, reply] of [
    ['event json HEARTBEAT', '+OK event listener enabled json'],
    ['event plain CHANNEL_ANSWER', '+OK event listener enabled plain'],
    ['event json NO_SUCH_EVENT', '-ERR no keywords supplied'],
    ['event', '-ERR no keywords supplied'],
    ['EVENT JSON ALL', '+OK event listener enabled json'],
    ['noevents', '+OK no longer listening for events'],
    ['nixevent CHANNEL_ANSWER', '+OK events nixed'],
    ['filter Unique-ID abc', '+OK filter added. [Unique-ID]=[abc]'],
    ['filter Unique-ID', '-ERR invalid syntax'],
    ['filter delete Unique-ID abc', '+OK filter deleted. [Unique-ID][abc]'],
    ['filter delete all', '+OK filter deleted. [all][]'],
    ['log 4', '+OK log level 4 [4]'],
    ['log info', '+OK log level info [6]'],
    ['nolog', '+OK no longer logging'],
    ['linger 5', '-ERR not controlling a session'],
    ['nolinger', '-ERR not controlling a session'],
    ['connect', '-ERR command not found'],
    ['resume', '-ERR command not found'],
    ['getvar x', '-ERR command not found'],
    ['frobnicate', '-ERR command not found'],
    ['api', '-ERR command not found'],
    ['sendmsg abc', '-ERR invalid session id [abc]'],
  ] as const) {
    it(`answers "${command}" as the real server was seen to`, async () => {
      await login();
      assert.equal(await client.ask(`${command}\n\n`, '\n\n'), `Content-Type: command/reply\nReply-Text: ${reply}\n\n`);
    });
  }

  it('names the job of a background command, and gives its own name back', async () => {
    await login();
    const text = await client.ask('bgapi quick\nJob-UUID: job-1\n\n', '\n\n');
    assert.equal(text, 'Content-Type: command/reply\nReply-Text: +OK Job-UUID: job-1\nJob-UUID: job-1\n\n');
  });

  it('takes leave when asked to exit', async () => {
    await login();
    const text = await client.ask('exit\n\n', 'cluecon.com');
    assert.match(
      text,
      /^Content-Type: command\/reply\nReply-Text: \+OK bye\n\nContent-Type: text\/disconnect-notice\n/,
    );
    await client.until(() => client.closed);
  });

  it('cuts off a client that sends without end', async () => {
    await login();
    client.socket.write(Buffer.alloc(200_000, 'a'));
    await client.until(() => client.closed);
  });

  it('cuts off a stranger that asks without end and never reads what it is answered', async () => {
    let worst = 0;
    const listening = createServer(socket => {
      new EslConnection(socket, { host, authenticate: () => false });
      socket.on('data', () => (worst = Math.max(worst, socket.writableLength)));
    });
    await new Promise<void>(resolve => listening.listen(0, '127.0.0.1', resolve));
    const asking = connect((listening.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
    asking.pause();
    while (!asking.destroyed && worst < 4e6)
      await new Promise(resolve => asking.write('x\n\n'.repeat(20_000), resolve));
    listening.close();
    asking.destroy();
    assert.ok(worst < 100_000, `${worst} bytes`);
  });
});
