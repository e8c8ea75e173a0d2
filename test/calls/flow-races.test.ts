import { strict as assert } from 'node:assert';
import { Redis } from 'ioredis';
import type { Activeflow } from '#contract/activeflow';
import type { Call } from '#contract/call';
import type { LiveRecord } from '#contract/events';
import { keys } from '#contract/keys';
import { eventually } from '../support/eventually.ts';
import { Office } from '../support/office.ts';
import type { PhoneCall } from '../support/phone-call.ts';
import type { TestPhone } from '../support/phone.ts';
import { sharedStack } from '../support/stack.ts';

/** How often each race is run, all of them at once. */
const TIMES = 12;
const WAIT_MS = 500;
const places = Array.from({ length: TIMES }, (_, place) => place);

const set = (key: string, value: string, id?: string) => ({
  type: 'variable_set',
  option: { key, value },
  ...(id ? { id } : {}),
});
const PRESSED = 'aaaaaaaa-0000-4000-8000-0000000000aa';
const SILENT = 'aaaaaaaa-0000-4000-8000-0000000000bb';
const nap = { type: 'sleep', option: { duration: 60_000 } };

describe('a flow and what crosses it', function () {
  this.timeout(30_000);
  let office: Office;
  let phone: TestPhone;
  let redis: Redis;

  before(async () => {
    office = new Office(await sharedStack());
    redis = new Redis(office.stack.redisUrl);
    phone = await office.registered('1001', { incoming: { autoAnswer: true } });
  });
  after(async () => {
    await office.close();
    await office.nothingLeft();
    redis.disconnect();
  });

  /** A call to the phone, and its end there. */
  const ring = async (from: string, actions: unknown[]): Promise<{ call: Call; heard: PhoneCall }> => {
    const { status, body } = await office.stack.api<{ calls: Call[] }>('POST', '/calls', {
      source: { type: 'tel', target: from },
      destinations: [{ type: 'extension', target: '1001', target_name: '1001' }],
      actions,
    });
    const [call] = body.calls;
    assert(status === 200 && call, JSON.stringify(body));
    const heard = await eventually(
      `the call from ${from}`,
      () => phone.calls.find(one => one.caller.uri.includes(from.slice(1))),
      found => found !== undefined,
    );
    assert(heard);
    await eventually(
      `the answer of call ${call.id}`,
      () => office.call(call.id),
      one => one.status === 'progressing' || one.status === 'hangup',
    );
    return { call, heard };
  };
  const flowOf = async (id: string): Promise<Activeflow> =>
    (await office.stack.api<Activeflow>('GET', `/activeflows/${id}`)).body;

  it('a digit that crosses the time-out of digits_receive counts for all that follows, or for nothing', async () => {
    const actions = [
      { type: 'digits_receive', option: { duration: WAIT_MS, length: 1 } },
      set('seen', '${svc.call.digits}'),
      { type: 'branch', option: { target_ids: { 1: PRESSED }, default_target_id: SILENT } },
      { ...set('went', 'pressed', PRESSED), next_id: SILENT.replace('bb', 'cc') },
      set('went', 'silent', SILENT),
      set('done', 'yes', SILENT.replace('bb', 'cc')),
    ];
    const ends = await Promise.all(
      places.map(async place => {
        const { call, heard } = await ring(`+89911100${String(place).padStart(4, '0')}`, actions);
        // A key takes some time to be heard, so they are spread over the moment of the time-out.
        await new Promise(resolve => setTimeout(resolve, WAIT_MS - 150 + place * 20));
        await heard.press('1').catch(() => undefined); // the call may be over
        await office.ended(call.id);
        const record = await redis.get(keys.live('activeflow', call.activeflow_id));
        const { internal } = JSON.parse(record ?? '{}') as LiveRecord;
        return internal['variables'] as Record<string, string>;
      }),
    );
    for (const { seen, went, done } of ends)
      assert.deepEqual([went, done], [seen === '1' ? 'pressed' : 'silent', 'yes']);
  });

  it('two commands on one call in the same moment: one starts the recording, the other is told of it', async () => {
    const { call, heard } = await ring('+899111010001', [nap]);
    const answers = await Promise.all(
      places.map(() =>
        office.stack.api<Call & { error?: { reason: string } }>('POST', `/calls/${call.id}/recording_start`, {}),
      ),
    );
    const refused = answers.filter(({ status }) => status !== 200);
    assert.equal(refused.length, TIMES - 1);
    for (const { status, body } of refused)
      assert.deepEqual([status, body.error?.reason], [409, 'RECORDING_ALREADY_ACTIVE']);
    assert.equal((await office.call(call.id)).recording_ids.length, 1);
    await heard.hangup();
    await office.ended(call.id);
  });

  it('many hang-ups of one call in the same moment end it once', async () => {
    const { call, heard } = await ring('+899111020001', [nap]);
    const told = await office.listen();
    const answers = await Promise.all(places.map(() => office.stack.api<Call>('POST', `/calls/${call.id}/hangup`)));
    for (const { status } of answers) assert([200, 409].includes(status), String(status));
    assert(answers.some(({ status }) => status === 200)); // not always the one that was sent first
    await heard.ended();
    const { hangup_by, hangup_reason } = await office.ended(call.id);
    assert.deepEqual([hangup_by, hangup_reason], ['local', 'normal']);
    const ofCall = () => told.filter(({ data }) => data['id'] === call.id).map(({ event_type }) => event_type);
    await eventually('the end over WebSocket', ofCall, types => types.includes('call_hangup'));
    assert.equal(ofCall().filter(type => type === 'call_hangup').length, 1);
  });

  it('a continue that crosses a stop is obeyed or refused, and the flow ends once', async () => {
    const block = { type: 'block', id: PRESSED };
    await Promise.all(
      places.map(async () => {
        const { stack } = office;
        const { body } = await stack.api<Activeflow>('POST', '/activeflows', { actions: [block, set('k', 'v')] });
        await eventually(
          'the block',
          () => flowOf(body.id),
          flow => flow.current_action.id === PRESSED,
        );
        const [go, stop] = await Promise.all([
          stack.api('POST', `/activeflows/${body.id}/continue`, { current_action_id: PRESSED }),
          stack.api<Activeflow>('POST', `/activeflows/${body.id}/stop`),
        ]);
        assert.deepEqual([stop.status, stop.body.status], [200, 'ended']);
        assert([200, 404, 409].includes(go.status), JSON.stringify(go.body));
        const { executed_actions } = await flowOf(body.id);
        if (go.status !== 200) assert.equal(executed_actions.length, 1);
      }),
    );
  });
});
