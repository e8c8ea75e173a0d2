import { strict as assert } from 'node:assert';
import { requestIdOf } from '../../../control-api/http/request-id.ts';

describe('a request id', () => {
  it('is the one given when it is well formed', () => {
    for (const given of ['a', 'A-z_9', 'x'.repeat(64)]) assert.equal(requestIdOf(given), given);
  });

  it('is made when none or a malformed one is given', () => {
    for (const given of [undefined, '', 'x'.repeat(65), 'a b', 'ä', 'a\r\nb', ['a', 'b']])
      assert.match(requestIdOf(given), /^req_[a-z2-7]{26}$/);
  });

  it('is never made twice', () => {
    const made = new Set(Array.from({ length: 1000 }, () => requestIdOf(undefined)));
    assert.equal(made.size, 1000);
  });
});
