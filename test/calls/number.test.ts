import { strict as assert } from 'node:assert';
import { eventually } from '../support/eventually.ts';
import { withOffice, type Office } from '../support/office.ts';

describe('a phone dials the virtual number', function () {
  this.timeout(60_000);
  let office: Office;

  withOffice(opened => (office = opened));

  it('walks the welcome flow: is greeted, presses a key, hears its own tone come back', async () => {
    const phone = await office.registered('1001', { tone: 620 });
    const call = await phone.dial(office.stack.welcome.number);
    await call.answered();
    call.playSilence();
    await call.hearsSpeech();
    await call.press('2');
    call.playTone(620);
    await call.hears(620, { within_ms: 15_000 });
    await call.hangup();
    const [record] = await eventually(
      'the record',
      () => office.calls(1),
      calls => calls[0]?.status === 'hangup',
    );
    assert.equal(record?.direction, 'incoming');
    assert.equal(record?.flow_id, office.stack.welcome.flow_id);
    assert.equal(record?.source.target, '1001');
    assert.deepEqual([record?.hangup_by, record?.hangup_reason], ['remote', 'normal']);
  });
});
