import { strict as assert } from 'node:assert';
import { asksForPrivacy } from '../../../../media-app/call/caller-id.ts';
import { uriOf, requestUri } from '../../../../media-app/sip/uri.ts';

const HEADERS: [header: string, uri: string][] = [
  ['<sip:ann@a.example>;tag=1', 'sip:ann@a.example'],
  ['sip:ann@a.example;tag=1', 'sip:ann@a.example'],
  ['Ann <sip:ann@a.example>', 'sip:ann@a.example'],
  ['"Ann" <sip:ann@a.example>;tag=1', 'sip:ann@a.example'],
  ['"Ann <x>" <sip:ann@a.example>', 'sip:ann@a.example'],
  ['"<sip:boss@b.example>" <sip:ann@a.example>', 'sip:ann@a.example'],
  ['"Ann \\"<y>\\\\" <sip:ann@a.example>', 'sip:ann@a.example'],
  ['"a; b" sip:ann@a.example;tag=1', 'sip:ann@a.example'],
];

describe('the URI of a From, To or Contact header', () => {
  for (const [header, uri] of HEADERS) it(header, () => assert.equal(uriOf(header), uri));

  it('a caller with angle brackets in the display name is no anonymous caller', () => {
    assert.equal(asksForPrivacy(uriOf('"Ann <x>&" <sip:1001@a.example>'), ''), false);
  });
});

describe('a URI in a request line', () => {
  for (const [uri, given] of [
    ['sip:99%23+1212;cic=1@192.0.2.9:5070;transport=udp', 'sip:99%23+1212%3Bcic=1@192.0.2.9:5070;transport=udp'],
    [
      'sip:1001@192.0.2.9;transport=tcp?Route=%3Csip:edge;lr%3E',
      'sip:1001@192.0.2.9;transport=tcp?Route=%3Csip:edge;lr%3E',
    ],
    ['sip:192.0.2.9:5070;lr', 'sip:192.0.2.9:5070;lr'],
  ] as const)
    it(`${uri} has no bare semicolon in its user`, () => assert.equal(requestUri(uri), given));
});
