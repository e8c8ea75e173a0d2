import { strict as assert } from 'node:assert';
import { USD } from '#contract/billing';
import type { Call } from '#contract/call';
import { fromDate } from '#contract/time';
import { CALLEE, invites, tel, waiting, withCallsOut, type CallsOut, type Placed } from '../support/calls-out.ts';
import { inviteHeader, OWN_NUMBER, type CarrierDesk } from '../support/carrier.ts';
import { eventually } from '../support/eventually.ts';
import type { Office } from '../support/office.ts';
import { startStack, superAdmin, type Stack } from '../support/stack.ts';

/** The ceilings of an account, as this stack is set. */
const MOST_CALLS = 8;
const MOST_DOLLARS = 5;

const hoursAgo = (hours: number): string => fromDate(new Date(Date.now() - hours * 3_600_000));

describe('who may call the world, and whom (accounts-and-plumbing 24, 25)', function () {
  this.timeout(60_000);
  let stack: Stack;
  let desk: CarrierDesk;
  let office: Office;
  let out: CallsOut;

  withCallsOut(
    (...opened) => {
      [office, desk, out] = opened;
      stack = office.stack;
    },
    () =>
      startStack({
        env: { CUSTOMER_MAX_CALLS: String(MOST_CALLS), CUSTOMER_MAX_SPEND_PER_DAY: String(MOST_DOLLARS) },
      }),
  );

  describe('what is refused before anybody is dialled', () => {
    const rows: [title: string, body: Record<string, unknown>, status: number, reason: string, message: RegExp][] = [
      ['a country that is not listed', { destinations: [tel('+33140000000')] }, 403, 'PERMISSION_DENIED', /FR/],
      ['a neighbour under the same code', { destinations: [tel('+14165550123')] }, 403, 'PERMISSION_DENIED', /CA/],
      ['a number of no country', { destinations: [tel('+881612345678')] }, 403, 'PERMISSION_DENIED', /no country/],
      ['a source of somebody else', { source: tel('+493055500199') }, 400, 'INVALID_ARGUMENT', /source/],
      ['a virtual source', { source: tel('+899123456781') }, 400, 'INVALID_ARGUMENT', /source/],
    ];
    for (const [title, body, status, reason, message] of rows)
      it(`${title}: ${reason}`, async () => {
        const carrier = await desk.carrier();
        await desk.routes([carrier]);
        const answer = await out.place(body);
        assert.deepEqual([answer.status, answer.body.error?.reason], [status, reason]);
        assert.match(answer.body.error?.message ?? '', message);
        assert.equal(invites(carrier), 0);
      });

    it('the default number stands in for a source that is none, name and all', async () => {
      const carrier = await desk.carrier({ refuse: 486 });
      await desk.routes([carrier]);
      const id = await desk.number('+493055500101');
      await desk.db.query('UPDATE outbound_configs SET default_outgoing_source_number_id = $1', [id]);
      const call = await out.placed({ source: { type: 'extension', target: '1001', target_name: 'Desk' } });
      await desk.standDown();
      assert.deepEqual(
        [call.source.type, call.source.target, call.source.target_name],
        ['tel', '+493055500101', '+493055500101'],
      );
      assert.match((await inviteHeader(carrier, 'from')) ?? '', /^"\+493055500101" <sip:\+493055500101@/);
      await office.ended(call.id);
    });

    it('a withheld call whose source is no number is refused: the carrier could not be told who calls', async () => {
      const carrier = await desk.carrier();
      const provider_id = await desk.provider(carrier);
      const source = { type: 'extension', target: '1001' };
      const body = { provider_id, source, destinations: [tel(CALLEE)], actions: waiting, anonymous: 'yes' };
      const answer = await stack.api<Placed>('POST', '/providercalls', body, await superAdmin(stack));
      assert.deepEqual([answer.status, answer.body.error?.reason], [400, 'INVALID_ARGUMENT']);
      assert.match(answer.body.error?.message ?? '', /withheld call needs a source/);
      assert.equal(invites(carrier), 0);
    });

    it('the checks come in their order (25.6): identity, balance, config, country, route, source', async () => {
      await desk.db.query("UPDATE customers SET identity_verification_status = 'none' WHERE home");
      await desk.db.query("UPDATE billing_accounts SET plan_type = 'free', balance_token = 0, balance_credit = 0");
      await desk.db.query("UPDATE outbound_configs SET tm_delete = now(), destination_whitelist = '[]'");
      const repairs: [reason: string, message: RegExp, sql: string][] = [
        ['IDENTITY_VERIFICATION_REQUIRED', /identity/, "UPDATE customers SET identity_verification_status = 'verified' WHERE home"],
        ['INSUFFICIENT_BALANCE', /./, "UPDATE billing_accounts SET plan_type = 'unlimited'"],
        ['PERMISSION_DENIED', /outbound config/, 'UPDATE outbound_configs SET tm_delete = null'],
        ['PERMISSION_DENIED', /US/, `UPDATE outbound_configs SET destination_whitelist = '["de", "us"]'`],
      ]; // prettier-ignore
      const told = async (): Promise<[string, string]> => {
        const { error } = (await out.place({ source: tel('+493055500199') })).body;
        return [error?.reason ?? '', error?.message ?? ''];
      };
      for (const [reason, message, sql] of repairs) {
        const [found, words] = await told();
        await desk.db.query(sql);
        assert.equal(found, reason);
        assert.match(words, message);
      }
      assert.match((await told())[1], /No route/);
      await desk.routes([await desk.carrier()]);
      assert.match((await told())[1], /active normal number/);
    });

    it('an account without outbound config calls nobody, not even its own phones', async () => {
      await desk.db.query('UPDATE outbound_configs SET tm_delete = now()');
      const answer = await out.place({ destinations: [{ type: 'sip', target: 'sip:a@127.0.0.1' }] });
      await desk.db.query('UPDATE outbound_configs SET tm_delete = null');
      assert.deepEqual([answer.status, answer.body.error?.reason], [403, 'PERMISSION_DENIED']);
    });
  });

  describe('ceilings', () => {
    it('an account has so many calls to the world at a time; more are refused with their reason, to API and phone', async () => {
      const carrier = await desk.carrier();
      await desk.routes([carrier]);
      await desk.standIn(OWN_NUMBER);
      const calls = await Promise.all(Array.from({ length: MOST_CALLS }, () => out.placed()));
      const answer = await out.place();
      assert.deepEqual([answer.status, answer.body.error?.reason], [429, 'RESOURCE_LIMIT_EXCEEDED']);
      assert.match(answer.body.error?.message ?? '', new RegExp(`${MOST_CALLS} calls`));
      const phone = await office.phone('1001');
      assert.equal((await (await phone.dial(CALLEE)).ended()).status, 503);
      await out.hangUp(calls[0] as Call);
      calls[0] = await out.placed(); // there is room again
      await Promise.all(calls.map(call => out.hangUp(call)));
      await desk.standDown();
    });

    const spent: [title: string, entry: Record<string, unknown>, refused: boolean][] = [
      ['an entry of so much', { amount_credit: -MOST_DOLLARS * USD }, true],
      ['a call that has run up so much', { status: 'progressing', rate_credit_per_unit: MOST_DOLLARS * USD }, true],
      ['so much the day before', { amount_credit: -MOST_DOLLARS * USD, tm_create: hoursAgo(25) }, false],
      ['so much for something else', { amount_credit: -MOST_DOLLARS * USD, cost_type: 'sms' }, false],
    ];
    for (const [title, entry, refused] of spent)
      it(`an account spends so much on telephones in 24 hours; ${title} ${refused ? 'is told to API and phone' : 'is no reason'}`, async () => {
        const carrier = await desk.carrier();
        await desk.routes([carrier]);
        await desk.standIn(OWN_NUMBER);
        const id = await desk.spend(entry);
        try {
          const answer = await out.place();
          if (!refused) return void (await out.hangUp(answer.body.calls[0] as Call));
          assert.deepEqual([answer.status, answer.body.error?.reason], [429, 'RESOURCE_LIMIT_EXCEEDED']);
          assert.match(answer.body.error?.message ?? '', new RegExp(`${MOST_DOLLARS} dollars in 24 hours`));
          const phone = await office.phone('1001');
          assert.equal((await (await phone.dial(CALLEE)).ended()).status, 503);
          const [call] = await office.calls(1);
          await eventually(
            'the note',
            () => stack.api<{ result: { event_type: string; data: { sentence?: string } }[] }>('GET', `/timelines/calls/${call?.id}/events`),
            ({ body }) => body.result.some(({ event_type, data }) => event_type === 'destination_rejected' && /dollars in 24 hours/.test(data.sentence ?? '')),
          ); // prettier-ignore
          assert.equal(invites(carrier), 0);
        } finally {
          await desk.db.query('DELETE FROM billings WHERE id = $1', [id]);
          await desk.standDown();
        }
      });

    it('an account that cannot pay calls nobody', async () => {
      const carrier = await desk.carrier();
      await desk.routes([carrier]);
      await desk.db.query('UPDATE billing_accounts SET plan_type = $1, balance_token = 0, balance_credit = 0', [
        'free',
      ]);
      const answer = await out.place();
      await desk.db.query('UPDATE billing_accounts SET plan_type = $1', ['unlimited']);
      assert.deepEqual([answer.status, answer.body.error?.reason], [402, 'INSUFFICIENT_BALANCE']);
      assert.equal(invites(carrier), 0);
    });

    it('a provider that is full, or asked too fast, is passed over', async () => {
      const [one, fast, rest] = [await desk.carrier(), await desk.carrier(), await desk.carrier()];
      await desk.routes([one, { max_calls: 1 }], [fast, { max_calls_per_second: 1 }], [rest]);
      const calls = [await out.placed()];
      await one.waitForCall();
      calls.push(await out.placed(), await out.placed());
      await rest.waitForCall();
      assert.deepEqual([invites(one), invites(fast), invites(rest)], [1, 1, 1]);
      await Promise.all(calls.map(call => out.hangUp(call)));
      const again = await out.placed();
      await one.waitForCall(); // the place is free again
      await out.hangUp(again);
    });
  });

  describe('virtual numbers (25.3)', () => {
    const insideOf = async (call: Call): Promise<Call> => {
      const side = (calls: Call[]) =>
        calls.find(one => one.direction === 'incoming' && one.tm_create! > call.tm_create!);
      const calls = await eventually(
        'the call that comes in',
        () => office.calls(3),
        seen => side(seen) !== undefined,
      );
      return side(calls) as Call;
    };

    it('are reached inside the house: a call at each end, heard, and each ends with the other', async () => {
      const actions = [
        { type: 'answer', option: {} },
        { type: 'play', option: { stream_urls: ['tone_stream://%(20000,0,900)'] } },
      ];
      const flow = await stack.api<{ id: string }>('POST', '/flows', { name: 'Tone', actions });
      await desk.number('+899123450009', { type: 'virtual', call_flow_id: flow.body.id });
      const phone = await desk.carrier({ autoAnswer: true });
      const hear = { type: 'connect', option: { source: tel(OWN_NUMBER), destinations: [tel('+899123450009')] } };
      const call = await out.placed({ destinations: [{ type: 'sip', target: phone.address }], actions: [hear] });
      const theirs = await phone.waitForCall();
      await theirs.hears(900);
      const inside = await insideOf(call);
      assert.deepEqual(
        [inside.flow_id, inside.source.target, inside.status],
        [flow.body.id, OWN_NUMBER, 'progressing'],
      );
      await theirs.hangup();
      assert.deepEqual(
        [(await office.ended(inside.id)).hangup_by, (await office.ended(call.id)).hangup_by],
        ['remote', 'remote'],
      );
    });

    it('that nobody has fail as unallocated, and flows that call each other in a circle come to an end', async () => {
      const ended = await office.ended((await out.placed({ destinations: [tel('+899123456780')] })).id);
      assert.equal(ended.hangup_reason, 'failed');
      const circle = { type: 'connect', option: { source: tel(OWN_NUMBER), destinations: [tel('+899123450010')] } };
      const flow = await stack.api<{ id: string }>('POST', '/flows', { name: 'Circle', actions: [circle] });
      await desk.number('+899123450010', { type: 'virtual', call_flow_id: flow.body.id });
      const first = await out.placed({ destinations: [tel('+899123450010')] });
      await office.ended(first.id);
    });
  });

  describe('provider calls (24)', () => {
    it('go through their provider alone, with any source; they are listed by provider and deleted', async () => {
      const headers = await superAdmin(stack);
      const [named, other] = [await desk.carrier({ refuse: 503 }), await desk.carrier()];
      const provider_id = await desk.provider(named);
      await desk.routes([other]);
      const body = { provider_id, source: tel('+493099999999'), destinations: [tel(CALLEE)], actions: waiting };
      const made = await stack.api<{ id: string; call_ids: string[] }>('POST', '/providercalls', body, headers);
      assert.equal(made.status, 200, JSON.stringify(made.body));
      const [id] = made.body.call_ids;
      assert.equal((await office.ended(id ?? '')).hangup_reason, 'failed');
      assert.equal(await inviteHeader(named, 'p-asserted-identity'), '<tel:+493099999999>');
      assert.equal(invites(other), 0);
      const listed = await stack.api<{ result: { id: string }[] }>(
        'GET',
        `/providercalls?provider_id=${provider_id}`,
        undefined,
        headers,
      );
      assert.deepEqual(
        listed.body.result.map(one => one.id),
        [made.body.id],
      );
      assert.equal((await stack.api('DELETE', `/providercalls/${made.body.id}`, undefined, headers)).status, 200);
      assert.equal((await stack.api('GET', `/providercalls/${made.body.id}`, undefined, headers)).status, 404);
      const french = await stack.api(
        'POST',
        '/providercalls',
        { ...body, destinations: [tel('+33140000000')] },
        headers,
      );
      assert.equal(french.status, 403);
    });
  });
});
