import { strict as assert } from 'node:assert';
import { Subscriptions } from '../../../../engine/esl/subscriptions.ts';

const custom = (subclass: string) => ({ name: 'CUSTOM', subclass, headers: { 'Unique-ID': 'a' } });

describe('event subscriptions', () => {
  it('take the line drachtio-fsmrf sends, prefixes and misplaced words included', () => {
    const wanted = new Subscriptions();
    assert.ok(wanted.add('DTMF SWITCH_EVENT_PLAYBACK_START CUSTOM conference::maintenance BACKGROUND_JOB'.split(' ')));
    assert.ok(wanted.matches({ name: 'PLAYBACK_START', headers: {} }));
    assert.ok(wanted.matches(custom('conference::maintenance')));
    assert.ok(!wanted.matches(custom('mod_audio_fork::json')));
    assert.ok(!wanted.wants('BACKGROUND_JOB'));
  });

  it('are refused when no word names an event', () => {
    assert.equal(new Subscriptions().add(['NO_SUCH_EVENT']), false);
    assert.equal(new Subscriptions().add([]), false);
  });

  it('pass an event when any filter matches, without regard to letter case', () => {
    const wanted = new Subscriptions();
    wanted.add(['DTMF']);
    wanted.addFilter('Unique-ID', 'AbC');
    wanted.addFilter('Conference-Unique-ID', '/^c0ffee/');
    assert.ok(wanted.matches({ name: 'DTMF', headers: { 'Unique-ID': 'aBc' } }));
    assert.ok(wanted.matches({ name: 'DTMF', headers: { 'Conference-Unique-ID': 'c0ffee-1' } }));
    assert.ok(!wanted.matches({ name: 'DTMF', headers: { 'Unique-ID': 'other' } }));
    wanted.deleteFilter('all');
    assert.ok(wanted.matches({ name: 'DTMF', headers: { 'Unique-ID': 'other' } }));
  });

  it('can be taken back one by one, also from ALL', () => {
    const wanted = new Subscriptions();
    wanted.add(['ALL']);
    wanted.remove(['DTMF']);
    assert.ok(!wanted.wants('DTMF'));
    assert.ok(wanted.wants('HEARTBEAT'));
    wanted.clear();
    assert.ok(!wanted.wants('HEARTBEAT'));
  });
});
