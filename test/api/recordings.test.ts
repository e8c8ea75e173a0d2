import { strict as assert } from 'node:assert';
import { access, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '#contract/ids';
import { newRecording, type Recording, recordingFiles, RECORDINGS_FOLDER } from '#contract/recording';
import { timestamp, toMillis, toRfc3339 } from '#contract/time';
import { formatWav } from '../../scripts/phone/wav.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { aCall } from './events-rig.ts';
import { eventually } from '../support/eventually.ts';

interface Playfile {
  filename: string;
  direction: string;
  uri_download: string;
  tm_download_expire: string;
}

const SAMPLES = Int16Array.from({ length: 800 }, (_, at) => at);

describe('recordings', function () {
  this.timeout(30_000);
  let api: TestApi;

  before(async function () {
    this.timeout(60_000);
    api = await startTestApi();
  });
  after(() => api.stop());

  const aRecording = (given: Partial<Recording> = {}): Recording => ({
    ...newRecording({
      id: newId(),
      customer_id: api.welcome.customer_id,
      activeflow_id: newId(),
      reference_type: 'call',
      reference_id: newId(),
      on_end_flow_id: newId(),
      tm_create: timestamp(),
    }),
    status: 'ended',
    ...given,
  });

  const insert = async (table: string, data: { id: string; customer_id: string; tm_create: string | null }) =>
    api.database.db(table).insert({
      id: data.id,
      customer_id: data.customer_id,
      version: 3,
      data: JSON.stringify(data),
      tm_create: toRfc3339(data.tm_create ?? timestamp()),
    });

  const pathOf = (name: string): string => join(api.dataDir, RECORDINGS_FOLDER, name);

  /** A recording as the projector copied it and the files media-app kept. */
  const kept = async (given: Partial<Recording> = {}): Promise<Recording> => {
    const recording = aRecording(given);
    await insert('recordings', recording);
    const names = recordingFiles(recording);
    await mkdir(join(api.dataDir, RECORDINGS_FOLDER), { recursive: true });
    const wav = formatWav(SAMPLES);
    for (const name of [names.in, names.out, names.mixed]) await writeFile(pathOf(name), wav);
    const facts = { filesize: wav.length, duration: 0.1, peaks: [0.1, 0.2] };
    const files = [
      { filename: names.in, direction: 'in', ...facts },
      { filename: names.out, direction: 'out', ...facts },
    ];
    await writeFile(pathOf(names.contents), JSON.stringify({ complete: true, files }));
    return recording;
  };

  const foreigner = async (): Promise<string> => {
    const id = newId();
    const row = { id, status: 'active', sip_label: id.slice(0, 8), tm_create: timestamp() };
    await api.database.db('customers').insert(row);
    return id;
  };

  const playfiles = async (id: string): Promise<Playfile[]> => {
    const { status, body } = await api.request('GET', `/v1.0/recordings/${id}/playfiles`);
    assert.equal(status, 200);
    return body as unknown as Playfile[];
  };

  const reason = async (method: string, path: string, body?: unknown): Promise<[number, unknown]> => {
    const answer = await api.request(method, path, body);
    return [answer.status, (answer.body['error'] as { reason: string } | undefined)?.reason];
  };

  it('are listed and shown to their customer, and are not there for any other', async () => {
    const mine = await kept();
    const theirs = await kept({ customer_id: await foreigner() });
    const { body } = await api.request('GET', '/v1.0/recordings');
    const ids = (body['result'] as Recording[]).map(one => one.id);
    assert(ids.includes(mine.id) && !ids.includes(theirs.id));
    assert.deepEqual((await api.request('GET', `/v1.0/recordings/${mine.id}`)).body, mine);
    for (const [method, path] of [
      ['GET', `/v1.0/recordings/${theirs.id}`],
      ['DELETE', `/v1.0/recordings/${theirs.id}`],
      ['GET', `/v1.0/recordings/${theirs.id}/playfiles`],
      ['GET', `/v1.0/recordingfiles/${theirs.id}`],
      ['GET', `/v1.0/recordings/${newId()}`],
    ] as const)
      assert.deepEqual(await reason(method, path), [404, 'RECORDING_NOT_FOUND'], `${method} ${path}`);
    await access(pathOf(recordingFiles(theirs).in));
  });

  it('have links to their files that need no credential, work by range and expire', async () => {
    const { id } = await kept();
    const [said, hears] = await playfiles(id);
    assert(said && hears);
    assert.deepEqual([said.direction, hears.direction], ['in', 'out']);
    const left = toMillis(said.tm_download_expire) - Date.now();
    assert(left > 3_500_000 && left <= 3_600_000, `${left} ms`);
    const whole = await fetch(said.uri_download);
    assert.equal(whole.status, 200);
    assert.match(whole.headers.get('content-type') ?? '', /^audio\/(x-)?(wav|wave)/);
    assert.match(whole.headers.get('content-disposition') ?? '', /attachment/);
    assert.deepEqual(Buffer.from(await whole.arrayBuffer()), formatWav(SAMPLES));
    const part = await fetch(said.uri_download, { headers: { Range: 'bytes=0-3' } });
    assert.deepEqual([part.status, await part.text()], [206, 'RIFF']);
  });

  it('have links that cannot be bent to another file, time or folder', async () => {
    const { id } = await kept();
    const [said, hears] = await playfiles(id);
    assert(said && hears);
    const change = (from: RegExp | string, to: string): string => said.uri_download.replace(from, to);
    const bent = [
      change(encodeURIComponent(said.filename), encodeURIComponent(hears.filename)),
      change(/expires=\d+/, 'expires=99999999999'),
      change(/expires=\d+/, 'expires='),
      change(/signature=.{4}/, 'signature=0000'),
      change(/signature=\w+/, 'signature='),
      change(/\?.*/, ''),
      change(/\/downloads\/recordings\/[^?]+/, '/downloads/recordings/..%2Fwelcome.json'),
      change('/recordings/', '/audio/'),
    ];
    for (const uri of bent) {
      const answer = await fetch(uri);
      assert.equal(answer.status, 403, uri);
      assert.equal(((await answer.json()) as { error: { reason: string } }).error.reason, 'PERMISSION_DENIED');
    }
  });

  it('lead to one file with both voices', async () => {
    const { id } = await kept();
    const target = `${api.url}/v1.0/recordingfiles/${id}?accesskey=${api.welcome.accesskey}`;
    const led = await fetch(target, { redirect: 'manual' });
    assert.equal(led.status, 307);
    assert.match(led.headers.get('location') ?? '', /^http.*\/downloads\/recordings\/call_.*\.wav\?expires=/);
    assert.equal((await fetch(target)).status, 200);
  });

  it('that have not ended, or of which nothing could be kept, have no files', async () => {
    for (const status of ['recording', 'ended'] as const) {
      const recording = aRecording({ status });
      await insert('recordings', recording);
      assert.deepEqual(await playfiles(recording.id), []);
      assert.deepEqual(await reason('GET', `/v1.0/recordingfiles/${recording.id}`), [404, 'RECORDING_NOT_FOUND']);
    }
  });

  it('are deleted once, and their files go in the background', async () => {
    const recording = await kept();
    const [said] = await playfiles(recording.id);
    const { status, body } = await api.request('DELETE', `/v1.0/recordings/${recording.id}`);
    assert.deepEqual([status, body['id'], typeof body['tm_delete']], [200, recording.id, 'string']);
    assert.deepEqual(await reason('DELETE', `/v1.0/recordings/${recording.id}`), [404, 'RECORDING_NOT_FOUND']);
    await eventually(
      'the file gone',
      async () => (await fetch(said?.uri_download ?? '')).status,
      code => code === 404,
    );
    const there = (name: string): Promise<boolean> =>
      access(pathOf(name)).then(
        () => true,
        () => false,
      );
    await eventually(
      'no file left',
      () => Promise.all(Object.values(recordingFiles(recording)).map(there)),
      all => !all.includes(true),
    );
  });

  for (const spelling of ['_', '-']) {
    const begin = (id: string): string => `/v1.0/calls/${id}/recording${spelling}start`;
    const end = (id: string): string => `/v1.0/calls/${id}/recording${spelling}stop`;

    it(`recording${spelling}start refuses what no recording can be`, async () => {
      const call = aCall(api.welcome.customer_id, { status: 'hangup' });
      await insert('calls', { ...call, tm_create: call.tm_create ?? '' });
      for (const body of [
        { format: 'mp3' },
        { duration: -1 },
        { duration: 86_401 },
        { end_of_silence: -1 },
        { end_of_key: '##' },
        { end_of_key: 'every' },
        { on_end_flow_id: 'no id' },
      ])
        assert.deepEqual(await reason('POST', begin(call.id), body), [400, 'INVALID_ARGUMENT'], JSON.stringify(body));
      for (const duration of ['1', 1.5])
        assert.deepEqual(await reason('POST', begin(call.id), { duration }), [400, 'INVALID_JSON_BODY']);
      assert.deepEqual(await reason('POST', begin(call.id), {}), [409, 'CALL_STATE_INVALID']);
      assert.deepEqual(await reason('POST', end(call.id)), [409, 'RECORDING_NOT_ACTIVE']);
    });

    it(`recording${spelling}start and recording${spelling}stop find no call of another customer`, async () => {
      const call = aCall(await foreigner());
      await insert('calls', { ...call, tm_create: call.tm_create ?? '' });
      for (const id of [call.id, newId()]) {
        assert.deepEqual(await reason('POST', begin(id), {}), [404, 'CALL_NOT_FOUND']);
        assert.deepEqual(await reason('POST', end(id)), [404, 'CALL_NOT_FOUND']);
      }
    });
  }
});
