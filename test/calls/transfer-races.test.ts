import { strict as assert } from 'node:assert';
import type { Call } from '#contract/call';
import type { Transfer } from '#contract/transfer';
import { eventually } from '../support/eventually.ts';
import { Office } from '../support/office.ts';
import type { PhoneCall } from '../support/phone-call.ts';
import { TestPhone } from '../support/phone.ts';
import { sharedStack, type Stack } from '../support/stack.ts';

/** Milliseconds by which the hang-up is ahead of the other thing: from clearly first over the same instant to clearly second. */
const LEADS = [-24, -8, 0, 8, 24];
const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, Math.max(0, ms)));

/** A conversation of two, the calls of both, and who shall be the third. */
interface Talk {
  first: PhoneCall;
  second: PhoneCall;
  transferer: Call;
  third: TestPhone;
}
type Leaver = 'the transferer' | 'the other' | 'both';

describe('hang-ups in the instant of a transfer', function () {
  this.timeout(90_000);
  let stack: Stack;
  let office: Office;
  let phones: TestPhone[] = [];

  before(async () => {
    stack = await sharedStack();
    office = new Office(stack);
  });
  afterEach(async () => {
    await office.nothingLeft(15_000); // a third may be called, and cancelled, when the others are gone already
    await Promise.all(phones.map(phone => phone.stop()));
    phones = [];
  });

  const phone = async (): Promise<TestPhone> => {
    const server = stack.sip;
    const one = await TestPhone.start({ username: `p${phones.length}`, domain: 'race.invalid', server });
    phones.push(one);
    return one;
  };
  const to = (one: TestPhone) => ({ type: 'sip', target: one.address });
  const source = () => ({ type: 'tel', target: stack.welcome.number });

  const talk = async (): Promise<Talk> => {
    const [one, other, third] = await Promise.all([phone(), phone(), phone()]);
    const { body } = await stack.api<{ calls: Call[] }>('POST', '/calls', {
      source: source(),
      destinations: [to(one)],
      actions: [{ type: 'connect', option: { source: source(), destinations: [to(other)] } }],
    });
    const [transferer] = body.calls;
    assert(transferer, JSON.stringify(body));
    const first = await one.waitForCall({ autoAnswer: true });
    const second = await other.waitForCall({ autoAnswer: true });
    await Promise.all([first.answered(), second.answered()]);
    return { first, second, transferer, third };
  };

  /** Ordered until the two are together; what it came to. */
  const transfer = ({ transferer, third }: Talk, transfer_type: Transfer['type']) => {
    const body = { transfer_type, transferer_call_id: transferer.id, transferee_addresses: [to(third)] };
    return stack.api<Transfer>('POST', '/transfers', body);
  };
  const begun = (parties: Talk, type: Transfer['type']) =>
    eventually(
      'a transfer that is taken',
      () => transfer(parties, type),
      ({ status }) => status === 200,
    );

  const leave = async ({ first, second }: Talk, who: Leaver): Promise<void> => {
    const calls = { 'the transferer': [first], 'the other': [second], both: [first, second] }[who];
    await Promise.all(calls.filter(call => call.state !== 'ended').map(call => call.hangup()));
  };

  /** Whoever is left hangs up; then every call is over, and its end was told once. */
  const allOver = async ({ first, second, third, transferer }: Talk): Promise<void> => {
    const open = () => [first, second, ...third.calls].filter(call => call.state !== 'ended');
    const end = async (call: PhoneCall): Promise<void> =>
      call.state === 'ringing' ? call.reject() : call.hangup().then(() => undefined);
    await Promise.all(open().map(end));
    await eventually('the end of all phones’ calls', open, left => left.length === 0);
    await office.ended(transferer.id);
    const story = async (): Promise<string[]> => {
      const path = `/timelines/calls/${transferer.id}/events`;
      const { body } = await stack.api<{ result: { event_type: string }[] }>('GET', path);
      return body.result.map(({ event_type }) => event_type);
    };
    const told = await eventually('its end is told', story, all => all.includes('call_hangup'));
    assert.equal(told.filter(one => one === 'call_hangup').length, 1);
  };

  for (const type of ['blind', 'attended'] as const)
    for (const who of ['the transferer', 'the other', 'both'] as const) {
      it(`${type}: ${who} hang${who === 'both' ? '' : 's'} up as it is ordered`, () =>
        Promise.all(
          LEADS.map(async ahead => {
            const parties = await talk();
            const [ordered] = await Promise.all([
              pause(-ahead).then(() => transfer(parties, type)),
              pause(ahead).then(() => leave(parties, who)),
            ]);
            assert([200, 400, 404, 409].includes(ordered.status), `${ordered.status} ${JSON.stringify(ordered.body)}`);
            await allOver(parties);
          }),
        ).then(() => undefined));

      it(`${type}: ${who} hang${who === 'both' ? '' : 's'} up as the new party answers`, () =>
        Promise.all(
          LEADS.map(async ahead => {
            const parties = await talk();
            await begun(parties, type);
            const incoming = await parties.third.waitForCall();
            await Promise.all([
              pause(-ahead).then(() => incoming.state !== 'ended' && incoming.answer()),
              pause(ahead).then(() => leave(parties, who)),
            ]);
            await allOver(parties);
          }),
        ).then(() => undefined));
    }
});
