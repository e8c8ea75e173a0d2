import { strict as assert } from 'node:assert';
import pg from 'pg';
import type { Call } from '#contract/call';
import type { Groupcall } from '#contract/groupcall';
import { eventually } from '../support/eventually.ts';
import { Office } from '../support/office.ts';
import type { TestPhone } from '../support/phone.ts';
import { sharedStack, type Stack } from '../support/stack.ts';

interface Placed {
  calls: Call[];
  groupcalls: Groupcall[];
  error?: { reason: string; message: string };
}

const extension = (number: string) => ({ type: 'extension', target: number, target_name: number });
const sip = (phone: TestPhone) => ({ type: 'sip', target: phone.address });
const waiting = [{ type: 'sleep', option: { duration: 60_000 } }];

describe('placing and taking calls (voice-and-flows 9)', function () {
  this.timeout(60_000);
  let stack: Stack;
  let office: Office;
  let db: pg.Client;

  before(async () => {
    stack = await sharedStack();
    db = new pg.Client({ connectionString: stack.databaseUrl });
    await db.connect();
  });
  beforeEach(() => {
    office = new Office(stack);
  });
  afterEach(async () => {
    await office.close();
    await office.nothingLeft();
  });
  after(() => db.end());

  const place = async (destinations: unknown[], more = {}): Promise<{ status: number; body: Placed }> => {
    const source = { type: 'tel', target: stack.welcome.number, target_name: 'Head Office' };
    return stack.api<Placed>('POST', '/calls', { source, destinations, actions: waiting, ...more });
  };
  const hangUp = (calls: Call[]) => Promise.all(calls.map(({ id }) => office.ended(id)));
  const header = async (phone: TestPhone, name: string): Promise<string | undefined> => {
    const { message } = await phone.message('INVITE', { direction: 'received' });
    return message.headers.find(one => one.name.toLowerCase() === name)?.value;
  };

  /** The agent of the first start gets addresses, and loses them again. */
  const withAgent = async (ring_method: string, addresses: unknown[], check: (id: string) => Promise<void>) => {
    const { rows } = await db.query<{ id: string }>(
      'UPDATE agents SET addresses = $1, ring_method = $2 WHERE tm_delete IS NULL RETURNING id',
      [JSON.stringify(addresses), ring_method],
    );
    try {
      await check(rows[0]?.id ?? '');
    } finally {
      await db.query("UPDATE agents SET addresses = '[]', ring_method = 'ringall'");
    }
  };

  const NOT_DIALABLE = ['ai', 'ai_team', 'conference', 'email', 'line', 'webchat', 'web_session', 'whatsapp'];

  it('a destination that cannot be dialled is passed over, and the others ring', async () => {
    const phone = await office.phone('1001', { incoming: { refuse: 486 } });
    const hopeless = [...NOT_DIALABLE.map(type => ({ type, target: 'x' })), extension('1999')];
    const { status, body } = await place([...hopeless, sip(phone)]);
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual([body.calls.length, body.groupcalls.length], [1, 0]);
    await hangUp(body.calls);
  });

  it('when none can be dialled the last one’s reason is the answer', async () => {
    const rows: [unknown[], string][] = [
      ...NOT_DIALABLE.map((type): [unknown[], string] => [[{ type, target: 'x' }], `type ${type}`]),
      [[{ type: 'line', target: 'x' }, extension('1999')], 'no extension 1999'],
      [[extension('1999'), extension('1002')], '1002 is not registered'],
      [[{ type: 'agent', target: 'f0000000-0000-4000-8000-0000000000a9' }], 'no agent'],
      [[{ type: 'agent', target: 'nobody' }], 'no agent'],
      [[{ type: 'sip', target: 'sip:a@b?Route=evil' }], 'not a SIP URI'],
    ];
    await Promise.all(
      rows.map(async ([destinations, words]) => {
        const { status, body } = await place(destinations);
        assert.deepEqual([status, body.error?.reason], [400, 'INVALID_ARGUMENT'], JSON.stringify(destinations));
        assert.ok(body.error?.message.includes(words), `${body.error?.message} should say ${words}`);
      }),
    );
  });

  it('sip is one call, and gets its scheme when it has none', async () => {
    const phone = await office.phone('1001', { incoming: { refuse: 486 } });
    const { body } = await place([{ type: 'sip', target: phone.address.replace('sip:', '') }]);
    const [call] = await hangUp(body.calls);
    assert.deepEqual([call?.destination.target, call?.hangup_reason], [phone.address, 'busy']);
  });

  it('an agent who is rung in a group is rung at every address, and owns the calls', async () => {
    const alice = await office.registered('1001');
    const bob = await office.phone('1002');
    await withAgent('ringall', [extension('1001'), sip(bob)], async id => {
      const { status, body } = await place([{ type: 'agent', target: id }]);
      assert.equal(status, 200, JSON.stringify(body));
      const [groupcall] = body.groupcalls;
      assert(groupcall);
      assert.deepEqual(
        [groupcall.ring_method, groupcall.owner_type, groupcall.owner_id, groupcall.call_count],
        ['ring_all', 'agent', id, 1],
      );
      assert.equal(groupcall.groupcall_count, 1, 'the extension is a groupcall of its own');
      assert.ok(body.calls.every(({ owner_type, owner_id }) => owner_type === 'agent' && owner_id === id));
      const [first, second] = await Promise.all([alice.waitForCall(), bob.waitForCall()]);
      second.answer();
      assert.equal((await first.ended()).by, 'them');
      await second.answered();
      await second.hangup();
      await hangUp(body.calls);
    });
  });

  it('a linear agent is rung at one address after the other', async () => {
    await office.registered('1001', { incoming: { refuse: 486 } });
    const bob = await office.phone('1002');
    await withAgent('linear', [extension('1001'), sip(bob)], async id => {
      const { body } = await place([{ type: 'agent', target: id }]);
      const [groupcall] = body.groupcalls;
      assert.equal(groupcall?.ring_method, 'linear');
      const incoming = await bob.waitForCall();
      incoming.answer();
      await incoming.answered();
      const now = await eventually(
        'the answer',
        async () => (await stack.api<Groupcall>('GET', `/groupcalls/${groupcall?.id}`)).body,
        ({ answer_call_id }) => answer_call_id !== '00000000-0000-0000-0000-000000000000',
      );
      assert.equal(now.dial_index, 1);
      await incoming.hangup();
      await office.ended(now.answer_call_id);
    });
  });

  it('who calls a linear agent talks to the address that answers, and is told busy when all are', async () => {
    const alice = await office.phone('1001', { tone: 500 });
    const busy = await office.phone('1002', { incoming: { refuse: 486 } });
    const bob = await office.phone('1002', { incoming: { autoAnswer: true }, tone: 900 });
    const target = (id: string) => `sip:agent%3A${id}@${stack.welcome.extensions[0]?.domain_name}`;
    await withAgent('linear', [sip(busy), sip(busy), sip(bob), sip(alice)], async id => {
      const out = await alice.dial(target(id));
      const incoming = await bob.waitForCall();
      await Promise.all([out.hearsOnly([900]), incoming.hearsOnly([500])]);
      await out.hangup();
      await incoming.ended();
    });
    await withAgent('linear', [sip(busy), sip(busy)], async id =>
      assert.equal((await (await alice.dial(target(id))).ended()).status, 486),
    );
    assert.equal(busy.messages('INVITE', 'received').length, 4);
  });

  it('an agent’s own number owns calls that come from it', async () => {
    const alice = await office.registered('1001');
    await withAgent('ringall', [extension('1001')], async id => {
      const out = await alice.dial(stack.welcome.number);
      await out.answered();
      const [call] = await office.calls(1);
      assert.deepEqual([call?.direction, call?.owner_type, call?.owner_id], ['incoming', 'agent', id]);
      await out.hangup();
      await office.ended(call?.id ?? '');
    });
  });

  for (const anonymous of ['yes', 'no', 'auto', ''] as const)
    it(`to a SIP URI the caller is shown whatever anonymous says ("${anonymous}")`, async () => {
      const phone = await office.phone('1001', { incoming: { refuse: 486 } });
      const { body } = await place([sip(phone)], { anonymous });
      assert.equal(
        (await header(phone, 'from'))?.split(';')[0],
        `"Head Office" <sip:${stack.welcome.number}@trunkline.Localhost>`,
      );
      assert.equal(await header(phone, 'privacy'), undefined);
      await hangUp(body.calls);
    });

  for (const privacy of ['id', 'none'] as const)
    it(`a colleague who calls with Privacy: ${privacy} is ${privacy === 'id' ? 'nobody' : 'shown'} to whom it calls`, async () => {
      const alice = await office.registered('1001');
      const bob = await office.registered('1002', { incoming: { refuse: 486 } });
      const out = await alice.dial('1002', [{ name: 'Privacy', value: privacy }]);
      await out.ended();
      const from = (await header(bob, 'from'))?.split(';')[0];
      if (privacy === 'id') assert.equal(from, '"Anonymous" <sip:anonymous@anonymous.invalid>');
      else assert.match(from ?? '', /<sip:1001@/);
      assert.equal(await header(bob, 'privacy'), privacy === 'id' ? 'id' : undefined);
      const caller = (await office.calls(2)).find(one => one.direction === 'incoming');
      assert.equal(caller?.source.target, '1001', 'the house knows who calls');
      await hangUp(await office.calls(2));
    });

  it('a stranger who names nobody is stored as anonymous, and rings so', async () => {
    const stranger = await office.phone('1001', { username: 'anonymous', domain: 'anonymous.invalid' });
    const out = await stranger.dial(`sip:${stack.welcome.number}@sip.trunkline.localhost`);
    await out.answered();
    const [call] = await office.calls(1);
    assert.deepEqual([call?.source.type, call?.source.target], ['tel', 'anonymous']);
    await out.hangup();
    await office.ended(call?.id ?? '');
  });

  /** accounts-and-plumbing 5 and 20.3. */
  const STATUSES: [status: string, incoming: number, outgoing: number, reason: string][] = [
    ['initial', 200, 403, 'PERMISSION_DENIED'],
    ['frozen', 500, 403, 'ACCOUNT_FROZEN'],
    ['expired', 500, 403, 'ACCOUNT_EXPIRED'],
  ];
  for (const [status, incoming, outgoing, reason] of STATUSES)
    it(`an account that is ${status}: calls that come in are answered ${incoming}, POST /calls ${reason}`, async () => {
      const phone = await office.phone('1001');
      const before = (await office.calls(1))[0]?.id;
      await db.query('UPDATE customers SET status = $1 WHERE home', [status]);
      try {
        const out = await phone.dial(`sip:${stack.welcome.number}@sip.trunkline.localhost`);
        if (incoming === 200) {
          await out.answered();
          await out.hangup();
        } else {
          const end = await out.ended();
          assert.deepEqual([end.by, end.status], ['refused', incoming]);
        }
        const placed = await place([sip(phone)]);
        assert.deepEqual([placed.status, placed.body.error?.reason], [outgoing, reason]);
      } finally {
        await db.query("UPDATE customers SET status = 'active' WHERE home");
      }
      const after = (await office.calls(1))[0]?.id;
      if (incoming === 200) await office.ended(after ?? '');
      else assert.equal(after, before, 'no record of a refused call');
    });

  it('links a chained call to its master, ends it with the master, and not the other way round', async () => {
    const [alice, bob, carol] = [
      await office.phone('1001', { incoming: { autoAnswer: true } }),
      await office.phone('1002', { incoming: { autoAnswer: true } }),
      await office.phone('1002', { incoming: { autoAnswer: true } }),
    ];
    const chain = (phone: TestPhone, chained: boolean) => ({
      type: 'call',
      option: { destinations: [sip(phone)], actions: waiting, chained },
    });
    const { body } = await place([sip(alice)], { actions: [chain(bob, true), chain(carol, false), ...waiting] });
    const [master] = body.calls;
    assert(master);
    const [bobs, carols] = await Promise.all([bob.waitForCall(), carol.waitForCall()]);
    await Promise.all([bobs.answered(), carols.answered()]);
    const linked = await eventually(
      'the link',
      () => office.call(master.id),
      ({ chained_call_ids }) => chained_call_ids.length === 1,
    );
    const [chainedId = ''] = linked.chained_call_ids;
    assert.equal((await office.call(chainedId)).master_call_id, master.id);
    await (await alice.waitForCall()).hangup();
    const chained = await office.ended(chainedId);
    assert.deepEqual([chained.hangup_by, chained.hangup_reason], ['local', 'normal']);
    assert.equal(carols.state, 'answered', 'who is not chained stays');
    await carols.hangup();
    await hangUp(await office.calls(3));
  });

  it('the end of a chained call leaves its master up', async () => {
    const alice = await office.phone('1001', { incoming: { autoAnswer: true } });
    const bob = await office.phone('1002', { incoming: { refuse: 486 } });
    const call = { type: 'call', option: { destinations: [sip(bob)], actions: waiting, chained: true } };
    const { body } = await place([sip(alice)], { actions: [call, ...waiting] });
    const [master] = body.calls;
    const linked = await eventually(
      'the link',
      () => office.call(master?.id ?? ''),
      ({ chained_call_ids }) => chained_call_ids.length === 1,
    );
    assert.equal((await office.ended(linked.chained_call_ids[0] ?? '')).hangup_reason, 'busy');
    assert.equal((await office.call(linked.id)).status, 'progressing');
    await (await alice.waitForCall()).hangup();
    await office.ended(linked.id);
  });
});
