import { strict as assert } from 'node:assert';
import { migrate } from '../../../control-api/migrations/index.ts';
import { testDatabase, type TestDatabase } from '../../support/database.ts';

describe('the database', () => {
  let database: TestDatabase;
  before(async function () {
    this.timeout(60_000);
    database = await testDatabase();
  });
  after(() => database.drop());

  it('gives a timestamp back exactly as it was written, to the microsecond and in UTC', async () => {
    const written = '2026-11-21 12:34:56.000789';
    await database.db.raw('create table moments (at timestamptz)');
    await database.db('moments').insert({ at: written });
    const row = await database.db('moments').first<{ at: string }>('at');
    assert.equal(row.at, written);
  });

  it('runs each migration once', async () => {
    assert.deepEqual(await migrate(database.db), []);
  });
});
