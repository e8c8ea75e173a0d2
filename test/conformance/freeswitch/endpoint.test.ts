import { strict as assert } from 'node:assert';
import { ownServers } from '../../support/own-servers.ts';
import { engineOnly } from '../../support/engine-only.ts';
import type { EventEmitter } from 'node:events';
import { once } from 'node:events';
import { connect } from 'node:net';
import { startMediaServer } from '../../../engine/freeswitch/server.ts';
import { SipCaller } from './sip-caller.ts';
import {
  MrfClass,
  SrfClass,
  silent,
  timed,
  until,
  withEngine,
  type Endpoint,
  type EngineUnderTest,
} from './engine-under-test.ts';

describe('media server as drachtio-fsmrf sees it', function () {
  let under: EngineUnderTest;

  withEngine(started => (under = started));

  it('tells its SIP address when it is connected to', () => {
    const port = ownServers() ? '\\d+' : under.engine.mediaSipPort; // a FreeSWITCH tells it here alone
    assert.match(under.media.sip.ipv4.udp.address, new RegExp(`^127\\.0\\.0\\.1:${port}$`));
  });

  it('answers an api command it does not know as FreeSWITCH does', async () => {
    assert.equal(await under.media.api('nosuchcommand x'), '-ERR nosuchcommand Command not found!\n');
    assert.match(await under.media.api('status'), /is ready/);
    assert.equal(await under.media.api('uuid_kill 0'), '-ERR No such channel!\n');
    assert.equal(await under.media.api('uuid_break'), '-USAGE: <uuid> [all]\n');
    assert.equal(await under.media.api('global_getvar nosuch'), '-ERR no reply\n');
    assert.equal(await under.media.api('show channels'), '\n0 total.\n');
  });

  it('creates an endpoint for a caller without delay, and shows what was negotiated', async () => {
    const peer = await under.peer();
    const { result: endpoint, ms } = await timed(
      under.media.createEndpoint({ remoteSdp: peer.sdp(), headers: { 'X-Tag': 'a b' } }),
    );
    under.endpoints.push(endpoint);
    assert.ok(ms < 600, `took ${Math.round(ms)} ms`);
    assert.match(endpoint.local.sdp, /m=audio \d+ RTP\/AVP 0 101\r\n/);
    assert.equal(endpoint.remote.sdp.replace('a=sendrecv\r\n', ''), peer.sdp().replace('a=sendrecv\r\n', '')); // the default
    assert.equal(endpoint.local.mediaIp, '127.0.0.1');
    const variables = await endpoint.getChannelVariables(true);
    assert.equal(variables['variable_sip_h_X-Tag'], 'a b');
    assert.equal(variables['variable_sip_call_id'], endpoint.sip.callId);
    assert.equal(typeof variables['variable_rtp_audio_in_packet_count'], 'number');
  });

  it('creates an endpoint without a caller, who comes with modify', async () => {
    const endpoint = await under.media.createEndpoint();
    under.endpoints.push(endpoint);
    const peer = await under.peer();
    await endpoint.modify(peer.sdp());
    peer.listenTo(endpoint.local.sdp);
    peer.saying = 0;
    const played = endpoint.play('tone_stream://%(600,0,440)');
    await peer.hears(440);
    await played;
  });

  it('answers 488 to an offer without a common codec', async () => {
    const sdp = 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 15\r\n';
    await assert.rejects(
      under.media.createEndpoint({ remoteSdp: sdp }),
      (error: { status?: number }) => error.status === 488,
    );
    await under.comesToChannels(0);
  });

  engineOnly('FreeSWITCH does not count them', 'gives every port back', async () => {
    const ports = async (): Promise<number> => (await under.engine.stats()).rtp_ports;
    const before = await ports();
    for (let turn = 0; turn < 3; turn += 1) {
      await Promise.all([under.call(), under.call(), under.call()]);
      await under.hangUp();
    }
    await until(async () => (await ports()) <= before, 'the RTP ports to be free');
  });

  it('sets, exports and shows variables with any text in them', async () => {
    const { endpoint } = await under.call();
    await endpoint.set('foo_u', 'grüße 100% x');
    await endpoint.set({ foo_c: 'd e', foo_n: 'a,b;c=d', foo_q: 'it\'s "x"' });
    await endpoint.export('foo_x', 'y');
    const variables = await endpoint.getChannelVariables();
    assert.deepEqual(
      ['foo_u', 'foo_c', 'foo_n', 'foo_q', 'foo_x'].map(name => variables[`variable_${name}`]),
      ['grüße 100% x', 'd e', 'a,b;c=d', 'it\'s "x"', 'y'],
    );
    assert.equal((await endpoint.api('uuid_getvar', [endpoint.uuid, 'nosuch'])).body, '_undef_');
    assert.equal((await endpoint.api('uuid_setvar', [endpoint.uuid, 'foo_x'])).body, '+OK\n');
    assert.equal((await endpoint.api('uuid_getvar', [endpoint.uuid, 'foo_x'])).body, '_undef_');
  });

  engineOnly(
    'FreeSWITCH hangs up',
    'completes an unknown application with an error instead of hanging up',
    async () => {
      const { endpoint } = await under.call();
      const event = await endpoint.execute('nosuchapplication', 'x');
      assert.match(event.getHeader('Application-Response') ?? '', /^-ERR/);
      assert.ok(endpoint.connected);
    },
  );

  it('executes without waiting for the clock', async () => {
    const { endpoint } = await under.call();
    const { ms } = await timed(
      Promise.all(Array.from({ length: 20 }, (_, at) => endpoint.set('count', String(at + 1)))),
    );
    assert.ok(ms < 350, `20 executes took ${Math.round(ms)} ms`);
  });

  it('ends what runs, and completes it, when the endpoint is destroyed', async () => {
    const { endpoint } = await under.call();
    const played = endpoint.play('silence_stream://-1');
    await once(endpoint, 'playback-start');
    const { ms } = await timed(endpoint.destroy());
    assert.ok(ms < 500);
    await played;
  });

  it('tells the cause when it is killed, and when the other side says BYE', async () => {
    for (const [end, reason] of [
      [(one: Endpoint) => under.media.api(`uuid_kill ${one.uuid} NO_ANSWER`), 'NO_ANSWER'],
      [(one: Endpoint) => one.dialog.destroy({ headers: { Reason: 'Q.850;cause=17' } }), 'USER_BUSY'],
      [(one: Endpoint) => one.execute('hangup', 'CALL_REJECTED'), 'CALL_REJECTED'],
    ] as const) {
      const { endpoint } = await under.call();
      const destroyed = once(endpoint, 'destroy');
      await end(endpoint);
      assert.deepEqual((await destroyed)[0], { reason });
    }
  });

  it('hangs up at once when the application closes its connection', async () => {
    const { endpoint } = await under.call();
    const bye = once(endpoint.dialog, 'destroy');
    const start = performance.now();
    endpoint.conn.socket.destroy();
    await bye;
    assert.ok(performance.now() - start < 500);
    assert.equal(await under.media.api(`uuid_exists ${endpoint.uuid}`), 'false');
  });

  engineOnly('disable-hold in our profile', 'puts a caller on hold and back', async () => {
    const { endpoint, peer } = await under.call();
    const states: string[] = [];
    endpoint.on('channelCallState', ({ state }: { state: string }) => states.push(state));
    await endpoint.modify(peer.sdp('inactive'));
    await endpoint.modify(peer.sdp('sendrecv'));
    await until(() => states.length >= 3, 'the call states');
    assert.deepEqual(states, ['HELD', 'UNHELD', 'ACTIVE']);
  });

  it('refuses a wrong password', async () => {
    const socket = connect(under.engine.eventSocketPort, '127.0.0.1');
    let text = '';
    socket.on('data', data => (text += data.toString()));
    socket.write('auth wrong\n\n');
    await once(socket, 'close');
    assert.match(text, /-ERR invalid\n\nContent-Type: text\/disconnect-notice/);
  });

  it('connects a caller: answers with the description of the endpoint', async () => {
    const peer = await under.peer();
    const caller = await SipCaller.open(under.engine.sipPort);
    try {
      const connected = new Promise<{ endpoint: Endpoint; dialog: EventEmitter }>((resolve, reject) => {
        under.srf.invite(
          (request, response) => void under.media.connectCaller(request, response).then(resolve, reject),
        );
      });
      const answer = await caller.invite(peer.sdp());
      peer.listenTo(answer);
      peer.saying = 0;
      const { endpoint, dialog } = await connected;
      under.endpoints.push(endpoint);
      assert.equal(endpoint.local.sdp, answer);
      const played = endpoint.play('tone_stream://%(400,0,440)');
      await peer.hears(440);
      await played;
      const ended = once(dialog, 'destroy');
      caller.bye();
      await ended;
      assert.ok(endpoint.connected, "the endpoint is the application's to destroy");
    } finally {
      caller.close();
    }
  });

  engineOnly(
    'our configuration of FreeSWITCH has no speech: media-app makes it',
    'reads a text aloud with an installed speech engine',
    async function () {
      const { endpoint, peer } = await under.call();
      const { ms } = await timed(endpoint.execute('speak', 'flite|slt|Hello, this is a test.'));
      if (ms < 300) this.skip(); // no engine on this machine: completes at once
      assert.ok(peer.loudest() > 2000);
    },
  );
});

describe('heartbeats of the media server', () => {
  engineOnly(
    'FreeSWITCH sends one in 20 s',
    'tell its load, also to a client that has lost its subscription',
    async () => {
      const server = await startMediaServer({
        rtpHost: '127.0.0.1',
        rtpPorts: [41500, 41600],
        sip: { host: '127.0.0.1', port: 0 },
        eventSocket: { host: '127.0.0.1', port: 0, password: 'ClueCon' },
        soundsDir: '.',
        heartbeatMs: 100,
        log: silent,
      });
      try {
        const address = {
          address: '127.0.0.1',
          port: server.eventSocketPort,
          secret: 'ClueCon',
          listenAddress: '127.0.0.1',
        };
        const media = await new MrfClass(new SrfClass()).connect(address);
        const [event] = (await once(media.conn, 'esl::event::HEARTBEAT::*')) as [{ getHeader(name: string): string }];
        assert.ok(event.getHeader('Core-UUID'));
        assert.equal(media.maxSessions, 1000);
        media.destroy();
        const silentClient = connect(server.eventSocketPort, '127.0.0.1');
        silentClient.write('auth ClueCon\n\n');
        let text = '';
        silentClient.on('data', data => (text += data.toString()));
        await until(() => text.includes('"HEARTBEAT"'), 'a heartbeat without subscription');
        silentClient.destroy();
      } finally {
        await server.stop();
      }
    },
  );
});
