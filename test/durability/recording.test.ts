import { strict as assert } from 'node:assert';
import { access, copyFile, mkdir, readdir, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Call } from '#contract/call';
import type { EventMessage } from '#contract/events';
import { recordingFiles, RECORDINGS_FOLDER } from '#contract/recording';
import { EMPTY_ID } from '#contract/ids';
import { eventually } from '../support/eventually.ts';
import { withOffice, type Office } from '../support/office.ts';
import type { TestPhone } from '../support/phone.ts';
import { Recordings } from '../support/recordings.ts';
import { startStack, type Stack } from '../support/stack.ts';

const TOLD_LOST = 'recording_started,recording_failed,recording_finished';

describe('recordings when something breaks', function () {
  this.timeout(90_000);
  let stack: Stack;
  let office: Office;
  let recordings: Recordings;

  withOffice(opened => {
    office = opened;
    stack = office.stack;
    recordings = new Recordings(stack);
  }, startStack);

  /** Rings the phone of an extension with a flow that records; resolves when the call has its recording. */
  const recorded = async (phone: TestPhone, extension = '1001', option = {}) => {
    const call = await office.ring(extension, [
      { type: 'recording_start', option },
      { type: 'sleep', option: { duration: 120_000 } },
    ]);
    const incoming = await phone.waitForCall();
    await incoming.answered();
    const { recording_id } = await eventually(
      'the recording',
      () => office.call(call.id),
      one => one.recording_id !== EMPTY_ID,
    );
    return { call, incoming, recording_id };
  };

  /** The events of a recording, in order of arrival. */
  const typesOf = (heard: EventMessage[], id: string): string[] =>
    heard.filter(one => one.topic.endsWith(`:recording:${id}`)).map(one => one.event_type);

  /** What the timeline of a call says is wrong with a recording of it. */
  const faultIn = async (callId: string, recordingId: string): Promise<Record<string, unknown>> => {
    interface Story {
      result: { event_type: string; data: Record<string, unknown> }[];
    }
    const look = async () => {
      const { body } = await stack.api<Story>('GET', `/timelines/calls/${callId}/events`);
      return body.result.filter(
        one => one.event_type === 'recording_fault' && one.data['recording_id'] === recordingId,
      );
    };
    const [fault, ...more] = await eventually('the note', look, found => found.length > 0);
    assert(fault && more.length === 0);
    return fault.data;
  };

  it('media-app killed: what was captured is kept and marked, the recording is told to have ended, its on-end flow runs', async () => {
    const phone = await office.registered('1001', { tone: 600, incoming: { autoAnswer: true } });
    const heard = await office.listen();
    const flow = await stack.api<{ id: string }>('POST', '/flows', { name: 'after', actions: [] });
    const { call, recording_id } = await recorded(phone, '1001', { on_end_flow_id: flow.body.id });
    await new Promise(resolve => setTimeout(resolve, 1500)); // of audio
    const [mediaApp] = stack.processes.mediaApp;
    await mediaApp?.kill9();
    await mediaApp?.restart();

    const over: Call = await office.ended(call.id, 15_000);
    assert.deepEqual([over.recording_id, over.recording_ids], [EMPTY_ID, [recording_id]]);
    const recording = await eventually(
      'the end of the recording',
      () => recordings.see(recording_id),
      one => one.status === 'ended',
    );
    assert(recording.tm_end);
    const { body: files } = await stack.api<{ direction: string; duration: number; peaks: number[] }[]>(
      'GET',
      `/recordings/${recording_id}/playfiles`,
    );
    assert.equal(files.length, 2);
    assert((files[0]?.duration ?? 0) > 1, `${files[0]?.duration} s are kept`);
    assert(Math.max(...(files[0]?.peaks ?? [])) > 0.1, 'and the party is in them');
    await eventually(
      'the event',
      () => typesOf(heard, recording_id),
      types => types.join() === 'recording_started,recording_finished',
    );
    const fault = await faultIn(call.id, recording_id);
    assert.equal(fault['fault'], 'incomplete');
    assert(Number(fault['actual_ms']) > 1000, 'what is kept of it');
    const { body: activeflows } = await stack.api<{ result: { reference_activeflow_id: string }[] }>(
      'GET',
      '/activeflows',
    );
    assert(activeflows.result.some(one => one.reference_activeflow_id === call.activeflow_id));
    assert(
      stack
        .logs()
        .some(line => line.includes(recording_id) && line.includes('recording ended because its media-app died')),
    );
    await stack.healthy();
    await office.nothingLeft();
  });

  it('control-api killed before the recording ends: once it is back, the files are stored files and are played', async () => {
    const phone = await office.registered('1001', { tone: 600, incoming: { autoAnswer: true } });
    const { incoming, recording_id } = await recorded(phone);
    const look = () => recordings.see(recording_id);
    const names = recordingFiles(await eventually('it records', look, one => one.status === 'recording'));
    const local = (): Promise<string[]> => readdir(join(stack.dataDir, RECORDINGS_FOLDER));
    await stack.processes.controlApi.kill9();
    await incoming.hangup();
    await eventually('media-app kept the audio', local, list => list.includes(names.contents));
    await stack.processes.controlApi.restart();
    await stack.healthy();
    const path = `/storage_files?reference_type=recording&reference_id=${recording_id}`;
    const stored = await eventually(
      'the stored files',
      async () => (await stack.api<{ result: { filename: string }[] }>('GET', path)).body.result,
      files => files.length === 3,
    );
    assert.deepEqual(stored.map(({ filename }) => filename).sort(), [names.in, names.mixed, names.out].sort());
    await eventually('nothing is left with media-app', local, list => !list.includes(names.contents));
    interface Playfile {
      uri_download: string;
      filesize: number;
    }
    const { body: files } = await stack.api<Playfile[]>('GET', `/recordings/${recording_id}/playfiles`);
    assert.equal(files.length, 2);
    for (const { uri_download, filesize } of files)
      assert.equal((await (await fetch(uri_download)).arrayBuffer()).byteLength, filesize);
  });

  it('the engine killed: the recording ends with its call and keeps what had reached the disk', async () => {
    const phone = await office.registered('1002', { tone: 600, incoming: { autoAnswer: true } });
    const { call, incoming, recording_id } = await recorded(phone, '1002');
    await new Promise(resolve => setTimeout(resolve, 1500)); // of audio
    await stack.processes.engine.kill9();
    await office.ended(call.id);
    incoming.vanish(); // nobody is left to tell it
    const recording = await eventually(
      'the end of the recording',
      () => recordings.see(recording_id),
      one => one.status === 'ended',
    );
    assert(recording.tm_end);
    const { body: files } = await stack.api<{ duration: number }[]>('GET', `/recordings/${recording_id}/playfiles`);
    assert((files[0]?.duration ?? 0) >= 0.5, `${files[0]?.duration} s are kept`);
    await stack.processes.engine.restart();
    await stack.healthy();
  });

  it('a disk that takes no more files at the end: the recording ends and is told, its capture stays, and the log says why', async () => {
    const phone = await office.registered('1001', { tone: 600, incoming: { autoAnswer: true } });
    const heard = await office.listen();
    const { call, incoming, recording_id } = await recorded(phone);
    const look = () => recordings.see(recording_id);
    const started = await eventually('it records', look, one => one.status === 'recording');
    const folder = join(stack.dataDir, RECORDINGS_FOLDER);
    const names = recordingFiles(started);
    await mkdir(join(folder, names.in, 'in the way'), { recursive: true });
    await stack.api('POST', `/calls/${call.id}/recording_stop`);
    const ended = await eventually('its end', look, one => one.status === 'ended');
    assert(ended.tm_end);
    assert.deepEqual((await stack.api<unknown[]>('GET', `/recordings/${recording_id}/playfiles`)).body, []);
    await access(join(folder, names.capture));
    const told = () => typesOf(heard, recording_id);
    await eventually('the event', told, types => types.join() === TOLD_LOST);
    const fault = await faultIn(call.id, recording_id);
    assert.deepEqual(
      [fault['fault'], fault['sentence']],
      ['not_saved', 'The recording could not be saved (EISDIR).'],
      'no path of ours is shown',
    );
    const why = (line: string) => line.includes(recording_id) && line.includes('the recording could not be saved');
    assert(stack.logs().some(why));
    assert.equal((await office.call(call.id)).status, 'progressing');
    await incoming.hangup();
    await office.ended(call.id);
    await office.nothingLeft();
  });

  it('a capture that lost audio: what is left is kept, and log and timeline say how long it ran and how much there is', async () => {
    const phone = await office.registered('1001', { tone: 600, incoming: { autoAnswer: true } });
    const heard = await office.listen();
    const { call, incoming, recording_id } = await recorded(phone);
    const look = () => recordings.see(recording_id);
    const started = await eventually('it records', look, one => one.status === 'recording');
    const capture = join(stack.dataDir, RECORDINGS_FOLDER, recordingFiles(started).capture);
    await eventually(
      'three seconds of audio',
      () => stat(capture),
      ({ size }) => size > 3 * 32_000,
    );
    await rename(capture, `${capture}.lost`); // the media server goes on writing there
    await copyFile(`${capture}.lost`, capture);
    await truncate(capture, 44 + 16_000); // half a second
    await stack.api('POST', `/calls/${call.id}/recording_stop`);
    await eventually('its end', look, one => one.status === 'ended');
    const fault = await faultIn(call.id, recording_id);
    assert.deepEqual([fault['fault'], fault['actual_ms']], ['duration', 500]);
    assert(Number(fault['expected_ms']) > 2500, `${String(fault['expected_ms'])} ms`);
    const { body: files } = await stack.api<{ duration: number }[]>('GET', `/recordings/${recording_id}/playfiles`);
    assert.equal(files[0]?.duration, 0.5);
    const told = () => typesOf(heard, recording_id);
    await eventually('the events', told, types => types.join() === 'recording_started,recording_finished');
    const why = (line: string) => line.includes(recording_id) && line.includes('is not as long as the time it ran');
    assert(stack.logs().some(why));
    await incoming.hangup();
    await office.ended(call.id);
    await office.nothingLeft();
  });

  it('a disk that takes no files: the start is refused, the call goes on, and the log says why', async () => {
    await rm(join(stack.dataDir, RECORDINGS_FOLDER), { recursive: true, force: true });
    await writeFile(join(stack.dataDir, RECORDINGS_FOLDER), 'a file where the folder should be');
    const heard = await office.listen();
    const phone = await office.registered('1001', { incoming: { autoAnswer: true } });
    const call = await office.ring('1001', [{ type: 'sleep', option: { duration: 120_000 } }]);
    const incoming = await phone.waitForCall();
    await incoming.answered();
    await office.progressing(call.id);
    const refused = await stack.api<unknown>('POST', `/calls/${call.id}/recording_start`, {});
    assert.equal(refused.status, 503, JSON.stringify(refused.body));
    const { status, recording_id, recording_ids } = await office.call(call.id);
    assert.deepEqual([status, recording_id, recording_ids.length], ['progressing', EMPTY_ID, 1]);
    const recording = await recordings.see(recording_ids[0] ?? '');
    assert.deepEqual([recording.status, recording.tm_start], ['ended', null]);
    assert(stack.logs().some(line => line.includes(recording.id) && line.includes('the recording did not start')));
    const told = () => typesOf(heard, recording.id);
    await eventually('the events', told, types => types.join() === 'recording_failed,recording_finished');
    assert.equal((await faultIn(call.id, recording.id))['fault'], 'not_started');
    await incoming.hangup();
    await office.ended(call.id);
    await office.nothingLeft();
  });
});
