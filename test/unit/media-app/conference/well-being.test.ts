import { strict as assert } from 'node:assert';
import { type Condition, isWell, WellBeing } from '../../../../media-app/conference/well-being.ts';

const DAY_MS = 86_400_000;
const healthy: Condition = {
  status: 'joined',
  call: 'progressing',
  conference: 'progressing',
  age_ms: 1000,
  comes: true,
};

describe('the health check of a participant', () => {
  const rows: [string, Partial<Condition>, boolean][] = [
    ['whose call and conference are progressing', {}, true],
    ['that is on its way in', { status: 'joining' }, true],
    ['whose flow went elsewhere before it came in', { status: 'joining', comes: false }, false],
    ['that has joined, whatever its flow', { comes: false }, true],
    ['whose call was never answered', { call: 'ringing' }, false],
    ['whose call is ending', { call: 'terminating' }, false],
    ['whose call has ended', { call: 'hangup' }, false],
    ['whose conference is ending', { conference: 'terminating' }, false],
    ['whose conference is over', { conference: 'terminated' }, false],
    ['of exactly 24 hours', { age_ms: DAY_MS }, true],
    ['of more than 24 hours', { age_ms: DAY_MS + 1 }, false],
  ];
  for (const [who, condition, well] of rows)
    it(`finds one ${who} ${well ? 'well' : 'unwell'}`, () => assert.equal(isWell({ ...healthy, ...condition }), well));

  for (const [checks, over] of [
    [[false, false], false],
    [[false, false, false], true],
    [[false, false, true, false, false], false],
    [[true, true, true], false],
  ] as const)
    it(`puts ${over ? 'out' : 'nobody out'} after ${checks.map(well => (well ? 'well' : 'unwell')).join(', ')}`, () => {
      const wellBeing = new WellBeing();
      assert.equal(checks.map(well => wellBeing.isOver(well)).at(-1), over);
    });
});
