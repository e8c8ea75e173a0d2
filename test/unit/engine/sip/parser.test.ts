import { strict as assert } from 'node:assert';
import fc from 'fast-check';
import { StreamParser, type StreamItem } from '../../../../engine/sip/framing.ts';
import { headerOf, headersOf, isRequest, serialize, type SipMessage } from '../../../../engine/sip/message.ts';
import { LIMITS, parseDatagram, parseLoose } from '../../../../engine/sip/parser.ts';

const lines = (...text: string[]): Buffer => Buffer.from([...text, '', ''].join('\r\n'));
const HEADS = [
  ...['Via: SIP/2.0/UDP h;branch=z9hG4bK1', 'From: <sip:a@b>;tag=1', 'To: <sip:c@d>'],
  ...['Call-ID: 1@b', 'CSeq: 1 OPTIONS'],
];
const options = (...more: string[]): Buffer => lines('OPTIONS sip:c@d SIP/2.0', ...HEADS, ...more);

function message(data: Buffer): SipMessage {
  const parsed = parseDatagram(data);
  assert(parsed.ok, parsed.ok ? '' : parsed.error);
  return parsed.message;
}

function refusal(data: Buffer): string {
  const parsed = parseDatagram(data);
  assert(!parsed.ok);
  return parsed.error;
}

describe('sip parser', () => {
  it('reads a request with its headers by any spelling of their names', () => {
    const parsed = message(lines('INVITE sip:c@d SIP/2.0', ...HEADS.slice(0, 4), 'cseq : 7 INVITE', 'm:<sip:a@b>'));
    assert(isRequest(parsed));
    assert.equal(parsed.method, 'INVITE');
    assert.equal(headerOf(parsed, 'CSEQ'), '7 INVITE');
    assert.equal(headerOf(parsed, 'contact'), '<sip:a@b>');
    assert.equal(parsed.headers.at(-1)?.name, 'Contact');
  });

  it('reads a response whose reason is empty or has many words', () => {
    for (const [start, reason] of [
      ['SIP/2.0 200', ''],
      ['SIP/2.0 480 Not  here now', 'Not  here now'],
    ] as const) {
      const parsed = message(lines(start, ...HEADS));
      assert(!isRequest(parsed));
      assert.equal(parsed.reason, reason);
    }
  });

  it('joins folded lines and keeps repeated headers apart', () => {
    const parsed = message(options('Subject: one', '  two', '\tthree', 'Route: <sip:1>', 'Route: <sip:2>'));
    assert.equal(headerOf(parsed, 'subject'), 'one two three');
    assert.deepEqual(headersOf(parsed, 'route'), ['<sip:1>', '<sip:2>']);
  });

  it('cuts the body to Content-Length and refuses one that is not all there', () => {
    assert.equal(message(Buffer.concat([options('l: 3'), Buffer.from('abcdef')])).body.toString(), 'abc');
    assert.equal(refusal(Buffer.concat([options('Content-Length: 9'), Buffer.from('abc')])), 'wrong Content-Length');
    assert.equal(refusal(options('Content-Length: 0', 'Content-Length: 1')), 'wrong Content-Length');
  });

  it('says what is missing and still hands over the request, so that its sender can be answered', () => {
    const parsed = parseDatagram(lines('OPTIONS sip:c@d SIP/2.0', ...HEADS.filter(one => !one.startsWith('CSeq'))));
    assert(!parsed.ok);
    assert.equal(parsed.error, 'missing CSeq');
    assert.equal(parsed.status, 400);
    assert(parsed.message && isRequest(parsed.message));
  });

  it('refuses lines, headers and messages beyond their bounds', () => {
    assert.equal(refusal(options(`X: ${'a'.repeat(LIMITS.line)}`)), 'unusable line');
    assert.equal(
      refusal(options(...Array.from({ length: LIMITS.headers }, (_, i) => `X-${i}: 1`))),
      'too many headers',
    );
    assert.equal(refusal(Buffer.alloc(LIMITS.message + 1, 'a')), 'message too large');
    const folds = Array.from({ length: 300 }, () => ` ${'a'.repeat(100)}`);
    assert.equal(refusal(options('X: 1', ...folds)), 'header too long');
  });

  it('refuses bare line ends and NUL anywhere in the head', () => {
    for (const bad of ['X: a\nY: b', 'X: a\rb', 'X: a\0b']) assert.equal(refusal(options(bad)), 'unusable line');
  });

  it('takes everything after the blank line of an application as the body, whatever Content-Length says', () => {
    const parsed = parseLoose('INFO sip:placeholder SIP/2.0\r\nContent-Length: 2\r\n\r\nhé');
    assert(parsed.ok);
    assert.match(serialize(parsed.message).toString(), /Content-Length: 3\r\n\r\nhé$/);
  });

  it('never throws, whatever the bytes', () => {
    const words = fc.constantFrom(
      'INVITE ',
      'SIP/2.0',
      '\r\n',
      ':',
      ' ',
      '"',
      '<',
      '>',
      ';',
      ',',
      'Via',
      '\r\n\r\n',
      '\0',
    );
    const near = fc.array(fc.oneof(words, fc.string()), { maxLength: 60 }).map(parts => Buffer.from(parts.join('')));
    const any = fc.oneof(
      fc.uint8Array({ maxLength: 500 }).map(bytes => Buffer.from(bytes)),
      near,
    );
    fc.assert(
      fc.property(any, data => {
        parseDatagram(data);
        parseLoose(data.toString());
        new StreamParser().push(data);
      }),
      { numRuns: 2000 },
    );
  });

  it('writes what it has read so that reading it again changes nothing', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 40 }).map(value => value.replace(/[\r\n\0]/g, ''));
    const extra = fc.array(fc.tuple(fc.stringMatching(/^[A-Za-z][A-Za-z-]{0,12}$/), text), { maxLength: 8 });
    const reserved = /^(content-length|l|v|via|f|from|t|to|i|call-id|cseq|m|contact|max-forwards)$/i;
    fc.assert(
      fc.property(extra, fc.uint8Array({ maxLength: 100 }), (headers, body) => {
        const own = headers.filter(([name]) => !reserved.test(name)).map(([name, value]) => `${name}: ${value}`);
        const first = serialize(message(Buffer.concat([options(...own), body])));
        assert.deepEqual(serialize(message(first)), first);
      }),
    );
  });

  it('a start line of thousands of blanks costs no more than another', () => {
    const before = process.cpuUsage();
    const wrong = [' '.repeat(8100), ' \t'.repeat(4000), ' SIP/2.0 '.repeat(900)];
    for (let n = 0; n < 30; n++)
      for (const blanks of wrong) assert.equal(refusal(lines(`A x${blanks}y`, ...HEADS)), 'unreadable start line');
    const { user } = process.cpuUsage(before);
    assert(user < 2_000_000, `${user} microseconds`); // ten seconds and more, when each blank was a place to look on from
    assert.equal(refusal(lines('OPTIONS   sip:c@d  x  SIP/2.0 ', ...HEADS)), 'wrong start line');
  });
});

describe('sip over a stream', () => {
  const whole = Buffer.concat([options('Content-Length: 4'), Buffer.from('body')]);
  const kinds = (items: StreamItem[]): string => items.map(item => item.kind).join(' ');

  it('finds messages and keep-alives wherever the chunks end', () => {
    const stream = Buffer.concat([whole, Buffer.from('\r\n\r\n'), whole, Buffer.from('\r\n'), whole]);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1 }), sizes => {
        const parser = new StreamParser();
        const items: StreamItem[] = [];
        for (let at = 0, i = 0; at < stream.length; i++) {
          const size = sizes[i % sizes.length] ?? 1;
          items.push(...parser.push(stream.subarray(at, at + size)));
          at += size;
        }
        assert.equal(kinds(items), 'message ping message message');
      }),
    );
  });

  it('thousands of pings at once are one, before a message and behind it', () => {
    const pings = Buffer.from('\r\n\r\n'.repeat(5000));
    const parser = new StreamParser();
    const items = parser.push(Buffer.concat([pings, options('Content-Length: 0'), pings]));
    assert.equal(kinds(items), 'ping message ping');
    assert.equal(kinds(parser.push(Buffer.from('\r\n\r\n'))), 'ping');
  });

  it('gives up a stream without Content-Length, or with a head that never ends', () => {
    assert.equal(kinds(new StreamParser().push(options())), 'broken');
    assert.equal(kinds(new StreamParser().push(Buffer.alloc(LIMITS.message + 10, 'a'))), 'broken');
    assert.equal(kinds(new StreamParser().push(options('Content-Length: 9999999'))), 'broken');
  });
});
