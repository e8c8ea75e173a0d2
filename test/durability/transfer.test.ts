import { strict as assert } from 'node:assert';
import pg from 'pg';
import { eventually } from '../support/eventually.ts';
import { Office } from '../support/office.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { addExtensions, HZ, Transfers } from '../support/transfers.ts';

describe('media-app killed during transfers', function () {
  this.timeout(90_000);
  let stack: Stack;
  let office: Office;

  before(async () => {
    stack = await startStack();
    await addExtensions(stack);
    office = new Office(stack);
  });
  afterEach(() => office.close());
  after(() => stack.stop());

  it('ends the transfer and all its calls truthfully, and nothing is left', async () => {
    const transfers = new Transfers(office);
    const { alice, bob, carol } = await transfers.phones('alice', 'bob', 'carol');
    const talk = await transfers.talk(alice, bob);
    const made = await transfers.begin('attended', talk.records.caller, carol);
    const incoming = await carol.waitForCall();
    incoming.answer();
    await talk.caller.hearsOnly([HZ.carol]);
    const [mediaApp] = stack.processes.mediaApp;
    await mediaApp?.kill9();
    await mediaApp?.restart();
    for (const { id } of Object.values(talk.records)) {
      const { hangup_by, hangup_reason } = await office.ended(id, 12_000);
      assert.deepEqual([hangup_by, hangup_reason], ['local', 'failed']);
    }
    const client = new pg.Client({ connectionString: stack.databaseUrl });
    await client.connect();
    const look = async () =>
      (
        await client.query<{ status: string }>("select data ->> 'status' as status from transfers where id = $1", [
          made.id,
        ])
      ).rows[0]?.status;
    await eventually('a failed transfer', look, status => status === 'failed').finally(() => client.end());
    await Promise.all([talk.caller, talk.callee, incoming].map(call => call.ended()));
    await stack.healthy();
    await office.nothingLeft();
  });
});
