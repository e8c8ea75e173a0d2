import { strict as assert } from 'node:assert';
import { TestPhone } from '../../support/phone.ts';
import type { PhoneCall } from '../../support/phone-call.ts';

describe('two phones calling each other without a server', () => {
  let alice: TestPhone;
  let bob: TestPhone;

  beforeEach(async () => {
    alice = await TestPhone.start({ username: 'alice', tone: 440 });
    bob = await TestPhone.start({ username: 'bob', tone: 620 });
  });

  afterEach(async () => {
    await alice.stop();
    await bob.stop();
  });

  async function talk(): Promise<[PhoneCall, PhoneCall]> {
    const call = await alice.dial(bob.address);
    const incoming = await bob.waitForCall();
    incoming.answer();
    await Promise.all([call.answered(), incoming.answered()]);
    return [call, incoming];
  }

  it('hear the other side and nothing else', async () => {
    const [call, incoming] = await talk();
    await Promise.all([call.hearsOnly([620]), incoming.hearsOnly([440])]);
    await call.hangup();
    assert.deepEqual(await call.ended(), { by: 'us' });
    assert.equal((await incoming.ended()).by, 'them');
  });
});
