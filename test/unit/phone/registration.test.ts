import { strict as assert } from 'node:assert';
import { SipRefused, SipUnreachable } from '../../../scripts/phone/sip-registration.ts';
import { cseq, header } from '../../../scripts/phone/sip-message.ts';
import { TestPhone } from '../../support/phone.ts';
import { Registrar } from './registrar.ts';

for (const transport of ['udp', 'tcp'] as const) {
  describe(`a phone registers over ${transport.toUpperCase()}`, () => {
    let registrar: Registrar;
    let phone: TestPhone;

    async function start(password = 'secret'): Promise<void> {
      const options = { username: '1001', password, domain: 'example.test', server: registrar.address };
      phone = await TestPhone.start({ ...options, transport });
    }

    beforeEach(async () => {
      registrar = await Registrar.start(transport);
    });

    afterEach(async () => {
      await phone.stop();
      await registrar.close();
    });

    it('after a challenge, for as long as the server grants', async () => {
      await start();
      assert.equal(await phone.register({ expires: 600 }), 120);
      assert.equal(registrar.contacts.size, 1);
      const [first, second] = registrar.seen;
      assert.ok(first && second);
      assert.equal(first.uri, 'sip:example.test');
      assert.equal(header(first, 'call-id'), header(second, 'call-id'));
      assert.equal(cseq(second).number, cseq(first).number + 1);
    });

    it('again with a growing sequence, and takes its Contact off at the end', async () => {
      await start();
      await phone.register();
      await phone.register();
      assert.equal(registrar.contacts.size, 1);
      await phone.unregister();
      assert.equal(registrar.contacts.size, 0);
      const numbers = registrar.seen.map(request => cseq(request).number);
      assert.deepEqual(
        numbers,
        [...new Set(numbers)].sort((a, b) => a - b),
      );
    });

    it('and once more where the nonce has only become stale', async () => {
      await start();
      await phone.register();
      registrar.nonce = 'second';
      await phone.register();
      assert.match(
        header(registrar.seen.at(-1) ?? assert.fail(), 'authorization') ?? '',
        /nonce="second".*nc=00000001/,
      );
    });

    it('but not with a wrong password, and says which status refused it', async () => {
      await start('guess');
      await assert.rejects(phone.register(), (error: Error) => error instanceof SipRefused && error.status === 403);
      assert.equal(registrar.seen.length, 2);
    });
  });
}

describe('a phone whose server does not answer', () => {
  it('says so after the time it was given', async () => {
    const silent = await TestPhone.start({ username: 'nobody' });
    silent.vanish();
    const phone = await TestPhone.start({ username: '1001', domain: 'example.test', server: silent.local });
    await assert.rejects(phone.register({ timeout_ms: 100 }), SipUnreachable);
    await phone.stop();
    await silent.stop();
  });
});
