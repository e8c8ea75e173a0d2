import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import type { MediaServer } from '../../../engine/freeswitch/server.ts';
import { startMediaServer } from '../../../engine/freeswitch/server.ts';
import { silent, until } from './engine-under-test.ts';
import { RtpPeer } from './rtp-peer.ts';
import { SipCaller } from './sip-caller.ts';
import { engineSuite } from '../../support/engine-only.ts';

/** The application's end of an outbound connection, byte for byte. */
class Application {
  text = '';
  closed = false;
  socket: Socket | null = null;
  readonly server: Server = createServer(socket => {
    this.socket = socket;
    socket.on('data', data => (this.text += data.toString()));
    socket.on('close', () => (this.closed = true));
    socket.on('error', () => undefined);
  });

  async listen(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Writes a command and waits for text that was not there before. */
  async ask(command: string, wanted: RegExp): Promise<string> {
    this.text = '';
    this.socket?.write(`${command}\n\n`);
    await until(
      () => wanted.test(this.text),
      `${wanted} after ${command.split('\n')[0]}, got ${this.text.slice(-300)}`,
    );
    return this.text;
  }

  close(): void {
    this.socket?.destroy();
    this.server.close();
  }
}

engineSuite('it starts an engine of its own', 'outbound connections of the media server, byte for byte', () => {
  let server: MediaServer;
  let application: Application;
  let address: string;
  let caller: SipCaller;
  let peer: RtpPeer;

  beforeEach(async () => {
    server = await startMediaServer({
      rtpHost: '127.0.0.1',
      rtpPorts: [41700, 41800],
      sip: { host: '127.0.0.1', port: 0 },
      eventSocket: { host: '127.0.0.1', port: 0, password: 'ClueCon' },
      soundsDir: '.',
      log: silent,
    });
    application = new Application();
    address = await application.listen();
    caller = await SipCaller.open(server.sipPort);
    peer = await RtpPeer.open();
  });

  afterEach(async () => {
    application.close();
    await until(async () => (await server.stats()).channels === 0, 'every channel to be gone');
    caller.close();
    peer.close();
    await server.stop();
  });

  const headers = () => ({ 'User-Agent': 'drachtio-fsmrf:some-id', 'X-esl-outbound': address });

  async function connected(): Promise<string> {
    await caller.invite(peer.sdp(), headers());
    await until(() => application.socket !== null, 'the outbound connection');
    const text = await application.ask('connect', /Control: full\n\n$/);
    return /^Unique-ID: (.*)$/m.exec(text)?.[1] ?? '';
  }

  it('are opened only after the ACK', async () => {
    await caller.invite(peer.sdp(), headers(), false);
    await new Promise(resolve => setTimeout(resolve, 100)); // nothing is to happen, so there is nothing to wait for
    assert.equal(application.socket, null);
    caller.ack();
    await until(() => application.socket !== null, 'the outbound connection');
  });

  it('begin with the data of the channel, encoded', async () => {
    await connected();
    const text = application.text;
    for (const line of [
      'Event-Name: CHANNEL_DATA',
      'Content-Type: command/reply',
      'Reply-Text: %2BOK%0A',
      'Socket-Mode: async',
      'variable_sip_user_agent: drachtio-fsmrf%3Asome-id',
      'variable_local_media_ip: 127.0.0.1',
      `variable_remote_media_port: ${peer.port}`,
      'variable_dtmf_type: rfc2833',
      'Channel-Call-State: ACTIVE',
    ])
      assert.ok(text.includes(`\n${line}\n`) || text.startsWith(`${line}\n`), `no ${line}`);
    assert.match(text, /^Channel-Unique-ID: [0-9a-f-]{36}$/m);
    assert.match(text, /^variable_rtp_local_sdp_str: v%3D0%0D%0Ao%3D/m);
  });

  it('give variables by getvar', async () => {
    await connected();
    assert.match(await application.ask('getvar dtmf_type', /\n\n/), /Reply-Text: rfc2833\n/);
    assert.match(await application.ask('getvar nosuch', /\n\n/), /Reply-Text: -ERR command not found\n/);
  });

  it('run a locked command to its end before the next', async () => {
    await connected();
    await application.ask('event plain CHANNEL_EXECUTE CHANNEL_EXECUTE_COMPLETE', /enabled plain\n\n/);
    const execute = (app: string, argument: string, id: string, more = '') =>
      `sendmsg\ncall-command: execute\nexecute-app-name: ${app}\nexecute-app-arg: ${argument}\nEvent-UUID: ${id}${more}\n\n`;
    const text = await application.ask(
      execute('playback', 'silence_stream://60', 'one', '\nloops: 2\nevent-lock: true') +
        execute('set', 'a=b', 'two').trimEnd(),
      /Application-UUID: two[\s\S]*Application-UUID: two/,
    );
    const order = [...text.matchAll(/Event-Name: (CHANNEL_EXECUTE\w*)[\s\S]*?Application-UUID: (\w+)/g)].map(
      one => `${one[1]} ${one[2]}`,
    );
    assert.deepEqual(order, [
      'CHANNEL_EXECUTE one',
      'CHANNEL_EXECUTE_COMPLETE one',
      'CHANNEL_EXECUTE two',
      'CHANNEL_EXECUTE_COMPLETE two',
    ]);
  });

  it('take an argument from a body', async () => {
    await connected();
    await application.ask('event plain CHANNEL_EXECUTE_COMPLETE', /enabled plain\n\n/);
    const body = 'foo_2=a b';
    const head = 'sendmsg\ncall-command: execute\nexecute-app-name: set\ncontent-type: text/plain';
    const text = await application.ask(`${head}\ncontent-length: ${body.length}\n\n${body}`, /Application-Response/);
    assert.match(text, /variable_foo_2: a%20b\n/);
  });

  it('complete everything, tell the hang-up and take leave, in this order', async () => {
    await connected();
    await application.ask('event json CHANNEL_EXECUTE_COMPLETE CHANNEL_CALLSTATE', /enabled json\n\n/);
    await application.ask(
      'sendmsg\ncall-command: execute\nexecute-app-name: playback\nexecute-app-arg: silence_stream://-1\nEvent-UUID: p',
      /\+OK\n\n/,
    );
    application.text = '';
    caller.bye();
    await until(() => application.closed, 'the end of the connection');
    const told = [...application.text.matchAll(/"Event-Name":"(\w+)"|Content-Type: (text\/disconnect-notice)/g)].map(
      one => one[1] ?? one[2],
    );
    const expected = [
      'CHANNEL_EXECUTE_COMPLETE',
      'CHANNEL_EXECUTE_COMPLETE',
      'CHANNEL_CALLSTATE',
      'text/disconnect-notice',
    ];
    assert.deepEqual(told, expected);
    assert.match(application.text, /Controlled-Session-UUID: /);
  });

  it('stay after the hang-up as long as they linger', async () => {
    await connected();
    await application.ask('linger 1', /will linger 1 seconds\n\n/);
    caller.bye();
    await until(() => application.text.includes('Content-Disposition: linger'), 'the linger notice');
    assert.ok(!application.closed);
    await until(() => application.text.includes('Disconnected, goodbye.'), 'the end', 2000);
  });

  it('make a BYE when the application is not there', async () => {
    const absent = new Application();
    const nowhere = await absent.listen();
    absent.close();
    await caller.invite(peer.sdp(), { ...headers(), 'X-esl-outbound': nowhere });
    await until(() => caller.byeReceived() !== undefined, 'the BYE');
    assert.match(caller.byeReceived() ?? '', /Reason: Q\.850;cause=16;text="NORMAL_CLEARING"/);
  });

  it('are for drachtio-fsmrf only: any other call is refused', async () => {
    await assert.rejects(caller.invite(peer.sdp(), { 'User-Agent': 'somebody' }), /404/);
  });

  it('survive commands that make no sense', async () => {
    const uuid = await connected();
    for (const command of [
      'sendmsg',
      `sendmsg ${uuid}\ncall-command: nonsense`,
      `sendmsg ${uuid}\ncall-command: execute`,
      'filter',
      'event',
      'api uuid_bridge',
    ])
      assert.match(await application.ask(command, /\n\n/), /-ERR|-USAGE/);
    assert.match(await application.ask(`api uuid_exists ${uuid}`, /true$/), /true$/);
  });
});
