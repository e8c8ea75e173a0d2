import { strict as assert } from 'node:assert';
import type { Conference } from '#contract/conference';
import type { Conferencecall } from '#contract/conferencecall';
import { NEVER } from '#contract/time';
import { freePorts } from '../../scripts/start/ports.ts';
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

  const killAll = async (): Promise<void> => {
    for (const mediaApp of stack.processes.mediaApp) {
      await mediaApp.kill9();
      await mediaApp.restart();
    }
  };

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

  it('media-app killed: whoever was in a room is out, and the room stands for the next', async () => {
    const { id } = await open({ name: 'standing', timeout: 3600 });
    const { call } = await callsIn(500, id);
    await eventually(
      'it has joined',
      () => see(id),
      one => one.conferencecall_ids.length === 1,
    );
    await killAll();
    await call.ended({ within_ms: 12_000 });
    await eventually(
      'an empty room',
      () => see(id),
      one => one.conferencecall_ids.length === 0,
      12_000,
    );
    const [record] = await eventually(
      'the end of the participation',
      () => participants(id),
      ([one]) => one?.status === 'leaved',
    );
    assert(record);
    await stack.healthy();
    const again = await callsIn(900, id);
    const other = await callsIn(1300, id);
    await Promise.all([again.call.hearsOnly([1300]), other.call.hearsOnly([900])]);
    const standing = await see(id);
    assert.deepEqual([standing.status, standing.name, standing.timeout], ['progressing', 'standing', 3600]);
    await stack.api('DELETE', `/conferences/${id}`);
    await Promise.all([again.call.ended(), other.call.ended()]);
  });

  it('media-app killed: a connect conference is over, and says so', async () => {
    const { id } = await open({ type: 'connect' });
    const { call } = await callsIn(500, id);
    await call.hearsOnly([425]);
    await killAll();
    await call.ended({ within_ms: 12_000 });
    const over = await eventually(
      'its end',
      () => see(id),
      one => one.status === 'terminated',
      12_000,
    );
    assert.notEqual(over.tm_end, NEVER);
    assert.deepEqual([over.conferencecall_ids, over.tm_delete], [[], NEVER]);
    await stack.healthy();
    assert.equal((await stack.api('DELETE', `/conferences/${id}`)).status, 200);
  });

  it('media-apps stopped and started in order: the room stands, its callers are hung up', async () => {
    const { id } = await open();
    const { call } = await callsIn(500, id);
    await call.hearsSilence();
    for (const mediaApp of stack.processes.mediaApp) await mediaApp.stop();
    assert.equal((await call.ended()).by, 'them');
    for (const mediaApp of stack.processes.mediaApp) await mediaApp.restart();
    await stack.healthy();
    await eventually(
      'an empty room',
      () => see(id),
      one => one.conferencecall_ids.length === 0,
    );
    const again = await callsIn(900, id);
    assert.equal((await see(id)).status, 'progressing');
    await stack.api('DELETE', `/conferences/${id}`);
    await again.call.ended();
  });
});

describe('a conference between two media servers', function () {
  this.timeout(90_000);
  let stack: Stack;
  let office: Office;

  before(async () => {
    const [port, admin] = await freePorts(2);
    const password = 'of-the-test';
    // One engine under two names: endpoints go by turns to the one and the other.
    const servers = ['127.0.0.1', 'localhost'].map(host => `freeswitch://${password}@${host}:${port}`);
    stack = await startStack({
      env: {
        ENGINE_EVENT_SOCKET_PORT: String(port),
        ENGINE_EVENT_SOCKET_PASSWORD: password,
        ENGINE_ADMIN_PORT: String(admin),
        ENGINE_ADMIN_SECRET: password,
        SIP_SERVERS: `drachtio://${password}@127.0.0.1:${admin}`,
        MEDIA_SERVERS: servers.join(','),
      },
    });
    await eventually(
      'both media servers',
      () => stack.logs().filter(line => line.includes('connected to the media server')).length,
      count => count === 2,
    );
  });
  beforeEach(() => {
    office = new Office(stack);
  });
  afterEach(async () => {
    await office.close();
    await office.nothingLeft();
  });
  after(() => stack.stop());

  it('takes every caller of its own address to its media server, and refuses calls that are on the other', async () => {
    const { body: room } = await stack.api<Conference>('POST', '/conferences', { type: 'conference' });
    const calls = await Promise.all(
      [500, 900, 1300].map(async hz => {
        const phone = await office.phone('1001', { tone: hz });
        const call = await phone.dial(`sip:${room.id}@conference.trunkline.localhost`);
        await call.answered();
        return call;
      }),
    );
    const [a, b, c] = calls;
    await Promise.all([a?.hearsOnly([900, 1300]), b?.hearsOnly([500, 1300]), c?.hearsOnly([500, 900])]);
    const phone = await office.registered('1002', { incoming: { autoAnswer: true } });
    for (let fits = 0; fits < 2; fits++) {
      const order = await office.ring('1002', [{ type: 'conference_join', option: { conference_id: room.id } }]);
      const call = await phone.waitForCall();
      await call.answered();
      const { status } = await eventually(
        'the call is in, or over',
        async () => {
          const { body } = await stack.api<{ result: Conferencecall[] }>(
            'GET',
            `/conferencecalls?reference_id=${order.id}`,
          );
          return {
            status: (await office.call(order.id)).status,
            joined: body.result.some(one => one.status === 'joined'),
          };
        },
        seen => seen.joined || seen.status === 'hangup',
      );
      if (status === 'progressing') await call.hangup();
      await call.ended();
    }
    const refused = stack.logs().filter(line => line.includes('bridging between media servers does not exist yet'));
    assert.equal(refused.length, 1);
    await stack.api('DELETE', `/conferences/${room.id}`);
    await Promise.all(calls.map(call => call.ended()));
  });
});
