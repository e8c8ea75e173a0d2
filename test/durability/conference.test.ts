import { strict as assert } from 'node:assert';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Conference } from '#contract/conference';
import type { Conferencecall } from '#contract/conferencecall';
import { EMPTY_ID } from '#contract/ids';
import { type Recording, recordingContentsSchema, recordingFiles, RECORDINGS_FOLDER } from '#contract/recording';
import { NEVER } from '#contract/time';
import { freePorts } from '../../scripts/start/ports.ts';
import { MediaClient } from '../support/media-client.ts';
import { eventually } from '../support/eventually.ts';
import { withOffice, type Office } from '../support/office.ts';
import type { PhoneCall } from '../support/phone-call.ts';
import { startStack, type Stack } from '../support/stack.ts';

describe('conferences when something dies', function () {
  this.timeout(90_000);
  let stack: Stack;
  let office: Office;

  withOffice(
    opened => {
      office = opened;
      stack = office.stack;
    },
    () => startStack({ mediaApps: 2, env: { CONFERENCE_CHECK_MS: '25' } }),
  );

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

  const callsIn = async (hz: number, id: string): Promise<PhoneCall> => {
    const phone = await office.phone('1001', { tone: hz });
    const call = await phone.dial(`sip:${id}@conference.trunkline.localhost`);
    await call.answered();
    return call;
  };

  it('calls are in it together, whichever node took them', async () => {
    const { id } = await open();
    const calls = await Promise.all([500, 900, 1300, 1700].map(hz => callsIn(hz, id)));
    const heard = [
      [900, 1300, 1700],
      [500, 1300, 1700],
      [500, 900, 1700],
      [500, 900, 1300],
    ];
    await Promise.all(calls.map((call, at) => call.hearsOnly(heard[at] ?? [])));
    assert.equal((await see(id)).conferencecall_ids.length, 4);
    const owners = await Promise.all((await office.calls(4)).map(call => office.nodeOf(call.id)));
    assert.equal(new Set(owners).size, 2, 'both nodes hold some of them');
    const [first, ...others] = calls;
    await first?.hangup();
    await eventually(
      'three are left',
      () => see(id),
      one => one.conferencecall_ids.length === 3,
    );
    await stack.api('DELETE', `/conferences/${id}`);
    await Promise.all(others.map(call => call.ended()));
  });

  it('a participant whose flow went elsewhere is found by the health check and is gone', async () => {
    const out = 'f0000000-0000-4000-8000-0000000000aa';
    const pre = [{ type: 'goto', option: { target_id: out, loop_count: 1 } }];
    const { body: flow } = await stack.api<{ id: string }>('POST', '/flows', { name: 'out', actions: pre });
    const { id } = await open({ pre_flow_id: flow.id });
    const phone = await office.registered('1001', { incoming: { autoAnswer: true } });
    for (let count = 1; count <= 4; count++) {
      const order = await office.ring('1001', [
        { type: 'conference_join', option: { conference_id: id } },
        { id: out, type: 'play', option: { stream_urls: ['tone_stream://%(3000,0,1700)'] } },
      ]);
      const call = await phone.waitForCall();
      await eventually(
        'the participant has left',
        () => participants(id),
        list => list.length === count && list.every(one => one.status === 'leaved'),
      );
      assert.equal((await office.call(order.id)).status, 'progressing');
      await call.hangup();
      await office.ended(order.id);
    }
    await stack.api('DELETE', `/conferences/${id}`);
  });

  const recorded = async (id: string, options = {}): Promise<string> => {
    const { status, body } = await stack.api<Conference>('POST', `/conferences/${id}/recording_start`, options);
    assert.equal(status, 200, JSON.stringify(body));
    return body.recording_id;
  };
  const endOf = async (id: string): Promise<Recording> =>
    eventually(
      'the end of the recording',
      async () => (await stack.api<Recording>('GET', `/recordings/${id}`)).body,
      one => one.status === 'ended',
      12_000,
    );
  const contentsOf = async (recording: Recording) => {
    const path = join(stack.dataDir, RECORDINGS_FOLDER, recordingFiles(recording).contents);
    return recordingContentsSchema.parse(JSON.parse(await readFile(path, 'utf8')));
  };

  it('media-app killed: whoever was in a room is out, what was recorded is kept and marked, and the room stands for the next', async () => {
    const { body: flow } = await stack.api<{ id: string }>('POST', '/flows', { name: 'after', actions: [] });
    const { id } = await open({ name: 'standing', timeout: 3600 });
    const call = await callsIn(500, id);
    const client = await MediaClient.connect(stack, id, 'sln', 'conferences');
    const first = await recorded(id, { on_end_flow_id: flow.id });
    await new Promise(resolve => setTimeout(resolve, 1500)); // of audio
    await killAll();
    await call.ended({ within_ms: 12_000 });
    const recording = await endOf(first);
    const { complete, files } = await contentsOf(recording);
    assert.deepEqual([complete, files.length], [false, 1]);
    assert((files[0]?.duration ?? 0) > 1 && Math.max(...(files[0]?.peaks ?? [])) > 0.1, JSON.stringify(files));
    await client.ends();
    await eventually(
      'an empty room that names no recording',
      () => see(id),
      one => one.conferencecall_ids.length === 0 && one.recording_id === EMPTY_ID,
      12_000,
    );
    await eventually(
      'the end of the participation',
      () => participants(id),
      ([one]) => one?.status === 'leaved',
    );
    await stack.healthy();
    const { body: activeflows } = await stack.api<{ result: { flow_id: string }[] }>('GET', '/activeflows');
    assert(activeflows.result.some(one => one.flow_id === flow.id));
    const second = await recorded(id);
    const again = await callsIn(900, id);
    const other = await callsIn(1300, id);
    await Promise.all([again.hearsOnly([1300]), other.hearsOnly([900])]);
    const standing = await see(id);
    assert.deepEqual([standing.status, standing.name, standing.timeout], ['progressing', 'standing', 3600]);
    assert.deepEqual(standing.recording_ids, [first, second]);
    await stack.api('DELETE', `/conferences/${id}`);
    await Promise.all([again.ended(), other.ended()]);
    assert.equal((await contentsOf(await endOf(second))).complete, true);
  });

  it('the engine killed: what had reached the disk is kept, the streams are closed, and the room stands for the next', async () => {
    const { id } = await open();
    const call = await callsIn(500, id);
    const client = await MediaClient.connect(stack, id, 'rtp', 'conferences');
    const first = await recorded(id);
    await new Promise(resolve => setTimeout(resolve, 1500)); // of audio
    await stack.processes.engine.kill9();
    const { files } = await contentsOf(await endOf(first));
    assert((files[0]?.duration ?? 0) >= 0.5, `${files[0]?.duration} s are kept`);
    await client.ends();
    call.vanish(); // nobody is left to tell it
    await eventually(
      'an empty room',
      () => see(id),
      one => one.conferencecall_ids.length === 0 && one.recording_id === EMPTY_ID,
      12_000,
    );
    await stack.processes.engine.restart();
    await stack.healthy();
    const again = await callsIn(900, id);
    await stack.api('DELETE', `/conferences/${id}`);
    await again.ended();
  });

  it('media-app killed: a connect conference is over, and says so', async () => {
    const { id } = await open({ type: 'connect' });
    const call = await callsIn(500, id);
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

  it('media-apps stopped and started in order: the room stands, its callers are hung up, its recording is whole', async () => {
    const { id } = await open();
    const call = await callsIn(500, id);
    const recording = await recorded(id);
    await call.hearsSilence();
    await new Promise(resolve => setTimeout(resolve, 1000)); // of audio
    for (const mediaApp of stack.processes.mediaApp) await mediaApp.stop();
    assert.equal((await contentsOf(await endOf(recording))).complete, true);
    assert.equal((await call.ended()).by, 'them');
    for (const mediaApp of stack.processes.mediaApp) await mediaApp.restart();
    await stack.healthy();
    const again = await callsIn(900, id); // at once: whoever calls a room that nobody has adopted yet waits
    const room = await eventually(
      'a room with one in it',
      () => see(id),
      one => one.conferencecall_ids.length === 1,
    );
    assert.deepEqual([room.status, room.recording_id], ['progressing', EMPTY_ID]);
    await stack.api('DELETE', `/conferences/${id}`);
    await again.ended();
  });
});

describe('a conference between two media servers', function () {
  this.timeout(90_000);
  let stack: Stack;
  let office: Office;

  const twoServers = async (): Promise<Stack> => {
    const [port, admin] = await freePorts(2);
    const password = 'of-the-test';
    // One engine under two names: endpoints go by turns to the one and the other.
    const servers = ['127.0.0.1', 'localhost'].map(host => `freeswitch://${password}@${host}:${port}`);
    const started = await startStack({
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
      () => started.logs().filter(line => line.includes('connected to the media server')).length,
      count => count === 2,
    );
    return started;
  };
  withOffice(opened => {
    office = opened;
    stack = office.stack;
  }, twoServers);

  it('takes callers of its own address, recorders and streams to its media server, and calls that are on the other over a link', async () => {
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
    for (let count = 0; count < 2; count++) {
      const client = await MediaClient.connect(stack, room.id, 'sln', 'conferences');
      await client.hears(5);
      client.close();
    }
    for (const what of ['start', 'stop', 'start'])
      assert.equal((await stack.api('POST', `/conferences/${room.id}/recording_${what}`, {})).status, 200, what);
    const phone = await office.registered('1002', { tone: 1700, incoming: { autoAnswer: true } });
    for (let count = 0; count < 2; count++) {
      await office.ring('1002', [{ type: 'conference_join', option: { conference_id: room.id } }]);
      const call = await phone.waitForCall();
      // By turns one is on the conference's media server and the other is not.
      await Promise.all([call.hearsOnly([500, 900, 1300]), a?.hearsOnly([900, 1300, 1700])]);
      await call.hangup();
      await a?.hearsOnly([900, 1300]);
    }
    await stack.api('DELETE', `/conferences/${room.id}`);
    await Promise.all(calls.map(call => call.ended()));
  });
});
