import { strict as assert } from 'node:assert';
import { access, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { PlatformError } from '#contract/errors';
import { newId } from '#contract/ids';
import { newRecording, type Recording, recordingFiles, RECORDINGS_FOLDER } from '#contract/recording';
import { timestamp, toMillis, toRfc3339 } from '#contract/time';
import { startApp } from '../../control-api/app.ts';
import { readConfig } from '../../control-api/config.ts';
import { QUOTA_BYTES } from '../../control-api/storage/keep.ts';
import { type RecordingKeeper, storeRecording } from '../../control-api/storage/recording-files.ts';
import type { Vault } from '../../control-api/storage/vault.ts';
import { formatWav } from '../../scripts/phone/wav.ts';
import { apiOfTests, reasonOf, type ApiRequest } from '../support/api.ts';
import { aCall } from './events-rig.ts';
import { eventually } from '../support/eventually.ts';
import { NO_LIMITS } from '../support/no-limits.ts';
import { addAccesskey, addCustomer } from '../support/people.ts';

interface StoredFile {
  id: string;
  customer_id: string;
  type: string;
  reference_type: string;
  reference_id: string;
  owner_type: string;
  filename: string;
  filesize: number;
  uri_download: string;
}

interface Playfile {
  filename: string;
  direction: string;
  uri_download: string;
  tm_download_expire: string;
}

const SAMPLES = Int16Array.from({ length: 800 }, (_, at) => at);

/** Not looked after before a test says so. */
const LATER = { files_due: '2999-01-01' };

describe('recordings', function () {
  this.timeout(30_000);
  const api = apiOfTests();

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

  const insert = async (
    table: string,
    data: { id: string; customer_id: string; tm_create: string | null },
    more: object = {},
  ) =>
    api.database.db(table).insert({
      ...more,
      id: data.id,
      customer_id: data.customer_id,
      version: 3,
      data: JSON.stringify(data),
      tm_create: toRfc3339(data.tm_create ?? timestamp()),
    });

  const pathOf = (name: string): string => join(api.dataDir, RECORDINGS_FOLDER, name);

  /** A recording as the projector copied it and the files media-app kept. */
  const kept = async (given: Partial<Recording> = {}, more: object = {}): Promise<Recording> => {
    const recording = aRecording(given);
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
    await insert('recordings', recording, more);
    return recording;
  };

  const db = () => api.database.db;
  const isDue = ({ id }: Recording) => db()('recordings').where({ id }).update({ files_due: '2000-01-01' });
  const isStored = async ({ id }: Recording): Promise<boolean> =>
    (await db()('recordings').where({ id, files: 'stored' }).first('id')) !== undefined;
  /** A recording whose files became stored files. */
  const stored = async (given: Partial<Recording> = {}): Promise<Recording> => {
    const recording = await kept(given);
    api.app.context.recordingFiles.sweep();
    await eventually('it is stored', () => isStored(recording), Boolean);
    return recording;
  };
  const list = async (query: string, options: ApiRequest = {}): Promise<StoredFile[]> => {
    const { body } = await api.request('GET', `/v1.0/storage_files?${query}`, undefined, options);
    return body['result'] as StoredFile[];
  };
  const filesOf = ({ id }: Recording, options?: ApiRequest) =>
    list(`reference_type=recording&reference_id=${id}`, options);
  const totals = async (options: ApiRequest = {}): Promise<unknown[]> => {
    const { body } = await api.request('GET', '/v1.0/storage_account', undefined, options);
    return [body['total_file_count'], body['total_file_size']];
  };
  const there = (path: string): Promise<boolean> =>
    access(path).then(
      () => true,
      () => false,
    );
  const localOf = async (recording: Recording): Promise<string[]> => {
    const names = [...new Set(Object.values(recordingFiles(recording)))];
    const found = await Promise.all(names.map(name => there(pathOf(name))));
    return names.filter((_name, at) => found[at]);
  };
  const inVault = (id: string): Promise<boolean> => there(join(api.dataDir, 'files', id));
  const tenant = async () => {
    const customer_id = await addCustomer(api);
    return { customer_id, options: { credentials: { accesskey: await addAccesskey(api, customer_id) } } };
  };
  /** What looks after recordings, with parts of a test's own. */
  const keeperWith = (vault: Vault): RecordingKeeper => ({
    db: db(),
    vault,
    folder: join(api.dataDir, RECORDINGS_FOLDER),
    uploadFolder: join(api.dataDir, 'uploads'),
    log: pino({ level: 'silent' }),
  });

  const foreigner = async (): Promise<string> => {
    const id = newId();
    const row = { id, status: 'active', sip_label: id.slice(0, 8), tm_create: timestamp() };
    await api.database.db('customers').insert(row);
    return id;
  };

  const playfiles = async (id: string, options?: ApiRequest): Promise<Playfile[]> => {
    const { status, body } = await api.request('GET', `/v1.0/recordings/${id}/playfiles`, undefined, options);
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
    const { id } = await stored();
    const [said, hears] = await playfiles(id);
    assert(said && hears);
    assert.deepEqual([said.direction, hears.direction], ['in', 'out']);
    const left = toMillis(said.tm_download_expire) - Date.now();
    assert(left > 604_700_000 && left <= 604_800_000, `${left} ms: seven days`);
    const whole = await fetch(said.uri_download);
    assert.equal(whole.status, 200);
    assert.match(whole.headers.get('content-type') ?? '', /^audio\/(x-)?(wav|wave)/);
    assert.match(whole.headers.get('content-disposition') ?? '', /attachment/);
    assert.deepEqual(Buffer.from(await whole.arrayBuffer()), formatWav(SAMPLES));
    const part = await fetch(said.uri_download, { headers: { Range: 'bytes=0-3' } });
    assert.deepEqual([part.status, await part.text()], [206, 'RIFF']);
  });

  it('have links that cannot be bent to another file, time or folder', async () => {
    const { id } = await stored();
    const [said, hears] = await playfiles(id);
    assert(said && hears);
    const change = (from: RegExp | string, to: string): string => said.uri_download.replace(from, to);
    const bent = [
      change(/[^/]+(?=\?)/, /[^/]+(?=\?)/.exec(hears.uri_download)?.[0] ?? ''),
      change(/expires=\d+/, 'expires=99999999999'),
      change(/expires=\d+/, 'expires='),
      change(/signature=.{4}/, 'signature=0000'),
      change(/signature=\w+/, 'signature='),
      change(/\?.*/, ''),
      change(/\/downloads\/files\/[^?]+/, '/downloads/files/..%2Fwelcome.json'),
      change('/files/', '/recordings/'),
    ];
    for (const uri of bent) {
      const answer = await fetch(uri);
      assert.equal(answer.status, 403, uri);
      assert.equal(((await answer.json()) as { error: { reason: string } }).error.reason, 'PERMISSION_DENIED');
    }
  });

  it('lead to one file with both voices', async () => {
    const { id } = await stored();
    const target = `${api.url}/v1.0/recordingfiles/${id}?accesskey=${api.welcome.accesskey}`;
    const led = await fetch(target, { redirect: 'manual' });
    assert.equal(led.status, 307);
    assert.match(led.headers.get('location') ?? '', /^http.*\/downloads\/files\/.*save_as=call_.*\.wav$/);
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
    await eventually(
      'no file left',
      () => localOf(recording),
      names => names.length === 0,
    );
  });

  it('are stored files of their customer once they have ended: listed, told, counted, and with media-app no more', async () => {
    const { customer_id, options } = await tenant();
    const recording = await stored({ customer_id });
    const names = recordingFiles(recording);
    const wav = formatWav(SAMPLES);
    const files = await filesOf(recording, options);
    assert.deepEqual(files.map(({ filename }) => filename).sort(), [names.in, names.mixed, names.out].sort());
    for (const file of files) {
      assert.deepEqual(
        [file.customer_id, file.type, file.reference_type, file.reference_id, file.owner_type, file.filesize],
        [customer_id, 'recording', 'recording', recording.id, '', wav.length],
      );
      const answer = await fetch(file.uri_download);
      assert.deepEqual(Buffer.from(await answer.arrayBuffer()), wav);
      assert.match(answer.headers.get('content-type') ?? '', /^audio\//);
    }
    assert.deepEqual(await totals(options), [3, 3 * wav.length]);
    assert.deepEqual(await localOf(recording), []);
    const events = await db()('events').where({ customer_id }).orderBy('sequence').pluck<string[]>('event_type');
    assert.deepEqual(events, ['file_created', 'file_created', 'file_created']);
    assert.deepEqual(await list('type=rag', options), []);
    assert.deepEqual(await filesOf(recording), [], 'and of nobody else');
  });

  it('of a conference are one stored file', async () => {
    const recording = aRecording({ reference_type: 'confbridge', reference_id: newId() });
    const { mixed, contents } = recordingFiles(recording);
    await mkdir(join(api.dataDir, RECORDINGS_FOLDER), { recursive: true });
    await writeFile(pathOf(mixed), formatWav(SAMPLES));
    const files = [{ filename: mixed, direction: '', filesize: 1644, duration: 0.1, peaks: [] }];
    await writeFile(pathOf(contents), JSON.stringify({ complete: true, files }));
    await insert('recordings', recording);
    api.app.context.recordingFiles.sweep();
    await eventually('it is stored', () => isStored(recording), Boolean);
    assert.deepEqual(
      (await filesOf(recording)).map(({ filename }) => filename),
      [mixed],
    );
    assert.deepEqual(
      (await playfiles(recording.id)).map(({ filename, direction }) => [filename, direction]),
      [[mixed, '']],
    );
  });

  it('are never lost to a full account: they count though over, and uploads are refused', async () => {
    const { customer_id, options } = await tenant();
    const account = db()('storage_accounts').where({ customer_id });
    await account.update({ total_file_size: QUOTA_BYTES - 10 });
    const recording = await stored({ customer_id });
    assert.equal((await filesOf(recording, options)).length, 3);
    assert.deepEqual(await totals(options), [3, QUOTA_BYTES - 10 + 3 * formatWav(SAMPLES).length]);
    const raw = new FormData();
    raw.append('file', new Blob(['']), 'a.txt');
    raw.append('type', 'rag');
    const answer = await api.request('POST', '/v1.0/storage_files', undefined, { raw, ...options });
    assert.deepEqual([answer.status, reasonOf(answer)], [429, 'RESOURCE_LIMIT_EXCEEDED']);
    assert.match(answer.text, /there are 0 left/);
    await api.request('DELETE', `/v1.0/recordings/${recording.id}`, undefined, options);
    await eventually(
      'the room is back',
      () => totals(options),
      ([count, size]) => count === 0 && size === QUOTA_BYTES - 10,
    );
  });

  it('are played while they are with media-app still, and a link from then leads to them after', async () => {
    const recording = await kept({ customer_id: await foreigner() }, LATER);
    const { downloads } = api.app.context;
    const link = downloads.link(RECORDINGS_FOLDER, recordingFiles(recording).in).uri;
    assert.equal((await fetch(link)).status, 200);
    await isDue(recording);
    api.app.context.recordingFiles.sweep();
    await eventually('it is stored', () => isStored(recording), Boolean);
    assert.equal((await fetch(link, { redirect: 'manual' })).status, 307);
    assert.deepEqual(Buffer.from(await (await fetch(link)).arrayBuffer()), formatWav(SAMPLES));
    const nowhere = downloads.link(RECORDINGS_FOLDER, 'call_none.wav').uri;
    assert.equal((await fetch(nowhere)).status, 404);
  });

  it('deleted take their stored files along: bytes, room in the account and links', async () => {
    const { customer_id, options } = await tenant();
    const recording = await stored({ customer_id });
    const files = await filesOf(recording, options);
    assert.equal((await api.request('DELETE', `/v1.0/recordings/${recording.id}`, undefined, options)).status, 200);
    const gone = async () => (await Promise.all(files.map(({ id }) => inVault(id)))).every(is => !is);
    await eventually('the bytes are gone', gone, Boolean);
    assert.deepEqual([await filesOf(recording, options), await totals(options)], [[], [0, 0]]);
    for (const { uri_download } of files) assert.equal((await fetch(uri_download)).status, 404);
    const events = await db()('events')
      .where({ customer_id, event_type: 'file_deleted' })
      .pluck<string[]>('resource_id');
    assert.deepEqual(events.sort(), files.map(({ id }) => id).sort());
  });

  it('keep their other files when one is deleted, which does not come back', async () => {
    const { customer_id, options } = await tenant();
    const recording = await stored({ customer_id });
    const names = recordingFiles(recording);
    for (const file of await filesOf(recording, options)) {
      if (file.filename === names.in) continue;
      assert.equal((await api.request('DELETE', `/v1.0/storage_files/${file.id}`, undefined, options)).status, 200);
      await eventually('the bytes are gone', async () => !(await inVault(file.id)), Boolean);
    }
    assert.deepEqual(
      (await playfiles(recording.id, options)).map(({ filename }) => filename),
      [names.in],
    );
    const led = await api.request('GET', `/v1.0/recordingfiles/${recording.id}`, undefined, options);
    assert.deepEqual([led.status, reasonOf(led)], [404, 'RECORDING_NOT_FOUND']);
    await storeRecording(keeperWith(api.app.context.vault), recording);
    assert.equal((await filesOf(recording, options)).length, 1);
  });

  /** Where a process may die while it stores a recording: which steps were done. */
  const DEATHS: [when: string, die: (recording: Recording) => Promise<void>][] = [
    [
      'some bytes lie in the vault',
      async recording => {
        const { vault } = api.app.context;
        let puts = 0;
        const put = async (id: string, path: string): Promise<void> => {
          if (++puts === 3) throw new PlatformError('SERVICE_UNAVAILABLE', 'The vault is away.');
          await vault.put(id, path);
        };
        const broken: Vault = { put, remove: id => vault.remove(id), link: file => vault.link(file) };
        await assert.rejects(storeRecording(keeperWith(broken), recording), { reason: 'SERVICE_UNAVAILABLE' });
        assert.equal((await localOf(recording)).length, 4, 'all is with media-app still');
        assert.deepEqual([await filesOf(recording), (await playfiles(recording.id)).length], [[], 2]);
      },
    ],
    [
      'rows say so and media-app has them too',
      async recording => {
        const local = await localOf(recording);
        const copies = await Promise.all(local.map(name => readFile(pathOf(name))));
        await storeRecording(keeperWith(api.app.context.vault), recording);
        await Promise.all(local.map((name, at) => writeFile(pathOf(name), copies[at] ?? '')));
        await db()('recordings').where({ id: recording.id }).update({ files: 'local' });
      },
    ],
  ];
  for (const [when, die] of DEATHS)
    it(`whose process dies when ${when} are stored once by the next`, async () => {
      const recording = await kept({}, LATER);
      const [count, size] = await totals();
      await die(recording);
      await isDue(recording);
      api.app.context.recordingFiles.sweep();
      await eventually('it is stored', () => isStored(recording), Boolean);
      const files = await filesOf(recording);
      assert.equal(files.length, 3);
      assert.deepEqual(await totals(), [Number(count) + 3, Number(size) + 3 * formatWav(SAMPLES).length]);
      for (const { uri_download } of files) assert.equal((await fetch(uri_download)).status, 200);
      assert.deepEqual([await localOf(recording), await readdir(join(api.dataDir, 'uploads'))], [[], []]);
    });

  it('deleted in the middle of being stored leave nothing', async () => {
    const recording = await kept({}, LATER);
    const { vault } = api.app.context;
    const ids: string[] = [];
    const put = async (id: string, path: string): Promise<void> => {
      if (ids.push(id) === 1) await api.request('DELETE', `/v1.0/recordings/${recording.id}`);
      await vault.put(id, path);
    };
    await storeRecording(
      keeperWith({ put, remove: id => vault.remove(id), link: file => vault.link(file) }),
      recording,
    );
    assert.deepEqual(await filesOf(recording), []);
    await isDue(recording);
    api.app.context.recordingFiles.sweep();
    const gone = async () => (await Promise.all(ids.map(inVault))).every(is => !is);
    await eventually('the bytes are gone', gone, Boolean);
    assert.deepEqual([ids.length, await localOf(recording)], [3, []]);
  });

  it('with a file that is missing stay with media-app, capture and all', async () => {
    const recording = await kept({}, LATER);
    const names = recordingFiles(recording);
    await writeFile(pathOf(names.capture), 'audio');
    await rm(pathOf(names.out));
    await assert.rejects(storeRecording(keeperWith(api.app.context.vault), recording), { code: 'ENOENT' });
    assert.deepEqual((await localOf(recording)).sort(), [names.in, names.mixed, names.capture, names.contents].sort());
    assert.deepEqual(await filesOf(recording), []);
  });

  it('are stored once by two control-apis, the second of which starts beside the first', async () => {
    const config = readConfig({
      HTTP_PORT: '0',
      DATABASE_URL: api.database.url,
      REDIS_URL: api.redisUrl,
      DATA_DIR: api.dataDir,
      LOG_LEVEL: 'silent',
      ...NO_LIMITS,
    });
    const second = await startApp(config, pino({ level: 'silent' }));
    try {
      const all = await Promise.all(Array.from({ length: 5 }, () => kept()));
      for (const app of [api.app, second]) app.context.recordingFiles.sweep();
      for (const recording of all) await eventually('it is stored', () => isStored(recording), Boolean);
      for (const recording of all) assert.equal((await filesOf(recording)).length, 3);
    } finally {
      await second.stop();
    }
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
