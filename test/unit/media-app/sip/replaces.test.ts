import { strict as assert } from 'node:assert';
import { parseReferTo, parseReplaces } from '../../../../media-app/sip/replaces.ts';

const dialog = { call_id: 'a84b4c76e66710@pc33', to_tag: '7743', from_tag: '6472', early_only: false };

describe('a Replaces header (RFC 3891 section 6.1)', () => {
  for (const [text, read] of [
    ['a84b4c76e66710@pc33;to-tag=7743;from-tag=6472', dialog],
    ['a84b4c76e66710@pc33 ; From-Tag=6472 ;to-tag=7743;early-only', { ...dialog, early_only: true }],
    ['a84b4c76e66710@pc33;to-tag=7743;from-tag=6472;something=new', dialog],
    ['a84b4c76e66710@pc33;to-tag=7743', undefined],
    ['a84b4c76e66710@pc33;to-tag=1;to-tag=2;from-tag=3', undefined],
    [';to-tag=7743;from-tag=6472', undefined],
    ['a;to-tag=1;from-tag=2, b;to-tag=3;from-tag=4', undefined],
    ['', undefined],
  ] as const)
    it(`${text || 'nothing'} ${read ? 'names a dialog' : 'names none'}`, () =>
      assert.deepEqual(parseReplaces(text.replace(' ; ', ';').replace(' ;', ';')), read));
});

describe('a Refer-To header (RFC 3515 section 2.1)', () => {
  const escaped = 'a84b4c76e66710%40pc33%3Bto-tag%3D7743%3Bfrom-tag%3D6472';
  for (const [text, uri, replaces] of [
    ['<sip:1003@office.test>', 'sip:1003@office.test', undefined],
    ['sip:1003@office.test', 'sip:1003@office.test', undefined],
    ['"Carol, that is" <sip:1003@office.test;transport=tcp>;x=y', undefined, undefined],
    ['Carol <sip:1003@office.test;transport=tcp>;x=y', 'sip:1003@office.test;transport=tcp', undefined],
    ['<sip:1003@office.test;method=INVITE>', 'sip:1003@office.test;method=INVITE', undefined],
    ['<sip:1003@office.test;method=BYE>', undefined, undefined],
    [`<sip:1003@office.test?Replaces=${escaped}>`, 'sip:1003@office.test', dialog],
    [`<sip:1003@office.test?Subject=hi&replaces=${escaped}>`, 'sip:1003@office.test', dialog],
    ['<sip:1003@office.test?Replaces=nonsense>', undefined, undefined],
    ['<sip:1003@office.test?Replaces=%zz>', undefined, undefined],
    ['<sip:1003@office.test>, <sip:1004@office.test>', undefined, undefined],
    ['<https://office.test>', undefined, undefined],
    ['<tel:+15550100>', undefined, undefined],
    ['<sip:1003@office.test', undefined, undefined],
    ['', undefined, undefined],
  ] as const)
    it(`${text || 'nothing'} ${uri ? 'is understood' : 'is refused'}`, () =>
      assert.deepEqual(parseReferTo(text), uri && { uri, replaces }));
});
