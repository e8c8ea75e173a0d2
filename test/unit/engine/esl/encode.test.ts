import { strict as assert } from 'node:assert';
import fc from 'fast-check';
import { apiResponse, commandReply, encodeEvent, encodeValue } from '../../../../engine/esl/encode.ts';

describe('event socket encoding', () => {
  it('encodes a header value as FreeSWITCH does', () => {
    assert.equal(encodeValue("v=0\r\na/b,'(x)$"), "v%3D0%0D%0Aa/b,'(x)$");
    assert.equal(encodeValue(''), '_undef_');
    assert.equal(encodeValue('sofia/x@127.0.0.1:5060'), 'sofia/x%40127.0.0.1%3A5060');
  });

  it('encodes every text so that decodeURIComponent gives it back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), text => {
        assert.equal(decodeURIComponent(encodeValue(text)), text);
        assert.doesNotMatch(encodeValue(text), /[\r\n]/);
      }),
    );
  });

  it('counts bytes, not characters, in a JSON event', () => {
    const text = encodeEvent(
      { name: 'CUSTOM', headers: { 'Event-Name': 'CUSTOM', variable_x: 'grüße' }, body: 'ä' },
      'json',
    );
    const [head = '', body = ''] = text.split('\n\n');
    assert.equal(Number(/Content-Length: (\d+)/.exec(head)?.[1]), Buffer.byteLength(body));
    assert.deepEqual(JSON.parse(body), {
      'Event-Name': 'CUSTOM',
      variable_x: 'grüße',
      'Content-Length': '2',
      _body: 'ä',
    });
  });

  it('cannot be made to write a second header by a line break in a reply', () => {
    assert.equal(commandReply('+OK\nX: y'), 'Content-Type: command/reply\nReply-Text: +OK X: y\n\n');
  });

  it('says so when a command has nothing to say', () => {
    assert.equal(apiResponse(''), 'Content-Type: api/response\nContent-Length: 14\n\n-ERR no reply\n');
  });
});
