import { strict as assert } from 'node:assert';
import { asksForPrivacy } from '../../../../media-app/call/caller-id.ts';
import { uriOf } from '../../../../media-app/sip/uri.ts';

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
