import { strict as assert } from 'node:assert';
import fc from 'fast-check';
import { answerSdp, chooseAudio, offerSdp, parseSdp, withDirection } from '../../../../engine/freeswitch/sdp.ts';

const local = { address: '127.0.0.1', port: 20000, sessionId: 1, version: 2, crypto: [], dtls: null };

function offer(...media: string[]): string {
  return ['v=0', 'o=- 1 1 IN IP4 192.0.2.1', 's=-', 'c=IN IP4 192.0.2.1', 't=0 0', ...media, ''].join('\r\n');
}

function negotiate(text: string): { answer: string; audio: ReturnType<typeof chooseAudio> } {
  const session = parseSdp(text);
  assert.ok(session);
  const audio = chooseAudio(session);
  return { answer: audio ? answerSdp(session, audio, local) : '', audio };
}

describe('session descriptions of the media server', () => {
  it('chooses PCMU before PCMA whatever the order of the offer', () => {
    const { audio, answer } = negotiate(offer('m=audio 40000 RTP/AVP 8 0 101', 'a=rtpmap:101 telephone-event/8000'));
    assert.deepEqual([audio?.audio.codec, audio?.audio.payloadType, audio?.audio.telephoneEvent], ['PCMU', 0, 101]);
    assert.match(answer, /m=audio 20000 RTP\/AVP 0 101\r\n/);
  });

  it("keeps the offerer's payload numbers and packet time", () => {
    const text = offer(
      'm=audio 4000 RTP/AVP 97 96',
      'a=rtpmap:97 PCMA/8000',
      'a=rtpmap:96 telephone-event/8000',
      'a=ptime:30',
    );
    const { answer } = negotiate(text);
    assert.match(answer, /m=audio 20000 RTP\/AVP 97 96\r\na=rtpmap:97 PCMA\/8000\r\na=rtpmap:96 telephone-event\/8000/);
    assert.match(answer, /a=ptime:30\r\n/);
  });

  for (const [payloads, line, codec] of [
    ['9 0 111', '0', 'PCMU'],
    ['9 111', '111 103', 'opus'],
    ['9', '9 101', 'G722'],
    ['8 9', '8 101', 'PCMA'],
  ] as const)
    it(`takes ${codec} of the payloads ${payloads}`, () => {
      const text = offer(
        `m=audio 4000 RTP/AVP ${payloads} 103 101`,
        'a=rtpmap:111 opus/48000/2',
        'a=fmtp:111 minptime=10;useinbandfec=1',
        'a=rtpmap:103 telephone-event/48000',
        'a=rtpmap:101 telephone-event/8000',
      );
      const { audio, answer } = negotiate(text);
      assert.equal(audio?.audio.codec, codec);
      assert.match(answer, new RegExp(`m=audio 20000 RTP/AVP ${line}`));
      if (codec === 'opus') assert.match(answer, /a=rtpmap:111 opus\/48000\/2[^]*a=rtpmap:103 telephone-event\/48000/);
    });

  it('prefers the codecs of its settings, answers with no other and offers them in their order', () => {
    const session = parseSdp(offer('m=audio 4000 RTP/AVP 0 8 9 101', 'a=rtpmap:101 telephone-event/8000'));
    assert.ok(session);
    assert.equal(chooseAudio(session, ['G722', 'PCMU'])?.audio.codec, 'G722');
    assert.equal(chooseAudio(session, ['opus', 'PCMA'])?.audio.codec, 'PCMA');
    assert.equal(chooseAudio(session, ['opus']), null);
    assert.match(offerSdp(local, ['G722', 'PCMA']), /m=audio 20000 RTP\/AVP 9 8 101 103\r\na=rtpmap:9 G722/);
  });

  it('offers every codec, and telephone-event at both clocks', () => {
    assert.match(offerSdp(local), /m=audio 20000 RTP\/AVP 0 8 102 9 101 103\r\n/);
    assert.match(offerSdp(local), /a=rtpmap:102 opus\/48000\/2\r\n[^]*a=rtpmap:9 G722\/8000\r\n/);
  });

  it('answers sendonly with recvonly and leaves sendrecv unsaid', () => {
    assert.match(negotiate(offer('m=audio 4000 RTP/AVP 0', 'a=sendonly')).answer, /a=recvonly/);
    assert.match(negotiate(offer('m=audio 4000 RTP/AVP 0', 'a=inactive')).answer, /a=inactive/);
    assert.doesNotMatch(negotiate(offer('m=audio 4000 RTP/AVP 0', 'a=sendrecv')).answer, /a=sendrecv/);
  });

  it('refuses video and secure lines in their place and takes the plain audio', () => {
    const { answer } = negotiate(offer('m=audio 4000 RTP/SAVP 0', 'm=audio 4002 RTP/AVP 8', 'm=video 5000 RTP/AVP 96'));
    const lines = answer.split('\r\n').filter(line => line.startsWith('m='));
    assert.deepEqual(lines, ['m=audio 0 RTP/SAVP 0', 'm=audio 20000 RTP/AVP 8', 'm=video 0 RTP/AVP 96']);
  });

  it('finds nothing in an offer without a codec of ours', () => {
    assert.equal(negotiate(offer('m=audio 4000 RTP/AVP 15')).audio, null);
    assert.equal(negotiate(offer('m=audio 4000 RTP/AVP 0', 'a=rtpmap:0 L16/16000')).audio, null);
    assert.equal(negotiate(offer('m=audio 0 RTP/AVP 0')).audio, null);
  });

  it('takes address 0.0.0.0 for hold', () => {
    const { audio } = negotiate(offer('m=audio 4000 RTP/AVP 0', 'c=IN IP4 0.0.0.0'));
    assert.equal(audio?.audio.direction, 'inactive');
  });

  for (const address of [
    'IP4 224.2.1.1/127',
    'IP4 239.255.255.250',
    'IP4 255.255.255.255',
    'IP6 ff02::1',
    'IP6 FF0E::101',
  ])
    it(`sends nothing to many at once: refuses ${address}`, () => {
      const line = ['m=audio 4000 RTP/AVP 0', `c=IN ${address}`];
      assert.equal(negotiate(offer(...line)).audio, null);
      const elsewhere = offer(line[0] ?? '').replace('c=IN IP4 192.0.2.1', `c=IN ${address}`);
      assert.equal(negotiate(elsewhere).audio, null);
      assert.ok(negotiate(elsewhere.replace('RTP/AVP 0', 'RTP/AVP 0\r\nc=IN IP4 192.0.2.7')).audio);
    });

  it('takes IPv6 for IPv6, however it is written, and answers in it', () => {
    const text = offer('m=audio 4000 RTP/AVP 0', 'c=IN IP6 2001:DB8:0::00a1');
    assert.equal(negotiate(text).audio?.audio.address, '2001:db8::a1');
    const session = parseSdp(text);
    const chosen = session && chooseAudio(session);
    assert.ok(session && chosen);
    const answer = answerSdp(session, chosen, { ...local, address: '2001:db8::1' });
    assert.match(answer, /^o=\S+ 1 2 IN IP6 2001:db8::1\r\n[^]*^c=IN IP6 2001:db8::1\r\n/m);
    assert.equal(negotiate(offer('m=audio 4000 RTP/AVP 0', 'c=IN IP6 ::')).audio?.audio.direction, 'inactive');
    for (const wrong of ['IN IP6 2001:db8::g', 'IN IP6 192.0.2.1', 'IN IP4 2001:db8::1', 'IN IP6 1::2::3'])
      assert.equal(negotiate(offer('m=audio 4000 RTP/AVP 0', `c=${wrong}`)).audio?.audio.address, '192.0.2.1', wrong);
  });

  it('reads its own offer', () => {
    const { audio } = negotiate(offerSdp(local));
    assert.deepEqual([audio?.audio.address, audio?.audio.port], ['127.0.0.1', 20000]);
    assert.match(withDirection(offerSdp(local)), /a=sendrecv\r\n$/);
  });

  it('survives any text', () => {
    const line = fc.oneof(
      fc.string(),
      fc.constantFrom('m=audio 1 RTP/AVP 0', 'm=', 'a=rtpmap:0 PCMU/8000', 'c=IN IP4 x', 'a=ptime:'),
    );
    fc.assert(
      fc.property(fc.array(line), lines => {
        const session = parseSdp(['v=0', ...lines].join('\r\n'));
        const chosen = session && chooseAudio(session);
        if (session && chosen) assert.doesNotMatch(answerSdp(session, chosen, local), /[^\r]\n/);
      }),
    );
  });
});
