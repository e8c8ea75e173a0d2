import { strict as assert } from 'node:assert';
import { accesskeys } from '../../../control-api/resources/accesskeys.ts';
import { agents } from '../../../control-api/resources/agents.ts';
import { ais, participants, promptHistories } from '../../../control-api/resources/ai-store.ts';
import {
  campaigncalls,
  campaigns,
  outdials,
  outdialTargets,
  outplans,
} from '../../../control-api/resources/campaign-store.ts';
import { billingAccounts } from '../../../control-api/resources/billing-accounts.ts';
import { billings } from '../../../control-api/resources/billings.ts';
import { contactAddresses, contacts } from '../../../control-api/resources/contact-store.ts';
import { conversationAccounts } from '../../../control-api/resources/conversation-accounts.ts';
import { extensions } from '../../../control-api/resources/extensions.ts';
import { flows } from '../../../control-api/resources/flow-store.ts';
import { numbers } from '../../../control-api/resources/numbers.ts';
import { providers } from '../../../control-api/resources/providers.ts';
import { queues } from '../../../control-api/resources/queues.ts';
import { rags } from '../../../control-api/resources/rag-store.ts';
import { storageAccounts } from '../../../control-api/resources/storage-accounts.ts';
import { storageFiles } from '../../../control-api/resources/storage-files.ts';
import { tags } from '../../../control-api/resources/tags.ts';
import { teams } from '../../../control-api/resources/teams.ts';
import { trunks } from '../../../control-api/resources/trunks.ts';
import { webchatWidgets } from '../../../control-api/resources/webchat-widgets.ts';
import { testDatabase, type TestDatabase } from '../../support/database.ts';

/** Columns that nobody is shown. */
const HIDDEN: Record<string, string[]> = {
  accesskeys: ['token_hash'],
  ai_participants: ['id', 'customer_id', 'tm_update', 'tm_delete'],
  ai_prompt_histories: ['tm_update', 'tm_delete'],
  conversation_accounts: ['secret', 'token', 'app_secret'],
  outdial_targets: ['customer_id'],
  agents: ['password'],
  billing_accounts: ['status'],
  contact_addresses: ['tm_update', 'tm_delete'],
  flows: ['persistent', 'tm_expire'],
  numbers: ['carrier', 'carrier_reference'],
  storage_files: ['removed'],
};

/** What lies in another table. */
const ELSEWHERE: Record<string, string[]> = {
  contacts: ['addresses'],
  extensions: ['registered', 'contacts', 'tm_last_seen'],
  rags: ['status', 'sources'],
  storage_files: ['uri_download', 'tm_download_expire'],
};

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
    ais,
    campaigncalls,
    campaigns,
    billingAccounts,
    billings,
    contactAddresses,
    contacts,
    conversationAccounts,
    extensions,
    flows,
    numbers,
    outdials,
    outdialTargets,
    outplans,
    participants,
    promptHistories,
    providers,
    queues,
    rags,
    storageAccounts,
    storageFiles,
    tags,
    teams,
    trunks,
    webchatWidgets,
  ];
  for (const resource of resources)
    it(`${resource.table} has exactly the columns that ${resource.title} shows, and the hidden ones`, async () => {
      const columns = Object.keys(await database.db(resource.table).columnInfo());
      const shown = Object.keys(resource.schema.shape).filter(name => !ELSEWHERE[resource.table]?.includes(name));
      const expected = [...shown, ...(HIDDEN[resource.table] ?? [])];
      assert.deepEqual(columns.sort(), expected.sort());
    });
});
