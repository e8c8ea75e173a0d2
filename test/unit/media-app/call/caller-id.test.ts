import { strict as assert } from 'node:assert';
import type { Address, Anonymous } from '#contract/address';
import { asksForPrivacy, callerHeaders, isWithheld } from '../../../../media-app/call/caller-id.ts';

/** voice-and-flows 9.3, accounts-and-plumbing 25.5. */
const WITHHELD: [type: Address['type'], asked: Anonymous, privacy: boolean, withheld: boolean][] = [
  ['tel', 'yes', false, true],
  ['tel', 'yes', true, true],
  ['tel', 'no', false, false],
  ['tel', 'no', true, false],
  ['tel', 'auto', false, false],
  ['tel', 'auto', true, true],
  ['tel', '', false, false],
  ['tel', '', true, true],
  ['sip', 'yes', false, false],
  ['sip', 'no', true, true],
  ['extension', 'yes', false, false],
  ['extension', 'auto', true, true],
];

/** RFC 3323 section 4.2, and callers who name nobody. */
const PRIVACY: [from: string, privacy: string, asks: boolean][] = [
  ['sip:ann@example.com', '', false],
  ['sip:ann@example.com', 'none', false],
  ['sip:ann@example.com', 'critical', false],
  ['sip:ann@example.com', 'id', true],
  ['sip:ann@example.com', 'header', true],
  ['sip:ann@example.com', 'user', true],
  ['sip:ann@example.com', 'header;ID;critical', true],
  ['sip:anonymous@anonymous.invalid', '', true],
  ['sip:Anonymous@example.com', '', true],
  ['sip:x@anonymous.invalid', '', true],
  ['not a URI', '', true],
];

const source = (type: Address['type'], target: string, more = {}): Address => ({
  type,
  target,
  target_name: '',
  name: '',
  detail: '',
  ...more,
});

/** What the callee sees of the caller, where it is not withheld. */
const SHOWN: [Address, from: string][] = [
  [source('tel', '+15550100'), '"+15550100" <sip:+15550100@office.example>'],
  [source('tel', '+15550100', { target_name: 'Ann' }), '"Ann" <sip:+15550100@office.example>'],
  [source('extension', '1001', { name: 'Desk' }), '"Desk" <sip:1001@office.example>'],
  [source('sip', 'sip:ann@Home.example'), '"ann" <sip:ann@home.example>'],
  [source('tel', '1', { target_name: 'A"\r\nVia: x' }), '"A Via: x" <sip:1@office.example>'],
];

describe('who a callee is told is calling', () => {
  for (const [type, asked, privacy, withheld] of WITHHELD)
    it(`to ${type}, anonymous "${asked}", from a caller who came ${privacy ? 'withheld' : 'shown'}: ${withheld ? 'withheld' : 'shown'}`, () =>
      assert.equal(isWithheld(type, asked, privacy), withheld));

  for (const [from, privacy, asks] of PRIVACY)
    it(`From ${from} with Privacy "${privacy}" ${asks ? 'asks' : 'does not ask'} to be withheld`, () =>
      assert.equal(asksForPrivacy(from, privacy), asks));

  for (const [address, from] of SHOWN)
    it(`${address.type} ${address.target} is shown as ${from}`, () =>
      assert.deepEqual(callerHeaders(address, 'office.example', false), { from }));

  for (const [address, withheld] of [
    [source('tel', '+15550100', { target_name: 'Ann' }), true],
    [source('tel', 'anonymous'), false],
  ] as const)
    it(`${address.target}${withheld ? ' withheld' : ''} is nobody, with Privacy: id`, () => {
      const { from, Privacy } = callerHeaders(address, 'office.example', withheld);
      assert.deepEqual([from, Privacy], ['"Anonymous" <sip:anonymous@anonymous.invalid>', 'id']);
    });
});
