import { strict as assert } from 'node:assert';
import { EMPTY_ID, newId } from '#contract/ids';
import { newRecording } from '#contract/recording';
import { fromDate, timestamp, toMillis } from '#contract/time';
import { failureOf, faultOf, lengthsOf, type RecordingFacts, tellEnd } from '../../../../media-app/recording/ending.ts';

const started = {
  ...newRecording({
    ...{ id: newId(), customer_id: newId(), activeflow_id: EMPTY_ID, reference_type: 'call', reference_id: newId() },
    ...{ on_end_flow_id: EMPTY_ID, tm_create: timestamp() },
  }),
  tm_start: fromDate(new Date('2026-01-01T00:00:00Z')),
};
const full = Object.assign(new Error('no space left on /secret/path'), { code: 'ENOSPC' });

describe('the end of a recording', () => {
  const cases: [string, RecordingFacts, string | undefined][] = [
    ['as long as it ran', { expected_ms: 60_000, actual_ms: 60_000 }, undefined],
    ['a second and two in a hundred short', { expected_ms: 60_000, actual_ms: 57_800 }, undefined],
    ['shorter than that', { expected_ms: 60_000, actual_ms: 57_799 }, 'duration'],
    ['a second and two in a hundred long', { expected_ms: 60_000, actual_ms: 62_200 }, undefined],
    ['longer than that', { expected_ms: 60_000, actual_ms: 62_201 }, 'duration'],
    ['empty after a moment', { expected_ms: 1000, actual_ms: 0 }, undefined],
    ['empty after more than a moment', { expected_ms: 1100, actual_ms: 0 }, 'duration'],
    ['cut off with its media-app', { complete: false, actual_ms: 900 }, 'incomplete'],
    ['not saved', failureOf(full), 'not_saved'],
    ['cut off and not saved', { complete: false, ...failureOf(full) }, 'not_saved'],
  ];
  for (const [title, facts, fault] of cases)
    it(`${title}: ${fault ?? 'nothing is wrong'}`, () => {
      assert.equal(faultOf(started, facts)?.fault, fault);
      const { events, notes } = tellEnd(started, facts);
      assert.equal(notes.length, fault ? 1 : 0);
      assert.deepEqual(events, [...(fault === 'not_saved' ? ['recording_failed'] : []), 'recording_finished']);
    });

  it('is one that never started when it has no beginning, and shows nobody where our files lie', () => {
    const fault = faultOf({ ...started, tm_start: null }, failureOf(full));
    assert.deepEqual([fault?.fault, fault?.sentence], ['not_started', 'The recording could not be started (ENOSPC).']);
    assert(!JSON.stringify(tellEnd(started, failureOf(full)).notes).includes('secret'));
  });

  it('counts the time it ran from its start to the order to stop', () => {
    const began = toMillis(started.tm_start);
    assert.deepEqual(lengthsOf(started, began + 1234, 1200), { expected_ms: 1234, actual_ms: 1200 });
  });
});
