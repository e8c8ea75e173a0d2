import { strict as assert } from 'node:assert';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { pino } from 'pino';
import { newId } from '#contract/ids';
import { newRecording, recordingFiles, RECORDINGS_FOLDER } from '#contract/recording';
import { fromDate, NEVER, timestamp } from '#contract/time';
import { Downloads } from '../../control-api/downloads.ts';
import { storedFileSweep } from '../../control-api/jobs/stored-files.ts';
import { FolderVault } from '../../control-api/storage/folder-vault.ts';
import { apiOfTests, startTestApi, reasonOf, type Answer, type ApiRequest, type TestApi } from '../support/api.ts';
import { startBucket, type TestBucket } from '../support/bucket.ts';
import { eventually } from '../support/eventually.ts';
import { addAccesskey, addAgent, addCustomer, tokenOf } from '../support/people.ts';

type Json = Record<string, unknown>;

const QUOTA = 10 * 1024 ** 3;
const LIMIT = 30 * 1024 * 1024;
const told = (answer: Answer): unknown[] => [answer.status, reasonOf(answer)];

const until = (what: string, look: () => Promise<boolean>) => eventually(what, look, seen => seen);

/** A form as a browser sends it; without contents there is no file, with an empty type no type. */
const form = (contents?: Buffer | string, type = 'rag', filename = 'notes.txt'): FormData => {
  const data = new FormData();
  if (contents !== undefined) data.append('file', new Blob([contents]), filename);
  if (type !== '') data.append('type', type);
  return data;
};

describe('stored files', function () {
  this.timeout(30_000);
  const api = apiOfTests();

  const at = (method: string, path: string, options: ApiRequest = {}) =>
    api.request(method, `/v1.0${path}`, undefined, options);
  const upload = (raw: FormData, options: ApiRequest = {}) => at('POST', '/storage_files', { raw, ...options });
  const made = async (raw: FormData, options: ApiRequest = {}): Promise<Json> => {
    const answer = await upload(raw, options);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  /** A customer of its own: its accesskey as credentials. */
  const tenant = async () => {
    const customer_id = await addCustomer(api);
    return { customer_id, credentials: { accesskey: await addAccesskey(api, customer_id) } };
  };
  const totals = async (credentials: ApiRequest['credentials']): Promise<unknown[]> => {
    const { body } = await at('GET', '/storage_account', credentials ? { credentials } : {});
    return [body['total_file_count'], body['total_file_size']];
  };
  const folder = (name: string): Promise<string[]> => readdir(join(api.dataDir, name)).catch(() => []);
  const fetched = (uri: unknown) => fetch(String(uri));

  it('come back byte for byte by a link that needs no credential and saves them under their name', async () => {
    const { customer_id, credentials } = await tenant();
    const bytes = randomBytes(2_000_000);
    const file = await made(form(bytes, 'rag', 'Über „uns".pdf'), { credentials });
    assert.deepEqual(
      [file['customer_id'], file['type'], file['reference_type'], file['owner_type'], file['filesize'], file['name']],
      [customer_id, 'rag', 'normal', '', bytes.length, 'Über „uns".pdf'],
    );
    assert.deepEqual([file['tm_update'], file['tm_delete']], [NEVER, NEVER]);
    const days = (Date.parse(`${String(file['tm_download_expire'])}Z`) - Date.now()) / 86_400_000;
    assert.ok(days > 6.99 && days <= 7, `the link works for ${days} days`);
    const answer = await fetched(file['uri_download']);
    assert.deepEqual(Buffer.from(await answer.arrayBuffer()), bytes);
    const disposition = answer.headers.get('content-disposition') ?? '';
    assert.match(disposition, /^attachment;.*filename\*=UTF-8''%C3%9Cber%20%E2%80%9Euns/);
    assert.deepEqual(await folder('uploads'), []);
  });

  it('are led to by /file, and links that were changed or are over lead nowhere', async () => {
    const { id } = await made(form('geheim'));
    const url = new URL(`/v1.0/storage_files/${String(id)}/file?accesskey=${api.welcome.accesskey}`, api.url);
    const led = await fetch(url, { redirect: 'manual' });
    assert.equal(led.status, 307);
    const link = led.headers.get('location') ?? '';
    assert.equal(await (await fetched(link)).text(), 'geheim');
    const other = await made(form('anders'));
    const CHANGED: [string, string][] = [
      [String(id), String(other['id'])],
      ['notes.txt', 'notes.html'],
      [/expires=\d+/.exec(link)?.[0] ?? '', `expires=${Math.floor(Date.now() / 1000) + 9_000_000}`],
      ['save_as=', 'saved_as='],
    ];
    for (const [from, to] of CHANGED) {
      assert.ok(link.includes(from), from);
      assert.equal((await fetched(link.replace(from, to))).status, 403, to);
    }
  });

  it('are listed newest first, by type, record and owner, and one is got by its id', async () => {
    const { customer_id, credentials } = await tenant();
    const { id: owner_id, username, password } = await addAgent(api, customer_id, 32);
    const token = await tokenOf(api, username, password);
    const first = await made(form('eins', 'rag', 'a.txt'), { credentials });
    const second = await made(form('zwei', 'rag', 'b.txt'), { credentials: { token } });
    const names = async (query: string) => {
      const page = (await at('GET', `/storage_files?${query}`, { credentials })).body;
      return (page['result'] as Json[]).map(({ filename }) => filename);
    };
    const ASKED: [string, string[]][] = [
      ['', ['b.txt', 'a.txt']],
      ['page_size=1', ['b.txt']],
      ['type=rag', ['b.txt', 'a.txt']],
      ['type=talk', []],
      ['reference_type=normal', ['b.txt', 'a.txt']],
      ['reference_type=recording', []],
      [`owner_id=${owner_id}`, ['b.txt']],
      [`reference_id=${newId()}`, []],
    ];
    for (const [query, expected] of ASKED) assert.deepEqual(await names(query), expected, query);
    assert.deepEqual([second['owner_type'], second['owner_id']], ['agent', owner_id]);
    const got = (await at('GET', `/storage_files/${String(first['id'])}`, { credentials })).body;
    assert.deepEqual([got['filename'], got['filesize'], got['tm_create']], ['a.txt', 4, first['tm_create']]);
    const foreign = await at('GET', `/storage_files/${String(first['id'])}`);
    assert.deepEqual(told(foreign), [404, 'FILE_NOT_FOUND']);
  });

  it('are told when they are made and deleted, without links', async () => {
    const { customer_id, credentials } = await tenant();
    const { id } = await made(form('eins'), { credentials });
    await at('DELETE', `/storage_files/${String(id)}`, { credentials });
    const rows = await api.database.db('events').where({ customer_id }).orderBy('sequence').select<Json[]>();
    assert.deepEqual(
      rows.map(row => [row['event_type'], row['resource_id'], 'uri_download' in (row['data'] as Json)]),
      [
        ['file_created', id, false],
        ['file_deleted', id, false],
      ],
    );
  });

  it('are counted in the account as they come and go, and their bytes go with them', async () => {
    const { credentials } = await tenant();
    const [one, two] = await Promise.all([made(form('12345'), { credentials }), made(form(''), { credentials })]);
    assert.deepEqual(await totals(credentials), [2, 5]);
    const deleted = await at('DELETE', `/storage_files/${String(one['id'])}`, { credentials });
    assert.deepEqual([deleted.status, deleted.body['uri_download']], [200, '']);
    assert.deepEqual(await totals(credentials), [1, 0]);
    const again = await at('DELETE', `/storage_files/${String(one['id'])}`, { credentials });
    assert.deepEqual(told(again), [404, 'FILE_NOT_FOUND']);
    assert.deepEqual(await totals(credentials), [1, 0]);
    await until('the bytes are gone', async () => !(await folder('files')).includes(String(one['id'])));
    assert.equal((await fetched(one['uri_download'])).status, 404);
    assert.equal((await fetched(two['uri_download'])).status, 200);
  });

  it('come and go at once in one account, and it counts what is left', async () => {
    const { credentials } = await tenant();
    const many = Array.from({ length: 10 });
    const send = () => made(form('abc'), { credentials });
    const gone = (file: Json) => at('DELETE', `/storage_files/${String(file['id'])}`, { credentials });
    let files = await Promise.all(many.map(send));
    for (let round = 0; round < 3; round++) {
      const [made, answers] = await Promise.all([Promise.all(many.map(send)), Promise.all(files.map(gone))]);
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
      files = made;
    }
    assert.deepEqual(await totals(credentials), [10, 30]);
  });

  it('fill the account to the last byte and no further', async () => {
    const { customer_id, credentials } = await tenant();
    const account = () => api.database.db('storage_accounts').where({ customer_id });
    await account().update({ total_file_size: QUOTA - 10 });
    const before = await folder('files');
    const answers = await Promise.all([1, 2, 3].map(() => upload(form('12345'), { credentials })));
    assert.deepEqual(answers.map(told).sort(), [
      [200, undefined],
      [200, undefined],
      [429, 'RESOURCE_LIMIT_EXCEEDED'],
    ]);
    assert.deepEqual(await totals(credentials), [2, QUOTA]);
    const refused = await upload(form('1'), { credentials });
    assert.match(refused.text, /has 1 bytes.*there are 0 left/);
    const rows = await api.database.db('storage_files').where({ customer_id }).pluck<string[]>('id');
    const left = await eventually(
      'nothing of what was refused is left',
      async () => (await folder('files')).filter(id => !before.includes(id)),
      ids => ids.length === 2,
    );
    assert.deepEqual(left.sort(), rows.sort());
  });

  describe('that are no such form are refused, and leave nothing', () => {
    const boundary = (lines: string[]): ApiRequest => ({
      raw: lines.join('\r\n'),
      headers: { 'Content-Type': 'multipart/form-data; boundary=x' },
    });
    const two = (): FormData => {
      const data = form('eins');
      data.append('file', new Blob(['zwei']), 'b.txt');
      return data;
    };
    const stray = (): FormData => {
      const data = form('eins');
      data.append('photo', new Blob(['zwei']), 'b.txt');
      return data;
    };
    const PART = 'Content-Disposition: form-data; name="file"; filename="a"';
    const REFUSED: [string, ApiRequest, string][] = [
      ['no file', { raw: form() }, 'INVALID_FILE_UPLOAD'],
      ['no type', { raw: form('eins', '') }, 'INVALID_FILE_UPLOAD'],
      ['a type of another surface', { raw: form('eins', 'talk') }, 'INVALID_FILE_TYPE'],
      ['a type that the platform alone gives', { raw: form('eins', 'recording') }, 'INVALID_FILE_TYPE'],
      ['two files', { raw: two() }, 'INVALID_FILE_UPLOAD'],
      ['a file in a part of another name', { raw: stray() }, 'INVALID_FILE_UPLOAD'],
      ['JSON', { raw: '{"type":"rag"}' }, 'INVALID_FILE_UPLOAD'],
      ['nothing', {}, 'INVALID_FILE_UPLOAD'],
      ['no boundary', { raw: 'x', headers: { 'Content-Type': 'multipart/form-data' } }, 'INVALID_FILE_UPLOAD'],
      ['no end', boundary(['--x', PART, '', 'abc']), 'INVALID_FILE_UPLOAD'],
      ['no parts', boundary(['abc']), 'INVALID_FILE_UPLOAD'],
      ['a file over 30 MiB', { raw: form(Buffer.alloc(LIMIT + 1)) }, 'INVALID_FILE_UPLOAD'],
      ['a file far over 30 MiB', { raw: form(Buffer.alloc(LIMIT + 100_000)) }, 'INVALID_FILE_UPLOAD'],
    ];
    for (const [what, options, reason] of REFUSED)
      it(`${what}: ${reason}`, async () => {
        const before = await totals(undefined);
        assert.deepEqual(told(await at('POST', '/storage_files', options)), [400, reason]);
        assert.deepEqual(await totals(undefined), before);
        await until('nothing is left', async () => (await folder('uploads')).length === 0);
      });

    it('a file of 30 MiB is taken', async () => {
      const { credentials } = await tenant();
      assert.equal((await made(form(Buffer.alloc(LIMIT)), { credentials }))['filesize'], LIMIT);
    });

    it('one that breaks off in the middle leaves nothing', async () => {
      const before = await totals(undefined);
      const url = new URL(`/v1.0/storage_files?accesskey=${api.welcome.accesskey}`, api.url);
      const headers = { 'Content-Type': 'multipart/form-data; boundary=x', 'Content-Length': 100_000 };
      const request = httpRequest(url, { method: 'POST', headers }).on('error', () => undefined);
      request.write(['--x', PART, '', 'a'.repeat(50_000)].join('\r\n'));
      await until('it is being received', async () => (await folder('uploads')).length === 1);
      request.destroy();
      await until('nothing is left', async () => (await folder('uploads')).length === 0);
      assert.deepEqual(await totals(undefined), before);
    });

    it('whoever may not upload is refused before the file is read', async () => {
      const { customer_id } = await tenant();
      const { username, password } = await addAgent(api, customer_id, 16);
      const token = await tokenOf(api, username, password);
      const answer = await upload(form(), { credentials: { token } });
      assert.deepEqual(told(answer), [403, 'PERMISSION_DENIED']);
    });
  });

  it('a name with folders, line ends or nothing in it becomes one plain name', async () => {
    const names = ['../../etc/passwd', 'a\r\nX-Evil: 1', 'x'.repeat(300)];
    const files = await Promise.all(names.map(name => made(form('a', 'rag', name))));
    assert.deepEqual(
      files.map(({ filename }) => filename),
      ['passwd', 'aX-Evil: 1', 'x'.repeat(255)],
    );
    for (const { uri_download } of files) assert.equal((await fetched(uri_download)).status, 200);
  });

  it('the same upload with one Idempotency-Key is one file, and another one is refused', async () => {
    const { credentials } = await tenant();
    const headers = { 'Idempotency-Key': newId() };
    const first = await made(form('eins'), { credentials, headers });
    assert.equal((await made(form('eins'), { credentials, headers }))['id'], first['id']);
    assert.deepEqual(told(await upload(form('zwei'), { credentials, headers })), [409, 'IDEMPOTENCY_KEY_REUSED']);
    assert.deepEqual(await totals(credentials), [1, 4]);
  });

  it('of a talk belong to the agent, whose colleagues read and do not delete them', async () => {
    const { customer_id } = await tenant();
    const people = await Promise.all([16, 16].map(bits => addAgent(api, customer_id, bits)));
    const [mine, theirs] = await Promise.all(
      people.map(async ({ username, password }) => ({
        credentials: { token: await tokenOf(api, username, password) },
      })),
    );
    const raw = form('hallo', 'talk', 'photo.jpg');
    const file = (await at('POST', '/service_agents/files', { raw, ...mine })).body;
    assert.deepEqual(
      [file['owner_id'], file['name'], file['detail'], file['type']],
      [people[0]?.id, 'photo.jpg', 'Uploaded by agent', 'talk'],
    );
    const path = `/service_agents/files/${String(file['id'])}`;
    const listed = async (options: ApiRequest = {}) =>
      ((await at('GET', '/service_agents/files', options)).body['result'] as Json[]).map(({ id }) => id);
    assert.deepEqual([await listed(mine), await listed(theirs)], [[file['id']], []]);
    assert.equal((await at('GET', path, theirs)).body['filename'], 'photo.jpg');
    assert.deepEqual(told(await at('DELETE', path, theirs)), [403, 'PERMISSION_DENIED']);
    const rag = await at('POST', '/service_agents/files', { raw: form('a', 'rag'), ...mine });
    assert.deepEqual(told(rag), [400, 'INVALID_FILE_TYPE']);
    assert.equal((await at('DELETE', path, mine)).status, 200);
    assert.deepEqual(told(await at('GET', path, mine)), [404, 'FILE_NOT_FOUND']);
  });

  it('a file is a source of a knowledge base of its customer only', async () => {
    const { credentials } = await tenant();
    const { id } = await made(form('eins'), { credentials });
    const body = { name: 'Handbook', storage_file_ids: [id] };
    const rag = (await api.request('POST', '/v1.0/rags', body, { credentials })).body;
    assert.deepEqual(
      (rag['sources'] as Json[]).map(source => source['storage_file_id']),
      [id],
    );
    assert.deepEqual(told(await api.request('POST', '/v1.0/rags', body)), [404, 'FILE_NOT_FOUND']);
  });

  it('go with their account, and count again in one that is opened anew', async () => {
    const { customer_id, credentials } = await tenant();
    const file = await made(form('eins'), { credentials });
    const db = api.database.db;
    await db('storage_accounts').where({ customer_id }).update({ tm_delete: '2026-01-01 00:00:00.000000' });
    assert.deepEqual(told(await upload(form('zwei'), { credentials })), [404, 'ACCOUNT_NOT_FOUND']);
    const { username, password } = api.welcome;
    const root = { token: await tokenOf(api, username, password) };
    const opened = await api.request('POST', '/v1.0/storage_accounts', { customer_id }, { credentials: root });
    assert.deepEqual([opened.body['total_file_count'], opened.body['total_file_size']], [1, 4]);
    assert.equal((await at('DELETE', `/customers/${customer_id}`, { credentials: root })).status, 200);
    const row = await db('storage_files')
      .where('id', file['id'] as string)
      .first<Json>();
    assert.notEqual(row['tm_delete'], null);
    await until('the bytes are gone', async () => !(await folder('files')).includes(String(file['id'])));
  });

  it('what a process that died left behind is swept: bytes never kept, and uploads of hours ago', async () => {
    const db = api.database.db;
    const { id } = await made(form('eins'));
    const [ago, ahead] = [-1, 1].map(minutes => fromDate(new Date(Date.now() + minutes * 60_000)));
    const [dead, pending] = [newId(), newId()];
    const row = { customer_id: api.welcome.customer_id, type: 'rag', filename: 'a', filesize: 1, tm_create: ago };
    await db('storage_files').insert([
      { ...row, id: dead, tm_delete: ago },
      { ...row, id: pending, tm_delete: ahead },
    ]);
    await Promise.all([dead, pending].map(name => writeFile(join(api.dataDir, 'files', name), 'a')));
    const uploads = join(api.dataDir, 'uploads');
    await Promise.all(['old', 'new'].map(name => writeFile(join(uploads, name), 'a')));
    await utimes(join(uploads, 'old'), 0, 0);
    const given = { secret: 'x', publicUrl: api.url, folder: api.dataDir };
    const vault = new FolderVault(new Downloads(given));
    const sweeper = storedFileSweep({ db, vault, uploadFolder: uploads, log: pino({ level: 'silent' }) });
    sweeper.start();
    await sweeper.stop();
    const there = await folder('files');
    assert.deepEqual([there.includes(dead), there.includes(pending), there.includes(String(id))], [false, true, true]);
    assert.deepEqual(await folder('uploads'), ['new']);
    await rm(join(uploads, 'new'));
  });
});

describe('stored files in a bucket', function () {
  this.timeout(60_000);
  let bucket: TestBucket;
  let api: TestApi;
  before(async () => {
    bucket = await startBucket();
    api = await startTestApi({ STORAGE_URL: bucket.url() });
  });
  after(async () => {
    await api.stop();
    await bucket.stop();
  });

  it('lie there alone, are fetched from there under their own name, and are removed from there', async () => {
    const bytes = randomBytes(500_000);
    const raw = form(bytes, 'rag', 'Über „uns" (1).pdf');
    const { body: file } = await api.request('POST', '/v1.0/storage_files', undefined, { raw });
    const uri = String(file['uri_download']);
    assert.ok(uri.startsWith(`${bucket.origin}/files/${String(file['id'])}?`), uri);
    const answer = await fetch(uri);
    assert.equal(answer.status, 200, await answer.clone().text());
    assert.deepEqual(Buffer.from(await answer.arrayBuffer()), bytes);
    const disposition = answer.headers.get('content-disposition') ?? '';
    assert.match(
      disposition,
      /^attachment; filename="_ber _uns_ \(1\).pdf"; filename\*=UTF-8''%C3%9Cber.*%281%29\.pdf$/,
    );
    assert.equal(new URL(uri).searchParams.get('X-Amz-Expires'), '604800');
    assert.deepEqual(
      [await readdir(join(api.dataDir, 'uploads')), (await readdir(api.dataDir)).includes('files')],
      [[], false],
    );
    assert.equal((await api.request('DELETE', `/v1.0/storage_files/${String(file['id'])}`)).status, 200);
    await until('the object is gone', async () => (await fetch(uri)).status === 404);
  });

  it('are those of recordings too: they lie there, not with media-app, are led to there, and go with the recording', async () => {
    const { customer_id } = api.welcome;
    const [id, tm_create] = [newId(), timestamp()];
    const of = {
      activeflow_id: newId(),
      reference_type: 'call',
      reference_id: newId(),
      on_end_flow_id: newId(),
    } as const;
    const recording = { ...newRecording({ id, customer_id, tm_create, ...of }), status: 'ended' };
    const names = recordingFiles({ ...of, tm_create });
    const folder = join(api.dataDir, RECORDINGS_FOLDER);
    await mkdir(folder);
    const sound = randomBytes(100_000);
    for (const name of [names.in, names.out, names.mixed]) await writeFile(join(folder, name), sound);
    const facts = { filesize: sound.length, duration: 6, peaks: [] };
    const files = (['in', 'out'] as const).map(direction => ({ filename: names[direction], direction, ...facts }));
    await writeFile(join(folder, names.contents), JSON.stringify({ complete: true, files }));
    await api.database.db('recordings').insert({ id, customer_id, version: 3, data: recording, tm_create });
    api.app.context.recordingFiles.sweep();
    await until('nothing is left with media-app', async () => (await readdir(folder)).length === 0);
    const { body } = await api.request('GET', `/v1.0/recordings/${id}/playfiles`);
    const played = body as unknown as { uri_download: string }[];
    const url = `${api.url}/v1.0/recordingfiles/${id}?accesskey=${api.welcome.accesskey}`;
    const location = (await fetch(url, { redirect: 'manual' })).headers.get('location') ?? '';
    const links = [...played.map(({ uri_download }) => uri_download), location];
    assert.equal(links.length, 3);
    for (const link of links) {
      assert.ok(link.startsWith(`${bucket.origin}/files/`), link);
      assert.deepEqual(Buffer.from(await (await fetch(link)).arrayBuffer()), sound);
    }
    assert.equal((await api.request('DELETE', `/v1.0/recordings/${id}`)).status, 200);
    for (const link of links) await until('the object is gone', async () => (await fetch(link)).status === 404);
    assert.deepEqual(await readdir(join(api.dataDir, 'uploads')), []);
  });

  it('are fetched by the link as it was signed, and by no other', async () => {
    const send = (filename: string) =>
      api.request('POST', '/v1.0/storage_files', undefined, { raw: form('geheim', 'rag', filename) });
    const [{ body: file }, { body: other }] = [await send('a.txt'), await send('b.txt')];
    const uri = String(file['uri_download']);
    const signature = new URL(uri).searchParams.get('X-Amz-Signature') ?? '';
    const CHANGED: [what: string, from: string, to: string][] = [
      ['the file', String(file['id']), String(other['id'])],
      ['its name', 'a.txt', 'a.html'],
      ['how long it is good for', 'X-Amz-Expires=604800', 'X-Amz-Expires=604801'],
      ['the signature', signature, signature.replace(/^./, first => (first === '0' ? '1' : '0'))],
      ['no signature', `X-Amz-Signature=${signature}`, ''],
    ];
    assert.equal((await fetch(uri)).status, 200);
    for (const [what, from, to] of CHANGED) {
      assert.ok(uri.includes(from), what);
      assert.equal((await fetch(uri.replaceAll(from, to))).status, 403, what);
    }
    assert.equal((await fetch(uri, { method: 'DELETE' })).status, 403, 'a link to read deletes nothing');
  });

  const REFUSED: [name: string, keys: { key?: string; secret?: string }][] = [
    ['a key that it does not know', { key: 'nobody' }],
    ['a wrong secret', { secret: 'guessed' }],
  ];
  for (const [name, keys] of REFUSED)
    it(`that the bucket does not take for ${name} are not kept, and may be sent again`, async () => {
      const closed = await startTestApi({ STORAGE_URL: bucket.url(keys) });
      try {
        const headers = { 'Idempotency-Key': newId() };
        const send = () => closed.request('POST', '/v1.0/storage_files', undefined, { raw: form('eins'), headers });
        for (const answer of [await send(), await send()]) assert.deepEqual(told(answer), [503, 'SERVICE_UNAVAILABLE']);
        assert.deepEqual((await closed.request('GET', '/v1.0/storage_files')).body['result'], []);
        const account = (await closed.request('GET', '/v1.0/storage_account')).body;
        assert.deepEqual([account['total_file_count'], account['total_file_size']], [0, 0]);
      } finally {
        await closed.stop();
      }
    });
});
