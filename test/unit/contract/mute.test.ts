import { strict as assert } from 'node:assert';
import { muted, type MuteDirection, unmuted } from '#contract/mute';

/** What was muted, what is opened, what stays muted (voice-and-flows 10). */
const OPENED: [MuteDirection, MuteDirection, MuteDirection][] = [
  ['both', 'in', 'out'],
  ['both', 'out', 'in'],
  ['both', 'both', ''],
  ['both', '', ''],
  ['in', 'in', ''],
  ['in', 'out', 'in'],
  ['in', 'both', ''],
  ['in', '', ''],
  ['out', 'out', ''],
  ['out', 'in', 'out'],
  ['out', 'both', ''],
  ['out', '', ''],
  ['', 'in', ''],
  ['', 'out', ''],
  ['', 'both', ''],
  ['', '', ''],
];

describe('mute by direction', () => {
  for (const [now, asked, then] of OPENED)
    it(`of ${now || 'nothing'} muted, opening ${asked || 'everything'} leaves ${then || 'nothing'}`, () =>
      assert.equal(unmuted(now, asked), then));

  it('what is asked for replaces what was, and nothing said means both', () => {
    assert.deepEqual(
      (['', 'in', 'out', 'both'] as const).map(asked => muted(asked)),
      ['both', 'in', 'out', 'both'],
    );
  });
});
