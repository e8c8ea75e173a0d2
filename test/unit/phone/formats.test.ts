import { strict as assert } from 'node:assert';
import { performance } from 'node:perf_hooks';
import { decodeG711, encodeG711 } from '../../../scripts/phone/g711.ts';
import type { Law } from '../../../scripts/phone/g711.ts';
import { Hearing } from '../../../scripts/phone/hearing.ts';
import { formatRtp, parseRtp } from '../../../scripts/phone/rtp-packet.ts';
import { formatAnswer, parseSdp } from '../../../scripts/phone/sdp.ts';
import { parseNameAddress, parseUri } from '../../../scripts/phone/sip-address.ts';
import { formatMessage, header, headerList, parseMessage } from '../../../scripts/phone/sip-message.ts';
import { takeMessages } from '../../../scripts/phone/sip-stream.ts';
import { formatWav, parseWav } from '../../../scripts/phone/wav.ts';
import { sine } from './sounds.ts';

const invite = (body: string, length = Buffer.byteLength(body)) =>
  Buffer.from(
    [
      'INVITE sip:bob@example.test SIP/2.0',
      'v: SIP/2.0/UDP a.test;branch=z9hG4bK1, SIP/2.0/UDP b.test;branch=z9hG4bK2',
      'Subject: one',
      ' and two',
      'f: "Smith, Al" <sip:al@example.test;transport=udp>;tag=77',
      'Contact: <sip:al@a.test>, "x,y" <sip:b@b.test>',
      `l: ${length}`,
      '',
      body,
    ].join('\r\n'),
  );

describe('the phone reads and writes SIP', () => {
  it('with compact names, folded lines and comma lists', () => {
    const message = parseMessage(invite('hello'));
    assert.equal(message.kind === 'request' && message.method, 'INVITE');
    assert.equal(header(message, 'subject'), 'one and two');
    assert.equal(headerList(message, 'via').length, 2);
    assert.deepEqual(headerList(message, 'contact'), ['<sip:al@a.test>', '"x,y" <sip:b@b.test>']);
    assert.equal(message.body, 'hello');
  });

  it('refuses what is cut off and cuts what is too long', () => {
    assert.throws(() => parseMessage(invite('hello', 6)), SyntaxError);
    assert.equal(parseMessage(invite('hello', 2)).body, 'he');
    assert.throws(() => parseMessage(Buffer.from('hello\r\n\r\n')), SyntaxError);
  });

  it('lets no line break through in a value', () => {
    const headers = [{ name: 'x-note', value: 'a\r\nEvil: 1' }];
    const text = formatMessage({ kind: 'response', status: 200, reason: 'OK', headers, body: '' }).toString();
    assert.ok(!text.includes('\nEvil'));
  });

  it('names and addresses with quotes and parameters', () => {
    const from = parseNameAddress('"Smith, \\"Al\\"" <sip:al@example.test;transport=udp>;tag=77');
    assert.deepEqual(
      [from.display, from.uri, from.params.get('tag')],
      ['Smith, "Al"', 'sip:al@example.test;transport=udp', '77'],
    );
    const uri = parseUri('sip:+49301@[2001:db8::1]:5070;transport=tcp;lr?a=b');
    assert.deepEqual(
      [uri.user, uri.host, uri.port, uri.params.get('transport'), uri.params.has('lr')],
      ['+49301', '2001:db8::1', 5070, 'tcp', true],
    );
  });

  it('cuts messages off a stream however it is torn, and skips keep-alives', () => {
    const stream = Buffer.concat([
      Buffer.from('\r\n\r\n'),
      invite('one'),
      invite('three'),
      invite('x').subarray(0, 30),
    ]);
    let rest: Buffer = Buffer.alloc(0);
    const messages: Buffer[] = [];
    for (const byte of stream) {
      const taken = takeMessages(Buffer.concat([rest, Buffer.of(byte)]));
      messages.push(...taken.messages);
      rest = taken.rest;
    }
    assert.deepEqual(
      messages.map(message => parseMessage(message).body),
      ['one', 'three'],
    );
    assert.equal(rest.length, 30);
    assert.equal(takeMessages(Buffer.from('GET / HTTP/1.1\r\n\r\n')).broken, true);
  });
});

describe('the phone reads and answers session descriptions', () => {
  const offer = [
    'v=0',
    'o=- 1 1 IN IP4 192.0.2.1',
    's=-',
    'c=IN IP4 192.0.2.1',
    't=0 0',
    'm=audio 4000 RTP/AVP 111 8 96',
    'c=IN IP4 192.0.2.2',
    'a=rtpmap:111 opus/48000/2',
    'a=rtpmap:96 telephone-event/8000',
    'a=sendonly',
    'm=video 4002 RTP/AVP 97',
    '',
  ].join('\r\n');

  it('the stream, its own address, its codecs and its event type', () => {
    const audio = parseSdp(offer);
    assert.deepEqual(audio?.remote, { host: '192.0.2.2', port: 4000 });
    assert.deepEqual(audio.codecs, [{ law: 'PCMA', payloadType: 8 }]);
    assert.deepEqual([audio.eventPayloadType, audio.direction], [96, 'sendonly']);
  });

  it('and refuses every other stream in the answer', () => {
    const audio = parseSdp(offer) ?? assert.fail();
    const remote = { host: '127.0.0.1', port: 5000 };
    const answer = formatAnswer(
      { id: 1, version: 1, remote, direction: 'recvonly', codecs: audio.codecs, eventPayloadType: 96 },
      audio,
    );
    assert.deepEqual(answer.match(/m=.*/g), ['m=audio 5000 RTP/AVP 8 96', 'm=video 0 RTP/AVP 97']);
  });

  it('none in a description whose audio is refused or encrypted', () => {
    assert.equal(parseSdp(offer.replace('m=audio 4000', 'm=audio 0')), undefined);
    assert.equal(parseSdp(offer.replace('RTP/AVP 111', 'RTP/SAVP 111')), undefined);
  });
});

describe('the phone codes sound', () => {
  it('in G.711 with the code words of the recommendation', () => {
    assert.deepEqual(
      [...encodeG711('PCMU', Int16Array.of(0, -1, 32_767, -32_768, 1000))],
      [0xff, 0x7f, 0x80, 0x00, 0xce],
    );
    assert.deepEqual(
      [...encodeG711('PCMA', Int16Array.of(0, -1, 32_767, -32_768, 1000))],
      [0xd5, 0x55, 0xaa, 0x2a, 0xfa],
    );
  });

  for (const law of ['PCMU', 'PCMA'] satisfies Law[]) {
    it(`in ${law}, every byte decoded and coded again being itself`, () => {
      const all = Uint8Array.from({ length: 256 }, (_, i) => i);
      const again = encodeG711(law, decodeG711(law, all));
      // µ-law has two zeroes; 0x7f, the negative one, comes back as the positive one.
      assert.deepEqual(
        [...again].filter((byte, i) => byte !== i),
        law === 'PCMU' ? [0xff] : [],
      );
    });
  }

  it('in WAV files, also of other rates', () => {
    const samples = Int16Array.from({ length: 1600 }, (_, i) => sine(440)(i));
    assert.deepEqual(parseWav(formatWav(samples)), samples);
    assert.equal(parseWav(formatWav(samples, 16_000)).length, 800);
    assert.throws(() => parseWav(Buffer.from('no sound at all')), /no WAV file/);
  });

  it('in RTP, and drops what is none', () => {
    const packet = {
      payloadType: 0,
      marker: true,
      sequence: 65_535,
      timestamp: 0xffffffff,
      ssrc: 7,
      payload: Buffer.of(1, 2),
    };
    assert.deepEqual(parseRtp(formatRtp(packet)), packet);
    for (const junk of [Buffer.alloc(0), Buffer.alloc(12), Buffer.from([0x9f, ...Array<number>(12).fill(255)])]) {
      assert.equal(parseRtp(junk), undefined);
    }
  });
});

describe('what was heard lies on a line of time', () => {
  const packet = (value: number) => new Int16Array(160).fill(value);

  it('in order even where packets came late, overtook each other or were lost, across the end of the counter', () => {
    const hearing = new Hearing();
    const start = 0xffffffff - 159;
    const arrived = performance.now();
    for (const [value, n] of [
      [1, 0],
      [3, 2],
      [2, 1],
      [5, 4],
    ] as const) {
      hearing.add(packet(value), 9, (start + n * 160) >>> 0, arrived + n * 20);
    }
    const order = hearing.slice(hearing.position - 800, hearing.position).filter((_, i) => i % 160 === 0);
    assert.deepEqual([...order], [1, 2, 3, 0, 5]);
  });

  it('with a new stream where it began, however its own counter stands', () => {
    const hearing = new Hearing();
    const arrived = performance.now();
    hearing.add(packet(1), 1, 5000, arrived);
    hearing.add(packet(2), 2, 77, arrived + 100);
    assert.equal(hearing.slice(hearing.position - 160, hearing.position)[0], 2);
    assert.equal(hearing.slice(hearing.position - 960, hearing.position)[0], 1);
  });
});
