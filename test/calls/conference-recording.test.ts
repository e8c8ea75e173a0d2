import { strict as assert } from 'node:assert';
import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { EMPTY_ID, newId } from '#contract/ids';
import type { Recording } from '#contract/recording';
import { findTones } from '../../scripts/phone/tones.ts';
import { eventually } from '../support/eventually.ts';
import { withOffice, type Office } from '../support/office.ts';
import { download, Recordings } from '../support/recordings.ts';
import { Rooms } from '../support/rooms.ts';
import { refusalOf } from '../support/stack.ts';
import { tonesAmid } from '../support/tones.ts';

const audio = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms)); // no event says that time passed

describe('a conference that is recorded', function () {
  this.timeout(60_000);
  let office: Office;
  let rooms: Rooms;
  let recordings: Recordings;

  withOffice(opened => {
    office = opened;
    rooms = new Rooms(opened);
    recordings = new Recordings(opened.stack);
  });

  const soundOf = async (id: string): Promise<Int16Array> => {
    const [file] = await recordings.files(id);
    return download(file?.uri_download ?? '');
  };
  const started = async (id: string, options = {}, spelling = '_'): Promise<string> => {
    const { status, body } = await rooms.recording('start', id, options, spelling);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.recording_ids.at(-1), body.recording_id);
    return body.recording_id;
  };

  it('has everybody in one mono file, with peaks and a link, and says when it starts and ends', async () => {
    const { id } = await rooms.open();
    const heard = await office.listen();
    const [a, b, c] = await Promise.all([rooms.callsIn(500, id), rooms.callsIn(900, id), rooms.callsIn(1300, id)]);
    await a.hearsOnly([900, 1300]);
    const recordingId = await started(id);
    assert.equal((await recordings.see(recordingId)).status, 'recording');
    assert.deepEqual(await recordings.files(recordingId), [], 'no files before it has ended');
    for (const spelling of ['_', '-'])
      assert.deepEqual(refusalOf(await rooms.recording('start', id, {}, spelling)), [409, 'RECORDING_ALREADY_ACTIVE']);
    assert.equal((await rooms.inState(id, 'joined', 3)).length, 3, 'the recorder is no participant');
    await audio(1500);
    const stopped = await rooms.recording('stop', id, {}, '-');
    assert.deepEqual(
      [stopped.status, stopped.body.recording_id, stopped.body.recording_ids],
      [200, EMPTY_ID, [recordingId]],
    );
    for (const spelling of ['_', '-'])
      assert.deepEqual(refusalOf(await rooms.recording('stop', id, {}, spelling)), [409, 'RECORDING_NOT_ACTIVE']);

    const ended = await recordings.ended(recordingId);
    assert.deepEqual(
      [ended.reference_type, ended.reference_id, ended.activeflow_id, ended.format],
      ['confbridge', id, EMPTY_ID, 'wav'],
    );
    assert(ended.tm_start && ended.tm_end && ended.tm_start < ended.tm_end);
    const [file, ...others] = await recordings.files(recordingId);
    assert(file && others.length === 0);
    assert.equal(file.direction, '');
    assert.match(file.filename, new RegExp(`^confbridge_${id}_\\d{4}-\\d\\d-\\d\\dT.*_in\\.wav$`));
    assert(file.duration > 1.3 && file.duration < 2.5, `${file.duration} s`);
    assert.equal(file.filesize, 44 + Math.round(file.duration * 8000) * 2);
    assert(file.peaks.length > 100 && file.peaks.length <= 1000 && Math.max(...file.peaks) > 0.1);
    assert.deepEqual(tonesAmid(await soundOf(recordingId)), [500, 900, 1300]);
    const { baseUrl, welcome } = office.stack;
    const url = `${baseUrl}/v1.0/recordingfiles/${recordingId}?accesskey=${welcome.accesskey}`;
    const whole = await fetch(url); // led to the one file
    assert.equal((await whole.arrayBuffer()).byteLength, file.filesize);
    await eventually(
      'nothing is left where media-app records',
      () => recordings.stored(id),
      names => names.length === 0,
    );

    await Promise.all([a.hearsOnly([900, 1300]), b.hearsOnly([500, 1300]), c.hearsOnly([500, 900])]);
    await rooms.close(id);
    await Promise.all([a.ended(), b.ended(), c.ended()]);
    const told = () => heard.filter(one => one.topic.endsWith(`:recording:${recordingId}`)).map(one => one.event_type);
    await eventually('both events', told, types => types.join() === 'recording_started,recording_finished');
  });

  it('is recorded on while it stands empty: silence, then whoever comes next', async () => {
    const { id } = await rooms.open();
    const recordingId = await started(id);
    await audio(500);
    const a = await rooms.callsIn(500, id);
    await rooms.inState(id, 'joined', 1);
    await audio(600);
    await a.hangup();
    await rooms.inState(id, 'leaved', 1);
    const b = await rooms.callsIn(900, id);
    await rooms.inState(id, 'joined', 1);
    await audio(600);
    assert.equal((await rooms.recording('stop', id)).status, 200);
    await recordings.ended(recordingId);
    const sound = await soundOf(recordingId);
    assert.deepEqual(findTones(sound.subarray(0, 2400)), [], 'silence at first');
    const steps = Array.from({ length: Math.floor(sound.length / 1600) }, (_, at) =>
      sound.subarray(at * 1600, at * 1600 + 1600),
    );
    const heard = steps.flatMap(step => findTones(step).map(tone => Math.round(tone.hz / 10) * 10));
    assert.deepEqual([...new Set(heard)], [500, 900], 'one after the other, both in the same file');
    await rooms.close(id);
    await b.ended();
  });

  it('ends by its duration, by a key that anybody presses, and by the silence of all', async () => {
    const { id } = await rooms.open();
    const [a, b] = await Promise.all([rooms.callsIn(500, id), rooms.callsIn(900, id)]);
    await a.hearsOnly([900]);
    const byTime = await started(id, { duration: 1 }, '-');
    await recordings.ended(byTime);
    const [file] = await recordings.files(byTime);
    assert(file && file.duration > 0.9 && file.duration < 1.5, `${file?.duration} s`);
    assert.equal((await rooms.see(id)).recording_id, EMPTY_ID);

    const byKey = await started(id, { end_of_key: '#' });
    await a.press('5');
    assert.equal((await recordings.see(byKey)).status, 'recording');
    await b.press('#');
    await recordings.ended(byKey);

    const bySilence = await started(id, { end_of_silence: 1 });
    a.playSilence();
    await audio(1300); // longer than the limit, but one of them speaks
    assert.equal((await recordings.see(bySilence)).status, 'recording');
    b.playSilence();
    await recordings.ended(bySilence);
    assert.deepEqual((await rooms.see(id)).recording_ids, [byTime, byKey, bySilence]);
    await rooms.close(id);
    await Promise.all([a.ended(), b.ended()]);
  });

  it('ends with the conference, keeps its file, and runs the on-end flow with what it knows', async () => {
    const bodies: string[] = [];
    const server = createServer((request, response) => {
      request.on('data', (data: Buffer) => bodies.push(data.toString('utf8'))).on('end', () => response.end());
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    const uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const names = ['id', 'reference_type', 'reference_id', 'filenames'].map(name => `\${svc.recording.${name}}`);
    const send = { sync: true, uri, method: 'POST', data_type: 'text/plain', data: names.join(' ') };
    const on_end_flow_id = await rooms.flow([{ type: 'webhook_send', option: send }]);
    const { id } = await rooms.open();
    const a = await rooms.callsIn(500, id);
    const recordingId = await started(id, { format: 'wav', on_end_flow_id });
    await audio(400);
    await rooms.close(id);
    await a.ended();
    await recordings.ended(recordingId);
    const over = await rooms.closed(id);
    assert.deepEqual([over.recording_id, over.recording_ids], [EMPTY_ID, [recordingId]]);
    await eventually(
      'the on-end flow',
      () => bodies,
      list => list.length > 0,
    );
    const [file] = await recordings.files(recordingId);
    assert.equal(bodies[0], `${recordingId} confbridge ${id} ${file?.filename}`);
    const path = `/timelines/conferences/${id}/events`;
    const story = async () => (await office.stack.api<{ result: { event_type: string }[] }>('GET', path)).body.result;
    const told = await eventually('the end of it in the story', story, all =>
      all.some(one => one.event_type === 'recording_finished'),
    );
    const ofRecording = told.map(one => one.event_type).filter(type => type.startsWith('recording_'));
    assert.deepEqual(ofRecording, ['recording_finished', 'recording_started']);
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
  });

  it('deleted while it runs is stopped first, and its files are removed', async () => {
    const { id } = await rooms.open();
    const recordingId = await started(id);
    const deleted = await office.stack.api<Recording>('DELETE', `/recordings/${recordingId}`);
    assert.deepEqual([deleted.status, deleted.body.status], [200, 'ended']);
    await eventually(
      'the files gone',
      () => recordings.stored(id),
      files => files.length === 0,
    );
    assert.deepEqual(refusalOf(await office.stack.api('GET', `/recordings/${recordingId}`)), [
      404,
      'RECORDING_NOT_FOUND',
    ]);
    assert.equal((await rooms.see(id)).recording_id, EMPTY_ID);
    await rooms.closed(id);
  });

  it('cannot be recorded when it is over, does not exist, or the flow after it does not', async () => {
    const { id } = await rooms.open();
    const unknown = { on_end_flow_id: newId() };
    assert.deepEqual(refusalOf(await rooms.recording('start', id, unknown)), [404, 'FLOW_NOT_FOUND']);
    assert.deepEqual((await rooms.see(id)).recording_ids, []);
    await rooms.closed(id);
    for (const spelling of ['_', '-'])
      for (const gone of [id, newId()])
        for (const what of ['start', 'stop'] as const)
          assert.deepEqual(refusalOf(await rooms.recording(what, gone, {}, spelling)), [404, 'CONFERENCE_NOT_FOUND']);
    const connect = await rooms.open({ type: 'connect' });
    const [a, b] = [await rooms.callsIn(500, connect.id), await rooms.callsIn(900, connect.id)];
    await a.hearsOnly([900]);
    await a.hangup();
    await b.ended();
    await eventually(
      'its end',
      () => rooms.see(connect.id),
      one => one.status === 'terminated',
    );
    assert.deepEqual(refusalOf(await rooms.recording('start', connect.id)), [409, 'STATE_INVALID']);
    assert.deepEqual(refusalOf(await rooms.recording('stop', connect.id)), [409, 'RECORDING_NOT_ACTIVE']);
    await rooms.closed(connect.id);
  });

  it('that cannot be written is refused, leaves nothing in the conference, and the next one is not hindered', async () => {
    const { id } = await rooms.open();
    const folder = join(office.stack.dataDir, 'recordings');
    mkdirSync(folder, { recursive: true });
    renameSync(folder, `${folder}.aside`);
    symlinkSync('/proc', folder); // where nobody makes a file
    const refused = await rooms.recording('start', id).finally(() => {
      rmSync(folder);
      renameSync(`${folder}.aside`, folder);
    });
    assert.deepEqual(refusalOf(refused), [503, 'SERVICE_UNAVAILABLE']);
    await eventually(
      'nothing in the conference',
      () => office.stack.holds(),
      held => held.length === 0,
    );
    const next = await started(id);
    assert.equal((await rooms.recording('stop', id)).status, 200);
    assert.equal((await recordings.files((await recordings.ended(next)).id)).length, 1);
    await rooms.closed(id);
  });

  it('a recording started or stopped in the moment the conference is deleted ends once, and nothing is left', async () => {
    const rounds = Array.from({ length: 12 }, async (_, round) => {
      const { id } = await rooms.open();
      const early = round % 2 === 0 ? [await started(id)] : [];
      const what = round % 2 === 0 ? 'stop' : 'start';
      const later = (ms: number) => new Promise(resolve => setTimeout(resolve, ms));
      const order = later((round % 3) * 4).then(() => rooms.recording(what, id));
      const deletion = later((round % 4) * 3).then(() => rooms.close(id));
      const [{ status, body }] = await Promise.all([order, deletion]);
      assert([200, 404, 409, 503].includes(status), JSON.stringify(body));
      const over = await rooms.closed(id);
      assert.equal(over.recording_id, EMPTY_ID);
      for (const one of new Set([...early, ...over.recording_ids])) {
        const recording = await recordings.ended(one);
        assert.equal(
          recording.tm_start === null ? 0 : 1,
          (await recordings.files(one)).length,
          JSON.stringify(recording),
        );
      }
    });
    await Promise.all(rounds);
  });
});
