import { strict as assert } from 'node:assert';
import { BrowserPeer } from '../../support/browser-peer.ts';
import { silent, withEngine, type Endpoint, type EngineUnderTest } from './engine-under-test.ts';
import { engineSuite } from '../../support/engine-only.ts';

engineSuite('our configuration of FreeSWITCH has no DTLS', 'a browser phone', () => {
  let under: EngineUnderTest;
  let browser: BrowserPeer;
  const warnings: object[] = [];

  withEngine(started => (under = started), { log: { ...silent, warn: fields => warnings.push(fields) } });
  beforeEach(() => {
    browser = new BrowserPeer(700);
  });
  afterEach(() => browser.close());

  async function endpointWith(headers: Record<string, string> = {}): Promise<Endpoint> {
    const endpoint = await under.media.createEndpoint({ headers });
    under.endpoints.push(endpoint);
    return endpoint;
  }

  it('that offers SAVPF over DTLS is answered in kind, and hears itself in an echo', async () => {
    const endpoint = await endpointWith();
    await endpoint.modify(await browser.offer());
    const answer = endpoint.local.sdp;
    assert.match(answer, /m=audio \d+ UDP\/TLS\/RTP\/SAVPF 0/);
    for (const line of ['a=ice-lite', 'a=rtcp-mux', 'a=setup:passive', 'a=fingerprint:sha-256 ', 'a=group:BUNDLE '])
      assert.ok(answer.includes(`\r\n${line}`), `${line} is missing in ${answer}`);
    void endpoint.execute('echo');
    await browser.take(answer);
    await browser.ear.hears(700, { within_ms: 8000 });
  });

  it('is offered SAVPF over DTLS with media_webrtc, and hears itself in an echo', async () => {
    const endpoint = await endpointWith({ 'X-Media-Webrtc': 'true' });
    const offer = endpoint.local.sdp;
    assert.match(offer, /m=audio \d+ UDP\/TLS\/RTP\/SAVPF 0 8 102 9/);
    await endpoint.modify(await browser.answer(offer));
    void endpoint.execute('echo');
    await browser.ear.hears(700, { within_ms: 8000 });
  });

  it('that restarts ICE in a re-INVITE is answered with new credentials, and goes on under the keys that it has', async () => {
    const endpoint = await endpointWith();
    await endpoint.modify(await browser.offer());
    const fragment = (): string | undefined => /a=ice-ufrag:(\S+)/.exec(endpoint.local.sdp)?.[1];
    const before = fragment();
    void endpoint.execute('echo');
    await browser.take(endpoint.local.sdp);
    await browser.ear.hears(700, { within_ms: 8000 });
    await endpoint.modify(await browser.offer({ iceRestart: true }));
    assert.notEqual(fragment(), before);
    await browser.ear.hearsOnly([]); // it has no path
    await browser.take(endpoint.local.sdp);
    await browser.ear.hears(700, { within_ms: 8000 });
    assert.deepEqual(warnings, []);
  });

  it('with another certificate than its description names is not heard, and the log says why', async () => {
    const endpoint = await endpointWith();
    const offer = await browser.offer();
    await endpoint.modify(
      offer.replace(
        /(a=fingerprint:sha-256 )(..):/g,
        (_, name: string, byte: string) => `${name}${byte === '00' ? '01' : '00'}:`,
      ),
    );
    await browser.take(endpoint.local.sdp);
    await assert.rejects(browser.ear.hears(700, { within_ms: 1500 }));
    const { variable_rtp_audio_in_media_packet_count } = await endpoint.getChannelVariables(true);
    assert.equal(Number(variable_rtp_audio_in_media_packet_count), 0);
    const reason = 'the certificate is not the one that the description names';
    assert.deepEqual(warnings, [{ uuid: endpoint.uuid, reason }]);
  });
});
