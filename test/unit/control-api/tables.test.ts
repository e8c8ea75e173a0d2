import { strict as assert } from 'node:assert';
import { accesskeys } from '../../../control-api/resources/accesskeys.ts';
import { agents } from '../../../control-api/resources/agents.ts';
import { contactAddresses, contacts } from '../../../control-api/resources/contact-store.ts';
import { extensions } from '../../../control-api/resources/extensions.ts';
import { flows } from '../../../control-api/resources/flow-store.ts';
import { numbers } from '../../../control-api/resources/numbers.ts';
import { providers } from '../../../control-api/resources/providers.ts';
import { tags } from '../../../control-api/resources/tags.ts';
import { trunks } from '../../../control-api/resources/trunks.ts';
import { testDatabase, type TestDatabase } from '../../support/database.ts';

/** Columns that nobody is shown. */
const HIDDEN: Record<string, string[]> = {
  accesskeys: ['token_hash'],
  agents: ['password'],
  contact_addresses: ['tm_update', 'tm_delete'],
  flows: ['persistent', 'tm_expire'],
  numbers: ['carrier', 'carrier_reference'],
};

/** What lies in another table. */
const ELSEWHERE: Record<string, string[]> = { contacts: ['addresses'] };

describe('tables and schemas', () => {
  let database: TestDatabase;
  before(async function () {
    this.timeout(60_000);
    database = await testDatabase();
  });
  after(() => database.drop());

  const resources = [
    accesskeys,
    agents,
    contactAddresses,
    contacts,
    extensions,
    flows,
    numbers,
    providers,
    tags,
    trunks,
  ];
  for (const resource of resources)
    it(`${resource.table} has exactly the columns that ${resource.title} shows, and the hidden ones`, async () => {
      const columns = Object.keys(await database.db(resource.table).columnInfo());
      const shown = Object.keys(resource.schema.shape).filter(name => !ELSEWHERE[resource.table]?.includes(name));
      const expected = [...shown, ...(HIDDEN[resource.table] ?? [])];
      assert.deepEqual(columns.sort(), expected.sort());
    });
});
