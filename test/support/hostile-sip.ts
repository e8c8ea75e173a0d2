import fc from 'fast-check';

/** SIP messages as strangers send them: sound ones, and sound ones that something was done to. */

const METHODS = [
  ...[
    'INVITE',
    'ACK',
    'BYE',
    'CANCEL',
    'OPTIONS',
    'REGISTER',
    'MESSAGE',
    'SUBSCRIBE',
    'NOTIFY',
    'REFER',
    'INFO',
    'UPDATE',
  ],
  ...['PRACK', 'PUBLISH', 'FOO'],
];

/** Small pools, so that messages meet the transactions and dialogs of others. */
const few = (name: string): fc.Arbitrary<string> => fc.integer({ min: 0, max: 30 }).map(n => `${name}${n}`);

const HEADERS = [
  ...[
    'Supported: 100rel, timer',
    'Require: 100rel',
    'Session-Expires: 1;refresher=uac',
    'Session-Expires: x',
    'Expires: 0',
  ],
  ...[
    'RAck: 1 1 INVITE',
    'RSeq: 1',
    'Route: <sip:127.0.0.1;lr>',
    'Record-Route: <sip:a;lr>,<sip:b>',
    'Event: presence',
  ],
  ...['Subscription-State: terminated', 'Contact: *', 'Contact: <sip:a@127.0.0.1:9>', 'Replaces: a;to-tag=b', 'Via: x'],
  ...[
    'Content-Type: application/sdp',
    'Max-Forwards: 0',
    'Via: SIP/2.0/UDP 1.1.1.1;branch=z9hG4bKq',
    'Folded: a\r\n b',
  ],
];

const sound = fc
  .record({
    ...{ method: fc.constantFrom(...METHODS), reply: fc.constantFrom(0, 0, 0, 0, 100, 180, 200, 302, 486, 503) },
    ...{ branch: few('z9hG4bK'), call: few('call-'), from: few('f'), to: fc.option(few('t')), seq: fc.nat(40) },
    ...{ more: fc.subarray(HEADERS, { maxLength: 4 }), body: fc.constantFrom('', 'v=0\r\n', 'x'.repeat(2000)) },
  })
  .map(({ method, reply, branch, call, from, to, seq, more, body }) =>
    [
      reply > 0 ? `SIP/2.0 ${reply} Well` : `${method} sip:1000@127.0.0.1 SIP/2.0`,
      `Via: SIP/2.0/UDP 127.0.0.1:9;branch=${branch}`,
      `From: <sip:a@127.0.0.1>;tag=${from}`,
      `To: <sip:1000@127.0.0.1>${to === null ? '' : `;tag=${to}`}`,
      `Call-ID: ${call}`,
      `CSeq: ${seq} ${method}`,
      ...more,
      `Content-Length: ${body.length}`,
      '',
      body,
    ].join('\r\n'),
  );

type Harm = (text: string) => string;

const at = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
const cut = (text: string, place: number): number => Math.floor(text.length * place);

const harm: fc.Arbitrary<Harm> = fc.oneof(
  fc.constant<Harm>(text => text),
  at.map<Harm>(place => text => text.slice(0, cut(text, place))),
  fc.tuple(at, fc.string({ unit: 'binary', maxLength: 8 })).map<Harm>(
    ([place, junk]) =>
      text =>
        text.slice(0, cut(text, place)) + junk + text.slice(cut(text, place)),
  ),
  fc.tuple(at, fc.constantFrom('\r\n', ';', '"', '<', '>', ',', '|', '\0', ' ', ':', '%', '\u{1f600}')).map<Harm>(
    ([place, char]) =>
      text =>
        text.slice(0, cut(text, place)) + char.repeat(50) + text.slice(cut(text, place)),
  ),
  fc.tuple(at, at).map<Harm>(
    ([from, to]) =>
      text =>
        text.slice(0, cut(text, from)) + text.slice(cut(text, to)),
  ),
  fc.constant<Harm>(text => text.replace('\r\n', `\r\n${'X-Flood: 1\r\n'.repeat(300)}`)),
  fc.constant<Harm>(text => text.replace(/Content-Length: \d+/, 'Content-Length: 99999999')),
);

/** One message, as bytes of one datagram. */
export const hostileMessage: fc.Arbitrary<Buffer> = fc
  .tuple(sound, harm)
  .map(([text, spoil]) => Buffer.from(spoil(text)).subarray(0, 60_000));
