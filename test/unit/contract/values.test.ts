import { strict as assert } from 'node:assert';
import { isVirtualNumber, normalizeAddress, type Address } from '#contract/address';
import { fromDate, parseTimestamp, timestamp, toMillis, toRfc3339 } from '#contract/time';

const address = (type: Address['type'], target: string): Address => ({
  type,
  target,
  target_name: '',
  name: '',
  detail: '',
});

describe('addresses are stored in one form (accounts-and-plumbing 25.1)', () => {
  for (const [type, given, stored] of [
    ['tel', '+49 (30) 123-456', '+4930123456'],
    ['tel', 'anonymous', 'anonymous'],
    ['sip', 'Bob@Example.COM', 'sip:Bob@example.com'],
    ['sip', 'sip:Bob@Example.COM;transport=TCP', 'sip:Bob@example.com;transport=TCP'],
    ['sip', 'sip:Example.COM:5070', 'sip:example.com:5070'],
    ['email', ' Ann@Example.Com ', 'ann@example.com'],
    ['extension', ' 1001 ', '1001'],
    ['sip', 'bob@host\r\nX-Evil: 1', 'sip:bob@host x-evil: 1'],
  ] as const) {
    it(`${type} ${JSON.stringify(given)} becomes ${JSON.stringify(stored)}`, () =>
      assert.equal(normalizeAddress(address(type, given)).target, stored));
  }

  it('virtual numbers are +899 and nine digits, outside the reserved range', () => {
    assert.deepEqual(['+899123456789', '+899000123456', '+89912345678', '+4930123456'].map(isVirtualNumber), [
      true,
      false,
      false,
      false,
    ]);
  });
});

describe('timestamps', () => {
  it('never tie within a process', () => {
    const many = Array.from({ length: 5000 }, timestamp);
    assert.equal(new Set(many).size, many.length);
    assert.deepEqual([...many].sort(), many);
  });

  it('are microseconds in UTC, and RFC 3339 where asked', () => {
    const text = fromDate(new Date(Date.UTC(2026, 10, 21, 9, 8, 7, 6)));
    assert.equal(text, '2026-11-21 09:08:07.006000');
    assert.equal(toRfc3339(text), '2026-11-21T09:08:07.006000Z');
    assert.equal(toMillis(text), Date.UTC(2026, 10, 21, 9, 8, 7, 6));
  });

  for (const [given, read] of [
    ['2026-11-21T09:08:07Z', '2026-11-21 09:08:07.000000'],
    ['2026-11-21 09:08:07.123', '2026-11-21 09:08:07.123000'],
    ['2026-11-21T09:08:07.123456789Z', '2026-11-21 09:08:07.123456'],
    ['2026-13-21T09:08:07Z', undefined],
    ['yesterday', undefined],
  ] as const) {
    it(`${given} reads as ${read}`, () => assert.equal(parseTimestamp(given), read));
  }
});
