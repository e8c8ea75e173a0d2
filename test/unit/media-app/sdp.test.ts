import { strict as assert } from 'node:assert';
import { describeAnew, knowsTelephoneEvent, versionOf } from '../../../media-app/media/sdp.ts';

const described = (...lines: string[]): string =>
  ['v=0', 'o=- 77 5 IN IP4 192.0.2.1', 's=-', 'c=IN IP4 192.0.2.1', 't=0 0', ...lines, ''].join('\r\n');

describe('a description told anew', () => {
  it('has the next version, and the direction that is wanted', () => {
    const before = described('m=audio 4000 RTP/AVP 0 101', 'a=rtpmap:101 telephone-event/8000', 'a=sendrecv');
    const after = describeAnew(before, 6, () => 'sendonly');
    assert.equal(versionOf(after), 6);
    assert.match(after, /o=- 77 6 IN IP4 192\.0\.2\.1/);
    assert.match(after, /a=sendonly/);
    assert.doesNotMatch(after, /a=sendrecv/);
    assert.match(after, /m=audio 4000 RTP\/AVP 0 101/);
  });

  it('reads the direction from the media, else from the session, else as sendrecv', () => {
    const seen: string[] = [];
    for (const lines of [
      ['m=audio 4000 RTP/AVP 0', 'a=recvonly'],
      ['a=inactive', 'm=audio 4000 RTP/AVP 0'],
      ['m=audio 4000 RTP/AVP 0'],
    ])
      describeAnew(described(...lines), 6, direction => {
        seen.push(direction);
        return direction;
      });
    assert.deepEqual(seen, ['recvonly', 'inactive', 'sendrecv']);
  });
});

describe('the keys of a description', () => {
  for (const [line, known] of [
    ['a=rtpmap:101 telephone-event/8000', true],
    ['a=rtpmap:96 Telephone-Event/48000', true],
    ['a=fmtp:101 0-15', false],
    ['a=tool:telephone-event/8000', false],
  ] as const)
    it(`come ${known ? 'as events' : 'as tones'} with ${line}`, () =>
      assert.equal(knowsTelephoneEvent(described('m=audio 4000 RTP/AVP 0 101', line)), known));
});
