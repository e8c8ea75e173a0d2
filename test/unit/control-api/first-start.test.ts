import { strict as assert } from 'node:assert';
import { mkdir, mkdtemp, readFile, rename, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Welcome } from '#contract/welcome';
import { firstStart, type FirstStart } from '../../../control-api/first-start.ts';
import { testDatabase, type TestDatabase } from '../../support/database.ts';

describe('the first start', () => {
  let database: TestDatabase;
  let given: FirstStart;
  const path = (): string => join(given.dataDir, 'welcome.json');
  beforeEach(async function () {
    this.timeout(60_000);
    database = await testDatabase();
    const dataDir = await mkdtemp(join(tmpdir(), 'trunkline-first-'));
    given = { db: database.db, dataDir, sipDomain: 'example.org', publicUrl: 'http://127.0.0.1:1' };
  });
  afterEach(async () => {
    await database.drop();
    await rm(given.dataDir, { recursive: true, force: true });
  });
  const onDisk = async (): Promise<Welcome> => JSON.parse(await readFile(path(), 'utf8')) as Welcome;

  it('happens once, and later starts leave the file alone', async () => {
    const made = await firstStart(given);
    assert.deepEqual(await onDisk(), made);
    assert.equal(await firstStart(given), undefined);
    assert.deepEqual(await onDisk(), made);
  });

  it('happens once even when two processes start together', async () => {
    const both = await Promise.all([firstStart(given), firstStart(given)]);
    assert.equal(both.filter(Boolean).length, 1);
    assert.equal((await database.db('customers').count<{ n: number }[]>({ n: '*' }))[0]?.n, 1);
  });

  it('that was killed between the rows and the file is completed by the next start', async () => {
    const made = await firstStart(given);
    await rename(path(), `${path()}.new`);
    assert.equal(await firstStart(given), undefined);
    assert.deepEqual(await onDisk(), made);
  });

  it('leaves no account behind when the file cannot be written', async () => {
    await mkdir(`${path()}.new`);
    await assert.rejects(firstStart(given));
    assert.equal((await database.db('customers').count<{ n: number }[]>({ n: '*' }))[0]?.n, 0);
    await rmdir(`${path()}.new`);
    assert.ok(await firstStart(given));
  });
});
