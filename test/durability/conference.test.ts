import { strict as assert } from 'node:assert';
import type { Conference } from '#contract/conference';
import type { Conferencecall } from '#contract/conferencecall';
import { NEVER } from '#contract/time';
import { eventually, Office } from '../support/office.ts';
import type { PhoneCall } from '../support/phone-call.ts';
import { startStack, type Stack } from '../support/stack.ts';

describe('conferences when something dies', function () {
  this.timeout(90_000);
  let stack: Stack;
  let office: Office;

  before(async () => {
    stack = await startStack({ mediaApps: 2, env: { CONFERENCE_CHECK_MS: '100' } });
  });
  beforeEach(() => {
    office = new Office(stack);
  });
  afterEach(async () => {
    await office.close();
    await office.nothingLeft();
  });
  after(() => stack.stop());

  const open = async (given: Record<string, unknown> = {}): Promise<Conference> =>
    (await stack.api<Conference>('POST', '/conferences', { type: 'conference', ...given })).body;
  const see = async (id: string): Promise<Conference> =>
    (await stack.api<Conference>('GET', `/conferences/${id}`)).body;
  const participants = async (id: string): Promise<Conferencecall[]> =>
    (await stack.api<{ result: Conferencecall[] }>('GET', `/conferencecalls?conference_id=${id}`)).body.result;

  /** Dials until the node of the conference takes the call, and counts how often the other one refused it. */
  const callsIn = async (hz: number, id: string): Promise<{ call: PhoneCall; refused: number }> => {
    const phone = await office.phone('1001', { tone: hz });
    for (let refused = 0; refused < 30; refused++) {
      const call = await phone.dial(`sip:${id}@conference.trunkline.localhost`);
      const answered = await call.answered().then(
        () => true,
        () => false,
      );
      if (answered) return { call, refused };
      assert.equal((await call.ended()).status, 503);
    }
    return assert.fail('no node took the call');
  };

  it('calls that reach another node are refused with 503, those of its own node hear each other', async () => {
    const { id } = await open();
    const calls: PhoneCall[] = [];
    let refused = 0;
    for (const hz of [500, 900, 1300]) {
      const one = await callsIn(hz, id);
      calls.push(one.call);
      refused += one.refused;
    }
    const [a, b, c] = calls;
    await Promise.all([a?.hearsOnly([900, 1300]), b?.hearsOnly([500, 1300]), c?.hearsOnly([500, 900])]);
    if (refused > 0) assert(stack.logs().some(line => line.includes('the conference lives on another node')));
    await stack.api('DELETE', `/conferences/${id}`);
    await Promise.all(calls.map(call => call.ended()));
  });

  it('a participant whose flow went elsewhere is found by the health check and is gone', async () => {
    const out = 'f0000000-0000-4000-8000-0000000000aa';
    const pre = [{ type: 'goto', option: { target_id: out, loop_count: 1 } }];
    const { body: flow } = await stack.api<{ id: string }>('POST', '/flows', { name: 'out', actions: pre });
    const { id } = await open({ pre_flow_id: flow.id });
    const phone = await office.registered('1001', { incoming: { autoAnswer: true } });
    for (let tries = 0; tries < 30 && (await participants(id)).length === 0; tries++) {
      const order = await office.ring('1001', [
        { type: 'conference_join', option: { conference_id: id } },
        { id: out, type: 'play', option: { stream_urls: ['tone_stream://%(3000,0,1700)'] } },
      ]);
      const call = await phone.waitForCall();
      await eventually(
        'the call on the node of the conference, or its end',
        async () => [await participants(id), (await office.call(order.id)).status] as const,
        ([list, status]) => list.length > 0 || status === 'hangup',
      );
      if ((await participants(id)).length === 0) continue;
      await eventually(
        'the participant has left',
        () => participants(id),
        ([one]) => one?.status === 'leaved',
        2000,
      );
      assert.equal((await office.call(order.id)).status, 'progressing');
      await call.ended();
    }
    assert.equal((await participants(id)).length, 1);
    await stack.api('DELETE', `/conferences/${id}`);
  });

  it('media-app killed: conference and participants are ended truthfully, and a new one opens', async () => {
    const { id } = await open();
    const { call } = await callsIn(500, id);
    await eventually(
      'it has joined',
      () => see(id),
      one => one.conferencecall_ids.length === 1,
    );
    for (const mediaApp of stack.processes.mediaApp) {
      await mediaApp.kill9();
      await mediaApp.restart();
    }
    await call.ended({ within_ms: 12_000 });
    const over = await eventually(
      'its end',
      () => see(id),
      one => one.status === 'terminated',
      12_000,
    );
    assert.notEqual(over.tm_end, NEVER);
    assert.deepEqual([over.conferencecall_ids, over.tm_delete], [[], NEVER]);
    await eventually(
      'the end of the participation',
      () => participants(id),
      ([one]) => one?.status === 'leaved',
    );
    await stack.healthy();
    const next = await open();
    const again = await callsIn(900, next.id);
    await stack.api('DELETE', `/conferences/${next.id}`);
    await again.call.ended();
    assert.equal((await stack.api('DELETE', `/conferences/${id}`)).status, 200);
  });
});
