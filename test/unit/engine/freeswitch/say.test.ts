import { strict as assert } from 'node:assert';
import { spokenTime } from '../../../../engine/freeswitch/applications/speak.ts';

describe('say', () => {
  for (const [type, text, language, spoken] of [
    ['CURRENT_DATE', '1735689600', 'en', /^Wednesday, January 1, 2025$/],
    ['current_time', '1735738200', 'en', /^1:30.PM$/],
    ['CURRENT_DATE_TIME', '1735738200', 'en', /^Wednesday, January 1, 2025 at 1:30.PM$/],
    ['SHORT_DATE_TIME', '1735738200', 'en', /^Jan 1, 2025, 1:30.PM$/],
    ['CURRENT_DATE', '1735689600', 'de', /^Mittwoch, 1\. Januar 2025$/],
    ['CURRENT_DATE', '0', 'no/language', /^Thursday, January 1, 1970$/],
    ['CURRENT_DATE', 'tomorrow', 'en', /^tomorrow$/],
    ['NUMBER', '1735689600', 'en', /^1735689600$/],
  ] as const)
    it(`reads ${text} as ${type} (${language})`, () => assert.match(spokenTime(type, text, language), spoken));
});
