import { strict as assert } from 'node:assert';
import { splitArguments } from '../../../../engine/freeswitch/application.ts';
import { causeFrom, causeFromReason, reasonHeader } from '../../../../engine/freeswitch/causes.ts';
import { parseDigits } from '../../../../engine/freeswitch/digits.ts';
import { routeOf } from '../../../../engine/freeswitch/dialplan.ts';
import { splitList } from '../../../../engine/freeswitch/player.ts';
import { newRequest } from '../../../../engine/sip/message.ts';

describe('words of the media server', () => {
  it('reads hang-up causes by name and number, and takes anything else for normal clearing', () => {
    assert.deepEqual(['user_busy', '17', '', 'NONSENSE'].map(causeFrom), [
      'USER_BUSY',
      'USER_BUSY',
      'NORMAL_CLEARING',
      'NORMAL_CLEARING',
    ]);
    assert.equal(causeFromReason('Q.850;cause=17;text="x"'), 'USER_BUSY');
    assert.equal(causeFromReason(undefined), 'NORMAL_CLEARING');
    assert.equal(reasonHeader('NO_ANSWER'), 'Q.850;cause=19;text="NO_ANSWER"');
    assert.equal(reasonHeader('MANAGER_REQUEST'), 'SIP;cause=703;text="MANAGER_REQUEST"');
  });

  it('reads keys, pauses and their length', () => {
    assert.deepEqual(parseDigits('9w8@200'), { digits: '9w8', durationMs: 200 });
    assert.deepEqual(parseDigits('a?1'), { digits: 'A1', durationMs: 250 });
  });

  it('keeps a quoted argument with spaces together', () => {
    assert.deepEqual(splitArguments("1 2 'a b.wav' \\d+"), ['1', '2', 'a b.wav', '\\d+']);
  });

  it('splits lists by delimiter and by file_string, without options in braces', () => {
    assert.deepEqual(splitList('{loops=1}file_string://a.wav!b.wav', undefined), ['a.wav', 'b.wav']);
    assert.deepEqual(splitList('a.wav!tone_stream://%(100,0,440)', '!'), ['a.wav', 'tone_stream://%(100,0,440)']);
    assert.deepEqual(splitList('a!b.wav', undefined), ['a!b.wav']);
  });

  it('routes only calls of drachtio-fsmrf that say where to connect', () => {
    const invite = (agent: string, target: string) =>
      newRequest('INVITE', 'sip:x@y', { 'User-Agent': agent, 'X-esl-outbound': target });
    assert.deepEqual(routeOf(invite('drachtio-fsmrf:1', '127.0.0.1:9000')), { address: '127.0.0.1', port: 9000 });
    assert.equal(routeOf(invite('sipp', '127.0.0.1:9000')), null);
    assert.equal(routeOf(invite('drachtio-fsmrf:1', '127.0.0.1:99999')), null);
    assert.equal(routeOf(invite('drachtio-fsmrf:1', 'x y:1')), null);
  });
});
