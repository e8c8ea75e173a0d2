import { strict as assert } from 'node:assert';
import fc from 'fast-check';
import type { SipMessageRecord } from '#contract/timeline';
import { LegCapture, SipCaptures } from '../../../../media-app/sip/capture.ts';
import { maskSecrets } from '../../../../media-app/sip/mask-secrets.ts';
import { readSeenMessage, type SeenMessage } from '../../../../media-app/sip/seen-message.ts';

const PEER = { address: '192.0.2.7', port: 5062 };
const LOCAL = { address: '192.0.2.1', port: 5060 };
const NOWHERE = { address: '', port: 0 };

const message = (first: string, callId: string, given: Partial<SeenMessage> = {}): SeenMessage => ({
  direction: 'received',
  transport: 'udp',
  peer: PEER,
  local: NOWHERE,
  text: `${first}\r\nCall-ID: ${callId}\r\nCSeq: 1 ${/^[A-Z]+ /.exec(first)?.[0].trim() ?? 'INVITE'}\r\n\r\n`,
  ...given,
});

/** A leg that follows a Call-ID, and everything it reported. */
const followed = (captures: SipCaptures, callId: string, peer?: typeof PEER) => {
  const leg = new LegCapture(captures, peer);
  const reported: SipMessageRecord[] = [];
  leg.reportTo(seen => Promise.resolve(void reported.push(...seen.sip_messages)));
  leg.follow(callId);
  return { leg, reported };
};

describe('what is seen on the wire of a call', () => {
  it('is told apart by Call-ID, and begins with the INVITE that came before the call was known', async () => {
    const captures = new SipCaptures();
    captures.hear(message('INVITE sip:a@b SIP/2.0', 'one', { local: LOCAL }));
    captures.hear(message('SIP/2.0 401 Unauthorized', 'one', { direction: 'sent' }));
    captures.hear(message('INVITE sip:a@b SIP/2.0', 'other'));
    const { leg, reported } = followed(captures, 'one');
    captures.hear(message('BYE sip:a@b SIP/2.0', 'one'));
    captures.hear(message('BYE sip:a@b SIP/2.0', 'other'));
    await leg.flush();
    assert.deepEqual(
      reported.map(one => [one.method, one.src_ip, one.src_port, one.dst_ip, one.dst_port]),
      [
        ['INVITE', PEER.address, PEER.port, LOCAL.address, LOCAL.port],
        ['401', LOCAL.address, LOCAL.port, PEER.address, PEER.port],
        ['BYE', PEER.address, PEER.port, LOCAL.address, LOCAL.port],
      ],
    );
  });

  it('names the address a call was sent to before anybody answered, and the listener of a stream', async () => {
    const captures = new SipCaptures();
    captures.setListeners('udp/192.0.2.1:5060,tcp/192.0.2.1:5070');
    const { leg, reported } = followed(captures, 'one', PEER);
    const sent = { direction: 'sent', transport: 'tcp', peer: NOWHERE } as const;
    captures.hear(message('INVITE sip:a@b SIP/2.0', 'one', sent));
    await leg.flush();
    const [invite] = reported;
    assert.deepEqual(
      [invite?.src_ip, invite?.src_port, invite?.dst_ip, invite?.dst_port],
      ['192.0.2.1', 5070, PEER.address, PEER.port],
    );
  });

  it('is bounded by number and by bytes, and health checks crowd nothing out', async () => {
    const captures = new SipCaptures();
    const { leg, reported } = followed(captures, 'one');
    for (let at = 0; at < 1000; at++) captures.hear(message('OPTIONS sip:a@b SIP/2.0', 'one'));
    captures.hear(message('BYE sip:a@b SIP/2.0', 'one'));
    for (let at = 0; at < 1000; at++) {
      const long = message('INFO sip:a@b SIP/2.0', 'one');
      captures.hear({ ...long, text: long.text + 'x'.repeat(50_000) });
    }
    await leg.flush();
    const count = (method: string) => reported.filter(one => one.method === method).length;
    assert.equal(count('OPTIONS'), 40);
    assert.equal(count('BYE'), 1);
    assert(reported.reduce((sum, one) => sum + one.raw.length, 0) <= 512 * 1024);
  });

  it('of calls that never become ours is forgotten', async () => {
    const captures = new SipCaptures();
    for (let at = 0; at < 1000; at++) captures.hear(message('INVITE sip:a@b SIP/2.0', `call-${at}`));
    const [early, late] = [followed(captures, 'call-0'), followed(captures, 'call-999')];
    await Promise.all([early.leg.flush(), late.leg.flush()]);
    assert.deepEqual([early.reported.length, late.reported.length], [0, 1]);
  });
});

describe('masking a SIP message', () => {
  const rows: [title: string, text: string, masked: string][] = [
    [
      'the answer to a digest challenge',
      'Authorization: Digest username="1001", response="0123abcd", uri="sip:x"\r\n',
      'Authorization: Digest username="1001", response="********", uri="sip:x"\r\n',
    ],
    [
      'a folded proxy header without quotes',
      'proxy-authorization: Digest username="a",\r\n response=0123abcd\r\nTo: b\r\n',
      'proxy-authorization: Digest username="a",\r\n response=********\r\nTo: b\r\n',
    ],
    ['any other credentials', 'Authorization: Basic YTpi\r\n', 'Authorization: **********\r\n'],
    [
      'the key of encrypted media',
      'a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:c2VjcmV0|2^20\r\n',
      'a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:********|2^20\r\n',
    ],
    [
      'nothing else',
      'WWW-Authenticate: Digest nonce="x"\r\nresponse="y"\r\n',
      'WWW-Authenticate: Digest nonce="x"\r\nresponse="y"\r\n',
    ],
  ];
  for (const [title, text, masked] of rows) it(`hides ${title}`, () => assert.equal(maskSecrets(text), masked));

  it('never changes the length of a message', () => {
    fc.assert(fc.property(fc.string(), text => maskSecrets(`Authorization: ${text}`).length === text.length + 15));
  });
});

describe('reading the admin protocol', () => {
  it('takes the address of what came and went, and nothing that is no SIP on the wire', () => {
    const origin = (line: string) => {
      const seen = readSeenMessage(`${line}\r\nX`);
      return seen && [seen.direction, seen.peer.address, seen.local.address];
    };
    assert.deepEqual(origin('id|sip|network|1|udp|192.0.2.7|5062|12:00:00.000001|t||192.0.2.1|5060|'), [
      'received',
      '192.0.2.7',
      '192.0.2.1',
    ]);
    assert.deepEqual(origin('id|response|r|OK|application|1|udp|192.0.2.1|5060|12:00:00.000001|t|'), [
      'sent',
      '',
      '192.0.2.1',
    ]);
    assert.deepEqual(origin('id|response|r|OK|application|1|tcp|192.0.2.7|5062|12:00:00.000001|t|'), [
      'sent',
      '192.0.2.7',
      '',
    ]);
    assert.equal(origin('id|sip|network|0|udp||0|12:00:00.000001|t|d'), undefined);
    assert.equal(origin('id|response|r|NO|unknown'), undefined);
    assert.equal(readSeenMessage('id|response|r|OK|udp/192.0.2.1:5060'), undefined);
  });

  it('survives any text', () => {
    fc.assert(fc.property(fc.string(), text => void readSeenMessage(text)));
  });
});
