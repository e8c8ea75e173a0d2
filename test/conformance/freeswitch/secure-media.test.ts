import { strict as assert } from 'node:assert';
import { until, withEngine, type Endpoint, type EngineUnderTest } from './engine-under-test.ts';
import { engineSuite } from '../../support/engine-only.ts';

engineSuite('FreeSWITCH takes SRTP only from the first offer of a leg', 'a desk phone with SRTP', () => {
  let under: EngineUnderTest;

  withEngine(started => (under = started));

  /** drachtio-fsmrf gives secure offers to an endpoint that stands already. */
  async function answering(offer: string): Promise<Endpoint> {
    const endpoint = await under.media.createEndpoint();
    under.endpoints.push(endpoint);
    await endpoint.modify(offer);
    return endpoint;
  }

  it('that offers its key is answered with one, and both hear each other', async () => {
    const peer = await under.peer();
    const endpoint = await answering(peer.secureSdp(7));
    const answer = endpoint.local.sdp;
    assert.match(answer, /m=audio \d+ RTP\/SAVP 0 101\r\n[^]*a=crypto:7 AES_CM_128_HMAC_SHA1_80 inline:/);
    peer.secureWith(answer);
    peer.listenTo(answer);
    peer.saying = 700;
    const echo = endpoint.execute('echo');
    await peer.hears(700);
    const { variable_rtp_has_crypto } = await endpoint.getChannelVariables();
    assert.equal(variable_rtp_has_crypto, 'AES_CM_128_HMAC_SHA1_80');
    await endpoint.api('uuid_break', endpoint.uuid);
    await echo;
  });

  it('is offered keys with the option srtp, and keeps its keys through a re-INVITE', async () => {
    const peer = await under.peer();
    const endpoint = await under.media.createEndpoint({ srtp: true });
    under.endpoints.push(endpoint);
    const offer = endpoint.local.sdp;
    assert.match(offer, /m=audio \d+ RTP\/SAVP /);
    assert.equal(offer.match(/^a=crypto:/gm)?.length, 2);
    peer.secureWith(offer);
    peer.listenTo(offer);
    await endpoint.modify(peer.secureSdp());
    peer.saying = 850;
    const echo = endpoint.execute('echo');
    await peer.hears(850);
    await endpoint.modify(peer.secureSdp().replace('a=sendrecv', 'a=recvonly'));
    await endpoint.modify(peer.secureSdp());
    peer.forget();
    await peer.hears(850);
    await endpoint.api('uuid_break', endpoint.uuid);
    await echo;
  });

  it('is refused with 488 when it offers no suite or key that we know', async () => {
    const peer = await under.peer();
    for (const [from, to] of [
      ['AES_CM_128_HMAC_SHA1_80', 'F8_128_HMAC_SHA1_80'],
      ['inline:', 'inline:AAAA'],
      ['|2^31', '|2^31|1:4'],
    ] as const)
      await assert.rejects(answering(peer.secureSdp().replace(from, to)), /488/, `${from} as ${to}`);
  });

  it('is not heard while it sends plain RTP in place of SRTP', async () => {
    const peer = await under.peer();
    const endpoint = await answering(peer.secureSdp());
    peer.listenTo(endpoint.local.sdp);
    peer.saying = 600;
    await until(() => peer.packets > 20, 'packets of the engine', 3000);
    const { variable_rtp_audio_in_media_packet_count } = await endpoint.getChannelVariables(true);
    assert.equal(Number(variable_rtp_audio_in_media_packet_count), 0);
  });
});
