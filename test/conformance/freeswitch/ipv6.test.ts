import { strict as assert } from 'node:assert';
import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { EngineUnderTest, silent } from './engine-under-test.ts';
import { engineSuite } from '../../support/engine-only.ts';

const networks = Object.values(networkInterfaces()).flatMap(list => list ?? []);
const outward = networks.find(one => one.family === 'IPv4' && !one.internal)?.address ?? '127.0.0.1';

/** The address that a description names. */
const addressOf = (sdp: string): string => /^c=IN IP[46] (\S+)/m.exec(sdp)?.[1] ?? '';

engineSuite('it starts an engine on ::', 'audio over IPv6 and IPv4', () => {
  let under: EngineUnderTest;

  before(async function () {
    if (!networks.some(one => one.address === '::1')) return this.skip();
    under = await EngineUnderTest.start(silent, '::');
  });
  afterEach(() => under.hangUp());
  after(() => under?.stop());

  it('lets a phone on IPv6 and one on IPv4 hear each other, press keys and be recorded', async () => {
    const [six, four] = await Promise.all([under.call({}, '::1'), under.call()]);
    assert.match(six.endpoint.local.sdp, /^o=\S+ \d+ \d+ IN IP6 ::1\r\n[^]*^c=IN IP6 ::1\r\n/m);
    assert.equal(addressOf(four.endpoint.local.sdp), '127.0.0.1');
    const variables = await six.endpoint.getChannelVariables();
    assert.equal(variables['variable_remote_media_ip'], '::1');
    await six.endpoint.bridge(four.endpoint);
    six.peer.saying = 440;
    four.peer.saying = 700;
    await Promise.all([six.peer.hears(700), four.peer.hears(440)]);
    six.peer.saying = null;
    const pressed = new Promise(resolve => six.endpoint.once('dtmf', resolve));
    await six.peer.press('5');
    assert.equal(((await pressed) as { dtmf: string }).dtmf, '5');
    assert.equal((await under.engine.stats()).rtp_ports, 2);
  });

  it('offers IPv6 where the application asks for it, and takes the answer with modify', async () => {
    const endpoint = await under.media.createEndpoint({ family: 'ipv6' });
    under.endpoints.push(endpoint);
    assert.ok(isIPv6(addressOf(endpoint.local.sdp)), endpoint.local.sdp);
    const peer = await under.peer('::1');
    await endpoint.modify(peer.sdp());
    peer.listenTo(endpoint.local.sdp);
    void endpoint.play('tone_stream://%(1000,0,600)');
    await peer.hears(600);
  });

  it('offers an address that phones elsewhere can send to, not the one that the servers speak to each other by', async () => {
    const endpoint = await under.media.createEndpoint();
    under.endpoints.push(endpoint);
    assert.equal(addressOf(endpoint.local.sdp), outward);
    const peer = await under.peer('::1'); // an offer over IPv4 may still be answered over IPv6
    await endpoint.modify(peer.sdp());
    peer.listenTo(endpoint.local.sdp);
    assert.equal(addressOf(endpoint.local.sdp), '::1');
    void endpoint.play('tone_stream://%(1000,0,850)');
    await peer.hears(850);
  });
});

engineSuite(
  'FreeSWITCH takes the offer, though its profile has no IPv6',
  'a media server that speaks IPv4 only',
  () => {
    let under: EngineUnderTest;

    before(async () => {
      under = await EngineUnderTest.start();
    });
    after(() => under.stop());

    it('refuses an offer of IPv6 with 488, and holds with it', async () => {
      const peer = await under.peer();
      const sdp = peer.sdp().replaceAll('IN IP4 127.0.0.1', 'IN IP6 2001:db8::1');
      await assert.rejects(under.media.createEndpoint({ remoteSdp: sdp }), /488/);
      const { endpoint } = await under.call();
      await endpoint.modify(peer.sdp().replace('c=IN IP4 127.0.0.1', 'c=IN IP6 ::'));
      assert.match(endpoint.local.sdp, /a=inactive/);
      await under.hangUp();
    });
  },
);
