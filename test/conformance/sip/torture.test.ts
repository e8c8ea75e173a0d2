import { strict as assert } from 'node:assert';
import { parseDatagram } from '../../../engine/sip/parser.ts';
import { headerOf, headersOf, isRequest } from '../../../engine/sip/message.ts';
import { listOf } from '../../../engine/sip/grammar.ts';
import { parseNameAddr, parseUri } from '../../../engine/sip/uri.ts';

const wire = (text: string): Buffer => Buffer.from(text.replace(/\n/g, '\r\n'));

/** Messages in the manner of RFC 4475; the section is named with each. */
describe('sip torture', () => {
  it('3.1.1.1: odd spacing, folding, escapes and unknown parts are all valid', () => {
    const parsed = parseDatagram(
      wire(`INVITE sip:vivekg@chair-dnrc.example.com;unknownparam SIP/2.0
TO :
 sip:vivekg@chair-dnrc.example.com ;   tag    = 1918181833n
from   : "J Rosenberg \\\\\\""       <sip:jdrosen@example.com>
  ;
  tag = 98asjd8
MaX-fOrWaRdS: 0068
Call-ID: wsinv.ndaksdj@192.0.2.1
Content-Length   : 4
cseq: 0009
  INVITE
Via  : SIP  /   2.0
 /UDP
    192.0.2.2;branch=390skdjuw
s :
NewFangledHeader:   newfangled value
 continued newfangled value
UnknownHeaderWithUnusualValue: ;;,,;;,;
Content-Type: application/sdp
Route:
 <sip:services.example.com;lr;unknownwith=value;unknown-no-value>
v:  SIP  / 2.0  / TCP     spindle.example.com   ;
  branch  =   z9hG4bK9ikj8  ,
 SIP  /    2.0   / UDP  192.168.255.111   ; branch=
 z9hG4bK30239
m:"Quoted string \\"\\"" <sip:jdrosen@example.com> ; newparam =
      newvalue ;
  secondparam ; q = 0.33

v=0
`),
    );
    assert(parsed.ok, parsed.ok ? '' : parsed.error);
    const { message } = parsed;
    assert.equal(parseNameAddr(headerOf(message, 'to') ?? '')?.params.get('tag'), '1918181833n');
    assert.equal(parseNameAddr(headerOf(message, 'from') ?? '')?.params.get('tag'), '98asjd8');
    assert.equal(listOf(headersOf(message, 'via')).length, 3);
    assert.equal(parseNameAddr(headerOf(message, 'contact') ?? '')?.params.get('q'), '0.33');
    assert.equal(headerOf(message, 'newfangledheader'), 'newfangled value continued newfangled value');
  });

  const head = `Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1
From: <sip:a@example.com>;tag=1
Call-ID: x@192.0.2.1
`;

  it('3.1.1.2: every token character is valid in a method', () => {
    const method = "!interesting-Method0123456789_*+`.%indeed'~";
    const parsed = parseDatagram(
      wire(`${method} sip:a@b SIP/2.0\n${head}To: <sip:b@b>\nCSeq: 139122385 ${method}\n\n`),
    );
    assert(parsed.ok && isRequest(parsed.message));
    assert.equal(parsed.message.method, method);
  });

  it('3.1.1.3: escaped characters stay as they are', () => {
    const uri = 'sip:sips%3Auser%40example.com@example.net';
    const parsed = parseDatagram(wire(`INVITE ${uri} SIP/2.0\n${head}To: sip:%75se%72@b\nCSeq: 1 INVITE\n\n`));
    assert(parsed.ok && isRequest(parsed.message));
    assert.equal(parseUri(parsed.message.uri)?.user, 'sips%3Auser%40example.com');
  });

  it('3.1.1.9: a semicolon in the user part belongs to it', () => {
    assert.equal(parseUri('sip:user;par=u%40example.net@example.com')?.user, 'user;par=u%40example.net');
  });

  it('3.1.1.13: an empty reason phrase is valid', () => {
    const parsed = parseDatagram(wire(`SIP/2.0 100 \n${head}To: <sip:b@b>\nCSeq: 1 INVITE\n\n`));
    assert(parsed.ok && !isRequest(parsed.message));
    assert.equal(parsed.message.reason, '');
  });

  const refused: [title: string, start: string, rest: string][] = [
    [
      '3.1.2.2: a Content-Length beyond the datagram',
      'INVITE sip:a@b SIP/2.0',
      'To: <sip:b@b>\nCSeq: 1 INVITE\nl: 9999\n',
    ],
    ['3.1.2.3: a negative Content-Length', 'INVITE sip:a@b SIP/2.0', 'To: <sip:b@b>\nCSeq: 1 INVITE\nl: -999\n'],
    [
      '3.1.2.4: a CSeq beyond 32 bits',
      'REGISTER sip:a SIP/2.0',
      'To: <sip:b@b>\nCSeq: 36893488147419103232 REGISTER\n',
    ],
    ['3.1.2.6: an unterminated quote in To', 'INVITE sip:a@b SIP/2.0', 'To: "Mr. J. User <sip:j@b>\nCSeq: 1 INVITE\n'],
    ['3.1.2.7: a request URI in angle brackets', 'INVITE <sip:a@b> SIP/2.0', 'To: <sip:b@b>\nCSeq: 1 INVITE\n'],
    ['3.1.2.8: white space in the request URI', 'INVITE sip:a@b; lr SIP/2.0', 'To: <sip:b@b>\nCSeq: 1 INVITE\n'],
    ['3.1.2.9: too many spaces in the start line', 'INVITE  sip:a@b SIP/2.0', 'To: <sip:b@b>\nCSeq: 1 INVITE\n'],
    ['3.1.2.16: an unknown version', 'OPTIONS sip:a@b SIP/7.0', 'To: <sip:b@b>\nCSeq: 1 OPTIONS\n'],
    ['3.1.2.17: a CSeq with another method', 'OPTIONS sip:a@b SIP/2.0', 'To: <sip:b@b>\nCSeq: 1 INVITE\n'],
    ['3.1.2.19: a status that is no status', 'SIP/2.0 4294967301 better', 'To: <sip:b@b>\nCSeq: 1 INVITE\n'],
    ['3.3.1: missing headers', 'INVITE sip:a@b SIP/2.0', 'CSeq: 1 INVITE\n'],
  ];
  for (const [title, start, rest] of refused)
    it(`${title} is refused`, () => assert.equal(parseDatagram(wire(`${start}\n${head}${rest}\n`)).ok, false));
});
