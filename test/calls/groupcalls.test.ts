import { strict as assert } from 'node:assert';
import type { Activeflow } from '#contract/activeflow';
import type { Groupcall } from '#contract/groupcall';
import { eventually } from '../support/eventually.ts';
import { withOffice, type Office } from '../support/office.ts';
import type { TestPhone } from '../support/phone.ts';
import { startStack, type Stack } from '../support/stack.ts';

const extension = (number: string) => ({ type: 'extension', target: number, target_name: number });
const sip = (phone: TestPhone) => ({ type: 'sip', target: phone.address });
const flow = { actions: [{ type: 'play', option: { stream_urls: ['tone_stream://%(20000,0,${hz})'] } }] };
const EMPTY = '00000000-0000-0000-0000-000000000000';

describe('groupcalls (voice-and-flows 11)', function () {
  this.timeout(60_000);
  let stack: Stack;
  let office: Office;

  withOffice(
    opened => {
      office = opened;
      stack = office.stack;
    },
    () => startStack({ env: { DIAL_TIMEOUT_MS: '2500' } }),
  );

  const group = async (destinations: { type: string; target: string }[], more = {}): Promise<Groupcall> => {
    const source = { type: 'tel', target: stack.welcome.number };
    const body = { source, destinations, variables: { hz: '1100' }, ...flow, ...more };
    const answer = await stack.api<Groupcall>('POST', '/groupcalls', body);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  };
  const read = async (id: string): Promise<Groupcall> => (await stack.api<Groupcall>('GET', `/groupcalls/${id}`)).body;
  const until = (id: string, what: string, check: (groupcall: Groupcall) => boolean) =>
    eventually(what, () => read(id), check);
  const over = (id: string) => until(id, 'the end of the groupcall', ({ status }) => status === 'hangup');

  it('ring_all rings two extensions at once; the first answer runs the flow and the other phone stops', async () => {
    const heard = await office.listen();
    const [alice, bob] = [await office.registered('1001'), await office.registered('1002')];
    const made = await group([extension('1001'), extension('1002')]);
    assert.deepEqual(
      [made.status, made.ring_method, made.answer_method, made.call_count, made.groupcall_count, made.call_ids],
      ['progressing', 'ring_all', 'hangup_others', 0, 2, []],
    );
    const [first, second] = await Promise.all([alice.waitForCall(), bob.waitForCall()]);
    second.answer();
    await second.hears(1100);
    assert.equal((await first.ended()).by, 'them');
    const answered = await until(made.id, 'one leg left', one => one.groupcall_count === 1);
    const nested = await read(answered.answer_groupcall_id);
    assert.equal(nested.master_groupcall_id, made.id);
    assert.deepEqual([nested.answer_call_id, nested.call_ids], [answered.answer_call_id, nested.call_ids]);
    const call = await office.call(answered.answer_call_id);
    assert.deepEqual([call.groupcall_id, call.flow_id, call.status], [nested.id, made.flow_id, 'progressing']);
    await second.hangup();
    assert.deepEqual([(await over(made.id)).groupcall_count, (await over(nested.id)).call_count], [0, 0]);
    await eventually(
      'the last event',
      () => heard.some(({ data, event_type }) => data['id'] === made.id && event_type === 'groupcall_hangup'),
      Boolean,
    );
    const story = heard.filter(({ data }) => data['id'] === made.id).map(({ event_type }) => event_type);
    assert.deepEqual(story, ['groupcall_created', 'groupcall_progressing', 'groupcall_hangup']);
  });

  it('a single extension is expanded: its phones are the legs', async () => {
    const [desk, mobile] = [await office.registered('1001'), await office.registered('1001')];
    const made = await group([extension('1001')]);
    assert.deepEqual([made.call_count, made.groupcall_count, made.call_ids.length], [2, 0, 2]);
    const [first, second] = await Promise.all([desk.waitForCall(), mobile.waitForCall()]);
    first.answer();
    await first.hears(1100);
    await second.ended();
    await first.hangup();
    const end = await over(made.id);
    assert(end.call_ids.includes(end.answer_call_id));
    assert.equal(end.answer_groupcall_id, EMPTY);
  });

  it('linear goes on after a busy phone and after one that nobody answers, and not after an answer', async () => {
    const busy = await office.phone('1001', { incoming: { refuse: 486 } });
    const deaf = await office.phone('1001');
    const bob = await office.registered('1002');
    const last = await office.phone('1001');
    const made = await group([sip(busy), sip(deaf), extension('1002'), sip(last)], { ring_method: 'linear' });
    assert.deepEqual([made.call_ids.length, made.dial_index, made.call_count], [1, 0, 1]);
    const unanswered = await deaf.waitForCall();
    const second = await until(made.id, 'the second leg', one => one.call_ids.length === 2);
    assert.deepEqual([second.dial_index, second.call_count, second.status], [1, 1, 'progressing']);
    assert.equal(bob.calls.length, 0);
    await unanswered.ended();
    const incoming = await bob.waitForCall();
    incoming.answer();
    await incoming.hears(1100);
    await incoming.hangup();
    const end = await over(made.id);
    assert.deepEqual([end.dial_index, end.call_ids.length, end.groupcall_ids.length], [2, 2, 1]);
    assert.equal(end.answer_groupcall_id, end.groupcall_ids[0]);
    assert.equal(last.calls.length, 0);
  });

  /** voice-and-flows 11.2: what the phones do, and what it comes to: who answered, how many were rung, where it stood. */
  type Does = 'refuses' | 'is busy' | 'answers' | 'rings';
  const COURSES: [
    ring_method: string,
    phones: Does[],
    answered: number | undefined,
    rung: number,
    dial_index: number,
  ][] = [
    ['ring_all', ['is busy', 'refuses'], undefined, 2, 0],
    ['linear', ['is busy', 'refuses'], undefined, 2, 1],
    ['ring_all', ['answers', 'rings'], 0, 2, 0],
    ['ring_all', ['refuses', 'answers'], 1, 2, 0],
    ['ring_all', ['rings', 'answers', 'is busy'], 1, 3, 0],
    ['linear', ['answers', 'rings'], 0, 1, 0],
    ['linear', ['refuses', 'answers', 'rings'], 1, 2, 1],
    ['linear', ['is busy', 'refuses', 'answers'], 2, 3, 2],
    ['linear', ['refuses', 'rings', 'answers'], 2, 3, 2],
  ];
  it(`goes each of ${COURSES.length} courses of ring_all and linear to its end`, async () => {
    await Promise.all(
      COURSES.map(async ([ring_method, phones, answered, rung, dial_index]) => {
        const incoming = {
          refuses: { refuse: 603 },
          'is busy': { refuse: 486 },
          answers: { autoAnswer: true },
          rings: {},
        };
        const legs = await Promise.all(phones.map(does => office.phone('1001', { incoming: incoming[does] })));
        const made = await group(legs.map(sip), { ring_method });
        if (answered !== undefined) {
          const won = await until(made.id, 'the answer', one => one.answer_call_id !== EMPTY && one.call_count === 1);
          assert.equal(won.status, 'progressing');
          assert.equal(won.answer_call_id, won.call_ids[answered]);
          await legs[answered]?.calls[0]?.hangup();
        }
        const end = await over(made.id);
        const saw = [end.answer_call_id !== EMPTY, end.call_ids.length, end.dial_index, end.call_count];
        assert.deepEqual(saw, [answered !== undefined, rung, dial_index, 0], `${ring_method}: ${phones.join(', ')}`);
        const open = legs.flatMap(leg => leg.calls).filter(call => call.state !== 'ended');
        await Promise.all(open.map(call => call.ended()));
      }),
    );
  });

  for (const ring_method of ['ring_all', 'linear'])
    it(`hung up while it rings, ${ring_method} stops every phone and rings no other`, async () => {
      const [one, two] = [await office.phone('1001'), await office.phone('1002')];
      const made = await group([sip(one), sip(two)], { ring_method });
      const ringing = await one.waitForCall();
      if (ring_method === 'ring_all') await two.waitForCall(); // an INVITE that is not out yet never goes
      const hangup = () => stack.api<Groupcall>('POST', `/groupcalls/${made.id}/hangup`);
      const first = await hangup();
      assert.deepEqual([first.status, first.body.status], [200, 'hangingup']);
      assert.equal((await hangup()).status, 200);
      await ringing.ended();
      const end = await over(made.id);
      assert.equal((await hangup()).body.status, 'hangup');
      assert.equal(end.call_ids.length, ring_method === 'linear' ? 1 : 2);
      await Promise.all(two.calls.map(call => call.ended()));
      assert.equal(two.calls.length, ring_method === 'linear' ? 0 : 1);
    });

  it('of two phones that answer at once one wins; the loser is hung up and has run nothing', async () => {
    const phones = [await office.phone('1001'), await office.phone('1002'), await office.phone('1002')];
    for (let round = 0; round < 3; round += 1) {
      const made = await group(phones.map(sip));
      const calls = await Promise.all(phones.map(phone => phone.waitForCall()));
      for (const call of calls) call.answer();
      const answered = await until(made.id, 'one leg left', one => one.call_count === 1);
      for (const id of made.call_ids.filter(each => each !== answered.answer_call_id)) {
        const loser = await office.ended(id);
        assert.deepEqual([loser.hangup_by, loser.hangup_reason, loser.tm_progressing], ['local', 'cancel', null]);
        const { body } = await stack.api<Activeflow>('GET', `/activeflows/${loser.activeflow_id}`);
        assert.deepEqual(body.executed_actions, []);
      }
      await stack.api('POST', `/groupcalls/${made.id}/hangup`);
      await Promise.all(calls.map(call => call.ended()));
      await over(made.id);
    }
  });

  it('an answer that crosses the hang-up of the groupcall ends all the same', async () => {
    const phones = [await office.phone('1001'), await office.phone('1002')];
    for (let round = 0; round < 5; round += 1) {
      const made = await group(phones.map(sip));
      const calls = await Promise.all(phones.map(phone => phone.waitForCall()));
      const hungUp = stack.api('POST', `/groupcalls/${made.id}/hangup`);
      for (const call of calls) call.answer();
      assert.equal((await hungUp).status, 200);
      await Promise.all(calls.map(call => call.ended()));
      assert.equal((await over(made.id)).call_count, 0);
      for (const id of made.call_ids) assert.equal((await office.ended(id)).hangup_by, 'local');
    }
  });

  it('without hangup_others everybody who answers runs the flow', async () => {
    const phones = [await office.phone('1001'), await office.phone('1002')];
    const made = await group(phones.map(sip), { answer_method: '' });
    const [first, second] = await Promise.all(phones.map(phone => phone.waitForCall()));
    assert(first && second);
    first.answer();
    await first.hears(1100);
    second.answer();
    await second.hears(1100);
    await first.hangup();
    const left = await until(made.id, 'one leg left', one => one.call_count === 1);
    assert.equal(left.status, 'progressing');
    await second.hangup();
    await over(made.id);
  });

  it('DELETE hangs up what rings and hides the groupcall', async () => {
    const phone = await office.phone('1001');
    const made = await group([sip(phone)]);
    const ringing = await phone.waitForCall();
    const gone = await stack.api<Groupcall>('DELETE', `/groupcalls/${made.id}`);
    assert.equal(gone.status, 200);
    assert.notEqual(gone.body.tm_delete.slice(0, 4), '9999');
    await ringing.ended();
    assert.equal((await stack.api('GET', `/groupcalls/${made.id}`)).status, 404);
    assert.equal((await stack.api('POST', `/groupcalls/${made.id}/hangup`)).status, 404);
  });

  it('a destination that cannot be dialled is passed over, unless that is all of them', async () => {
    const phone = await office.phone('1001');
    const made = await group([extension('1999'), sip(phone)], { ring_method: 'linear' });
    assert.equal(made.dial_index, 1);
    await (await phone.waitForCall()).hangup();
    await over(made.id);
    const source = { type: 'tel', target: stack.welcome.number };
    const refused = await stack.api<{ error: { reason: string } }>('POST', '/groupcalls', {
      source,
      destinations: [extension('1999')],
      ...flow,
    });
    assert.deepEqual([refused.status, refused.body.error.reason], [400, 'INVALID_ARGUMENT']);
  });
});
