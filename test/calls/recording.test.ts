import { strict as assert } from 'node:assert';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Call } from '#contract/call';
import type { Recording } from '#contract/recording';
import { EMPTY_ID } from '#contract/ids';
import { findTones } from '../../scripts/phone/tones.ts';
import { eventually } from '../support/eventually.ts';
import { withOffice, Office } from '../support/office.ts';
import type { PhoneCall } from '../support/phone-call.ts';
import { download, Recordings } from '../support/recordings.ts';
import { refusalOf, type ApiAnswer } from '../support/stack.ts';
import { tonesAmid } from '../support/tones.ts';

/** Hz: what the party says, and what it hears. */
const SAID = 600;
const HEARD = 900;
const play = [{ type: 'play', option: { stream_urls: [`tone_stream://%(60000,0,${HEARD})`] } }];

interface StoredPage {
  result: { type: string; reference_id: string; filename: string; filesize: number; uri_download: string }[];
}

describe('a call that is recorded', function () {
  this.timeout(60_000);
  let office: Office;
  let recordings: Recordings;

  withOffice(opened => {
    office = opened;
    recordings = new Recordings(office.stack);
  });

  const post = (path: string, body?: unknown): Promise<ApiAnswer<Call>> => office.stack.api<Call>('POST', path, body);
  const start = (call: Call, options: Record<string, unknown> = {}, spelling = '_'): Promise<ApiAnswer<Call>> =>
    post(`/calls/${call.id}/recording${spelling}start`, options);
  const stop = (call: Call, spelling = '_'): Promise<ApiAnswer<Call>> =>
    post(`/calls/${call.id}/recording${spelling}stop`);

  /** A call to a phone that says one tone and hears another. */
  const talking = async (actions: unknown[] = play): Promise<{ call: Call; phone: PhoneCall }> => {
    const phone = await office.registered('1001', { tone: SAID, incoming: { autoAnswer: true } });
    const call = await office.ring('1001', actions);
    const incoming = await phone.waitForCall();
    await incoming.answered();
    await office.progressing(call.id);
    return { call, phone: incoming };
  };

  it('keeps what the party says in one file, what it hears in another, and both in one voice', async () => {
    const heard = await office.listen();
    const { call, phone } = await talking();
    await phone.hears(HEARD);
    const started = await start(call);
    assert.equal(started.status, 200, JSON.stringify(started.body));
    const { recording_id, recording_ids } = started.body;
    assert.deepEqual(recording_ids, [recording_id]);
    assert.equal((await recordings.see(recording_id)).status, 'recording');
    assert.deepEqual(await recordings.files(recording_id), [], 'no files before it has ended');
    assert.deepEqual(refusalOf(await start(call)), [409, 'RECORDING_ALREADY_ACTIVE']);
    await new Promise(resolve => setTimeout(resolve, 1500)); // of audio: there is no event for time that passed
    const stopped = await stop(call, '-');
    assert.equal(stopped.status, 200);
    assert.deepEqual([stopped.body.recording_id, stopped.body.recording_ids], [EMPTY_ID, [recording_id]]);
    assert.deepEqual(refusalOf(await stop(call)), [409, 'RECORDING_NOT_ACTIVE']);

    const ended = await recordings.ended(recording_id);
    assert.deepEqual(
      [ended.reference_type, ended.reference_id, ended.activeflow_id, ended.format],
      ['call', call.id, call.activeflow_id, 'wav'],
    );
    assert(ended.tm_start && ended.tm_end && ended.tm_start < ended.tm_end);
    const files = await recordings.files(recording_id);
    assert.deepEqual(
      files.map(file => file.direction),
      ['in', 'out'],
    );
    for (const file of files) {
      assert(file.duration > 1.3 && file.duration < 2.5, `${file.duration} s`);
      assert.equal(file.filesize, 44 + Math.round(file.duration * 8000) * 2);
      assert(file.peaks.length > 100 && file.peaks.length <= 1000 && Math.max(...file.peaks) > 0.1);
    }
    const [said, hears] = await Promise.all(files.map(file => download(file.uri_download)));
    assert.deepEqual([tonesAmid(said ?? new Int16Array()), tonesAmid(hears ?? new Int16Array())], [[SAID], [HEARD]]);

    const { baseUrl, welcome } = office.stack;
    const url = `${baseUrl}/v1.0/recordingfiles/${recording_id}?accesskey=${welcome.accesskey}`;
    const led = await fetch(url, { redirect: 'manual' });
    assert.equal(led.status, 307);
    assert.deepEqual(tonesAmid(await download(led.headers.get('location') ?? '')), [SAID, HEARD]);

    await phone.hangup();
    await office.ended(call.id);
    const told = () => heard.filter(one => one.topic.endsWith(`:recording:${recording_id}`)).map(one => one.event_type);
    await eventually('both events', told, types => types.length === 2);
    assert.deepEqual(told(), ['recording_started', 'recording_finished']);
    const path = `/timelines/calls/${call.id}/events`;
    const story = (await office.stack.api<{ result: { event_type: string }[] }>('GET', path)).body.result;
    const ofRecording = story.map(one => one.event_type).filter(type => type.startsWith('recording_'));
    assert.deepEqual(
      ofRecording,
      ['recording_finished', 'recording_started'],
      'in the story of the call, newest first',
    );
    const stored = await eventually(
      'the files are stored',
      async () =>
        (
          await office.stack.api<StoredPage>(
            'GET',
            `/storage_files?reference_type=recording&reference_id=${recording_id}`,
          )
        ).body.result,
      list => list.length === 3,
    );
    assert.deepEqual(
      stored.map(file => [file.type, file.reference_id, file.filesize]),
      stored.map(() => ['recording', recording_id, files[0]?.filesize]),
    );
    const played = await recordings.files(recording_id);
    for (const [direction, hz] of [
      ['in', SAID],
      ['out', HEARD],
    ] as const) {
      const { filename } = played.find(file => file.direction === direction) ?? assert.fail(direction);
      const file = stored.find(one => one.filename === filename);
      assert.deepEqual(tonesAmid(await download(file?.uri_download ?? '')), [hz]);
    }
    await eventually(
      'nothing is left with media-app',
      () => recordings.stored(call.id),
      names => names.length === 0,
    );
    assert.deepEqual(
      played.map(({ peaks, duration }) => [peaks, duration]),
      files.map(({ peaks, duration }) => [peaks, duration]),
    );
  });

  it('ends by its duration, and the call goes on without it', async () => {
    const { call, phone } = await talking();
    const { body } = await start(call, { duration: 1 }, '-');
    const recording = await recordings.ended(body.recording_id);
    const [file] = await recordings.files(recording.id);
    assert(file && file.duration > 0.9 && file.duration < 1.4, `${file?.duration} s`);
    assert.equal((await office.call(call.id)).recording_id, EMPTY_ID);
    assert.equal((await start(call)).status, 200, 'the next recording of the call');
    assert.equal((await office.call(call.id)).recording_ids.length, 2);
    await phone.hangup();
  });

  /** voice-and-flows 8.9: whatever ends a recording, the call no longer names it as running, and never forgets it. */
  const ENDS: [how: string, options: Record<string, unknown>, act: (call: Call, phone: PhoneCall) => unknown][] = [
    ['recording_stop', {}, call => stop(call)],
    ['recording-stop', {}, call => stop(call, '-')],
    ['its duration', { duration: 1 }, () => undefined],
    ['its key', { end_of_key: '#' }, (_call, phone) => phone.press('#')],
    ['any key', { end_of_key: 'any' }, (_call, phone) => phone.press('7')],
    ['silence', { end_of_silence: 1 }, (_call, phone) => phone.playSilence()],
    ['its deletion', {}, call => office.stack.api('DELETE', `/recordings/${call.recording_id}`)],
    ['a hang-up by the phone', {}, (_call, phone) => phone.hangup()],
    ['a hang-up by the API', {}, call => post(`/calls/${call.id}/hangup`)],
  ];
  it(`is named by its call while it runs, and is one of its recordings for good, ended by ${ENDS.map(([how]) => how).join(', ')}`, async () => {
    const phone = await office.registered('1001', { tone: SAID, incoming: { autoAnswer: true } });
    await Promise.all(
      ENDS.map(async ([how, options, act], index) => {
        const from = `+89911103${String(index).padStart(4, '0')}`;
        const { body } = await office.stack.api<{ calls: Call[] }>('POST', '/calls', {
          source: { type: 'tel', target: from },
          destinations: [{ type: 'extension', target: '1001', target_name: '1001' }],
          actions: play,
        });
        const [call] = body.calls;
        assert(call);
        const up = await eventually(
          'the answer',
          () => phone.calls.find(one => one.caller.uri.includes(from.slice(1))),
          found => found?.state === 'answered',
        );
        assert(up);
        const started = await eventually(
          'a recording',
          () => start(call, options),
          ({ status }) => status === 200,
        );
        const { recording_id } = started.body;
        assert.deepEqual(started.body.recording_ids, [recording_id], how);
        await act(started.body, up);
        const over = await eventually(
          `the end of the recording by ${how}`,
          () => office.call(call.id),
          one => one.recording_id === EMPTY_ID,
        );
        assert.deepEqual(over.recording_ids, [recording_id], how);
        if (over.status !== 'progressing' || how.startsWith('a hang-up')) return;
        const again = (await start(call)).body;
        assert.deepEqual(again.recording_ids, [recording_id, again.recording_id], `${how}: the next one`);
        await up.hangup();
        assert.deepEqual((await office.ended(call.id)).recording_ids, again.recording_ids, how);
      }),
    );
  });

  it('has no pause: through a hold and a mute it runs by the clock on the wall, and keeps silence for what nobody said', async () => {
    const { call, phone } = await talking();
    const { body } = await start(call);
    const began = performance.now();
    const waitMs = (ms: number) => new Promise(resolve => setTimeout(resolve, ms)); // of audio
    await waitMs(600);
    assert.equal((await post(`/calls/${call.id}/hold`)).status, 200);
    await waitMs(1000);
    assert.equal((await office.stack.api('DELETE', `/calls/${call.id}/hold`)).status, 200);
    assert.equal((await post(`/calls/${call.id}/mute`, { direction: 'both' })).status, 200);
    await waitMs(800);
    assert.equal((await office.stack.api('DELETE', `/calls/${call.id}/mute`, { direction: 'both' })).status, 200);
    await stop(call);
    const wall_s = (performance.now() - began) / 1000;
    const { id } = await recordings.ended(body.recording_id);
    const files = await recordings.files(id);
    for (const { duration } of files) assert(Math.abs(duration - wall_s) < 0.4, `${duration} s of ${wall_s} s`);
    const said = await download(files[0]?.uri_download ?? '');
    const at = (ms: number) => said.subarray(ms * 8 - 800, ms * 8 + 800);
    assert.deepEqual(
      [300, 1300].map(ms => findTones(at(ms)).length),
      [1, 0],
      'the party, and its silence on hold',
    );
    await phone.hangup();
  });

  it('ends by its key and by no other', async () => {
    const { call, phone } = await talking();
    const { body } = await start(call, { end_of_key: '#' });
    const { recording_id } = body;
    await phone.press('5');
    assert.equal((await recordings.see(recording_id)).status, 'recording');
    await phone.press('#');
    await recordings.ended(recording_id);
    await phone.hangup();
  });

  it('ends when the party has been silent for long enough, whatever it hears', async () => {
    const { call, phone } = await talking();
    const { body } = await start(call, { end_of_silence: 1 });
    const { recording_id } = body;
    await new Promise(resolve => setTimeout(resolve, 1800)); // longer than the limit, but the party speaks
    assert.equal((await recordings.see(recording_id)).status, 'recording');
    phone.playSilence();
    await recordings.ended(recording_id, 5000);
    await phone.hangup();
  });

  it('is recorded by its flow, ends with the call, and runs the on-end flow with what it knows', async () => {
    const bodies: string[] = [];
    const server = createServer((request, response) => {
      request.on('data', (data: Buffer) => bodies.push(data.toString('utf8'))).on('end', () => response.end());
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    const uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const data = '${svc.recording.id} ${svc.recording.filenames} ${mark} ${svc.activeflow.reference_activeflow_id}';
    const flow = await post('/flows', {
      name: 'after the recording',
      actions: [{ type: 'webhook_send', option: { sync: true, uri, method: 'POST', data_type: 'text/plain', data } }],
    });
    const { call, phone } = await talking([
      { type: 'variable_set', option: { key: 'mark', value: 'chalk' } },
      { type: 'recording_start', option: { format: 'wav', on_end_flow_id: flow.body.id } },
      { type: 'recording_start', option: {} },
      ...play,
    ]);
    await phone.hears(HEARD);
    const { recording_id, recording_ids } = await office.call(call.id);
    assert.deepEqual(recording_ids, [recording_id], 'a second start is passed over');
    await phone.hangup();
    const recording = await recordings.ended(recording_id);
    const over = await office.ended(call.id);
    assert.deepEqual([over.recording_id, over.recording_ids], [EMPTY_ID, [recording.id]]);
    await eventually(
      'the on-end flow',
      () => bodies,
      list => list.length > 0,
    );
    const files = (await recordings.files(recording_id)).map(file => file.filename).join(',');
    assert.equal(bodies[0], `${recording_id} ${files} chalk ${call.activeflow_id}`);
    await new Promise(resolve => server.close(resolve));
  });

  it('is stopped by its flow before it goes on', async () => {
    const { call, phone } = await talking([
      { type: 'recording_start', option: {} },
      { type: 'sleep', option: { duration: 600 } },
      { type: 'recording_stop', option: {} },
      { type: 'recording_stop', option: {} },
      ...play,
    ]);
    await phone.hears(HEARD);
    const { recording_id, recording_ids } = await office.call(call.id);
    assert.equal(recording_id, EMPTY_ID);
    await recordings.ended(recording_ids[0] ?? '');
    await phone.hangup();
  });

  it('stopped in the moment it is hung up, ends once and keeps its files', async () => {
    for (const head_start_ms of [0, 3, 10]) {
      const { call, phone } = await talking();
      const { body } = await start(call);
      const { recording_id } = body;
      await new Promise(resolve => setTimeout(resolve, 300));
      const hungUp = phone.hangup();
      await new Promise(resolve => setTimeout(resolve, head_start_ms));
      const { status } = await stop(call);
      assert([200, 409].includes(status), `${status}`);
      await hungUp;
      await recordings.ended(recording_id);
      const over = await office.ended(call.id);
      assert.equal(over.recording_id, EMPTY_ID);
      assert.equal((await recordings.files(recording_id)).length, 2);
      await office.close();
      await office.nothingLeft();
      office = new Office(office.stack);
    }
  });

  it('is hung up while the recording starts: nothing stays behind', async () => {
    const { call, phone } = await talking();
    const [answer] = await Promise.all([start(call), phone.hangup()]);
    assert([200, 409, 503].includes(answer.status), `${answer.status}`);
    const over = await office.ended(call.id);
    assert.equal(over.recording_id, EMPTY_ID);
    for (const id of over.recording_ids) await recordings.ended(id);
  });

  it('deleted while it runs is stopped first, and its files are removed', async () => {
    const { call, phone } = await talking();
    const { body } = await start(call);
    const { recording_id } = body;
    const deleted = await office.stack.api<Recording>('DELETE', `/recordings/${recording_id}`);
    assert.deepEqual([deleted.status, deleted.body.status], [200, 'ended']);
    assert(deleted.body.tm_delete);
    await eventually(
      'the files gone',
      () => recordings.stored(call.id),
      files => files.length === 0,
    );
    const again = await office.stack.api('GET', `/recordings/${recording_id}`);
    assert.deepEqual(refusalOf(again), [404, 'RECORDING_NOT_FOUND']);
    assert.equal((await office.call(call.id)).recording_id, EMPTY_ID);
    await phone.hangup();
  });

  it('cannot be recorded before it is answered or after it has ended', async () => {
    const phone = await office.registered('1001');
    const call = await office.ring('1001', play);
    const incoming = await phone.waitForCall();
    assert.deepEqual(refusalOf(await start(call)), [409, 'CALL_STATE_INVALID']);
    assert.deepEqual(refusalOf(await stop(call)), [409, 'RECORDING_NOT_ACTIVE']);
    incoming.reject();
    await office.ended(call.id);
    assert.deepEqual(refusalOf(await start(call)), [409, 'CALL_STATE_INVALID']);
    assert.deepEqual(refusalOf(await stop(call)), [409, 'RECORDING_NOT_ACTIVE']);
  });
});
