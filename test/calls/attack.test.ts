import { strict as assert } from 'node:assert';
import { attack, type AttackResult } from '../../scripts/bench/attack.ts';
import { WAVES } from '../../scripts/bench/attack-waves.ts';
import { CarrierDesk, OWN_NUMBER } from '../support/carrier.ts';
import { startStack, type Stack } from '../support/stack.ts';

/** `npm run bench -- attack` in small: one attack, looked at from several sides. */
describe('an attack of two thousand messages', function () {
  this.timeout(90_000);
  let stack: Stack;
  let desk: CarrierDesk;
  let result: AttackResult;

  before(async () => {
    stack = await startStack();
    desk = await CarrierDesk.open(stack);
    await desk.standIn(OWN_NUMBER);
    result = await attack(stack, desk, { messages: 2000 });
  });
  after(async () => {
    await desk.clear();
    await desk.close();
    await stack.stop();
  });

  it('places no call, registers nobody, injects no line, and bloats nothing', () =>
    assert.deepEqual(result.breaches, []));

  it('was one: every kind of it was answered by what the server thinks of it', () => {
    assert(result.messages >= 2000 && result.addresses > 20 && result.bans > 0);
    for (const { name } of WAVES) assert(result.answers.has(name), `nothing was answered to ${name}`);
    const refused = [...result.answers.values()].flatMap(counts => [...counts.keys()]);
    for (const answer of ['REGISTER 401', 'REGISTER 403', 'INVITE 401', 'INVITE 403', 'INVITE 404', 'REGISTER 400'])
      assert(refused.includes(answer), `${answer} was never heard`);
  });

  it('did not keep the phones of the house from calling and registering', () => {
    assert(result.setups.during.length >= 2 && result.registrations >= 2, JSON.stringify(result.setups));
  });

  it('leaves a known and an unknown user alike, by answer and by clock', () => {
    assert.deepEqual(Object.keys(result.timing).sort(), ['a known user', 'an unknown customer', 'an unknown user']);
    for (const times of Object.values(result.timing)) assert(times.length >= 20);
  });
});
