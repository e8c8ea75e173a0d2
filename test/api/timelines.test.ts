import { strict as assert } from 'node:assert';
import { Redis } from 'ioredis';
import type { Call } from '#contract/call';
import { newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import type { CallTrace, SipMessageRecord, TimelineNote } from '#contract/timeline';
import { reasonOf, apiOfTests, type Answer } from '../support/api.ts';
import { aCall, addCustomer, callEntry, countOf, eventually, report } from './events-rig.ts';

type Json = Record<string, unknown>;
const resultOf = (answer: Answer): Json[] => answer.body['result'] as Json[];
const typesOf = (answer: Answer): unknown[] => resultOf(answer).map(entry => entry['event_type']);

const invite = (given: Partial<SipMessageRecord> = {}): SipMessageRecord => ({
  id: newId(),
  timestamp: timestamp(),
  direction: 'sent',
  transport: 'udp',
  method: 'INVITE',
  src_ip: '192.0.2.1',
  src_port: 5060,
  dst_ip: '192.0.2.2',
  dst_port: 5062,
  raw: 'INVITE sip:1001@192.0.2.2 SIP/2.0\r\nCall-ID: a\r\nContent-Length: 0\r\n\r\n',
  ...given,
});

const traceOf = (call: Call, messages: SipMessageRecord[], media: CallTrace['media'] = null): string =>
  JSON.stringify({
    kind: 'call_trace',
    call_id: call.id,
    customer_id: call.customer_id,
    sip_messages: messages,
    media,
  } satisfies CallTrace);

const facts = {
  codec: 'PCMU',
  first_audio: null,
  mos: 4.41,
  jitter_ms: 1.6,
  packet_loss_pct: 0.25,
  packets_received: 100,
  packets_sent: 90,
  bytes_received: 16_000,
  bytes_sent: 14_400,
  packets_skipped: 2,
  rtcp_packets: 3,
  rtcp_bytes: 240,
};

const summary = (call: Call): TimelineNote => ({
  id: newId(),
  event_type: 'call_summary',
  timestamp: timestamp(),
  data: { call_id: call.id, sentence: 'extension 1001 hung up after 3.0 s.' },
});

describe('timelines', function () {
  this.timeout(30_000);
  const api = apiOfTests();
  let redis: Redis;
  before(() => void (redis = new Redis(api.redisUrl)));
  after(() => redis.disconnect());

  const get = (path: string): Promise<Answer> => api.request('GET', `/v1.0${path}`);
  const projected = async (table: string, where: Json): Promise<void> =>
    eventually(`${table} is written`, async () => (await api.database.db(table).where(where).first()) !== undefined);

  /** A call with a story: three events, its end with a summary, two SIP messages and media facts. */
  const tell = async (given: Partial<Call> = {}): Promise<Call> => {
    const call = aCall(api.welcome.customer_id, { activeflow_id: newId(), ...given });
    await report(redis, callEntry(call, 1, ['call_created']), traceOf(call, [invite(), invite({ method: '200' })]));
    await report(redis, callEntry({ ...call, status: 'ringing' }, 2, ['call_ringing']));
    const over = { ...call, status: 'hangup' as const };
    await report(redis, { ...callEntry(over, 3, ['call_hangup']), notes: [summary(call)] });
    await report(redis, traceOf(call, [], { timestamp: timestamp(), facts }));
    await projected('call_media', { call_id: call.id });
    return call;
  };

  it('lists what happened to a call newest first, with why it ended on top', async () => {
    const call = await tell();
    const answer = await get(`/timelines/calls/${call.id}/events`);
    assert.equal(answer.status, 200);
    assert.deepEqual(typesOf(answer), ['call_media', 'call_summary', 'call_hangup', 'call_ringing', 'call_created']);
    assert.match(String(resultOf(answer)[0]?.['timestamp']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.equal((resultOf(answer)[2]?.['data'] as Json)['status'], 'hangup');
    assert.equal(answer.body['next_page_token'], '');
  });

  it('pages without a gap or a double, entries of one moment together', async () => {
    const call = await tell();
    const all = typesOf(await get(`/timelines/calls/${call.id}/events`));
    const seen: unknown[] = [];
    let token = '';
    do {
      const page = await get(`/timelines/calls/${call.id}/events?page_size=2&page_token=${encodeURIComponent(token)}`);
      seen.push(...typesOf(page));
      token = String(page.body['next_page_token']);
    } while (token);
    assert.deepEqual(seen, all);
    const one = timestamp();
    const twin = aCall(api.welcome.customer_id);
    const both = callEntry(twin, 1, ['call_created', 'call_updated']);
    for (const event of both.events) event.timestamp = one;
    await report(redis, both);
    await projected('calls', { id: twin.id });
    assert.equal(resultOf(await get(`/timelines/calls/${twin.id}/events?page_size=1`)).length, 2);
  });

  it('takes pages up to 1000 and reads any other size as 100', async () => {
    const call = aCall(api.welcome.customer_id);
    const many = Array.from({ length: 130 }, (_, at) => callEntry(call, at + 1, ['call_updated']));
    for (const entry of many) await report(redis, entry);
    await projected('calls', { id: call.id, version: 130 });
    const lengthOf = async (size: string): Promise<number> =>
      resultOf(await get(`/timelines/calls/${call.id}/events${size}`)).length;
    assert.equal(await lengthOf('?page_size=1000'), 130);
    for (const size of ['', '?page_size=0', '?page_size=1001', '?page_size=-5'])
      assert.equal(await lengthOf(size), 100);
    assert.equal(reasonOf(await get(`/timelines/calls/${call.id}/events?page_size=x`)), 'INVALID_REQUEST_PARAMETER');
  });

  it('tells the whole activeflow by call or by activeflow: SIP and the calls it dialled too', async () => {
    const leg = await tell({ activeflow_id: '00000000-0000-0000-0000-000000000000' });
    const call = await tell({ chained_call_ids: [leg.id] });
    const answer = await get(`/aggregated-events?call_id=${call.id}`);
    const calls = new Set(resultOf(answer).map(({ data }) => (data as Json)['call_id'] ?? (data as Json)['id']));
    assert.deepEqual(calls, new Set([call.id, leg.id]));
    assert.equal(typesOf(answer).filter(type => type === 'sip_message').length, 4);
    await api.database.db('activeflows').insert({
      id: call.activeflow_id,
      customer_id: call.customer_id,
      version: 1,
      data: JSON.stringify({ id: call.activeflow_id, customer_id: call.customer_id, tm_delete: null }),
      tm_create: call.tm_create,
    });
    const same = await get(`/aggregated-events?activeflow_id=${call.activeflow_id}`);
    assert.deepEqual(same.body, answer.body);
  });

  it('shows the attempts of webhooks in the whole story', async () => {
    const call = await tell();
    const { db } = api.database;
    const event = (await db('events').where({ resource_id: call.id }).first()) as Json;
    const delivery_id = newId();
    await db('webhook_deliveries').insert({
      id: delivery_id,
      event_id: event['id'],
      customer_id: call.customer_id,
      sequence: event['sequence'],
      target: 'customer',
      order_key: 'x',
      uri: 'https://example.com/hook',
      method: 'POST',
      state: 'delivered',
    });
    const attempt = { delivery_id, attempt: 1, uri: 'https://example.com/hook', status: 500, error: null };
    await db('webhook_attempts').insert({ ...attempt, duration_ms: 12 });
    const found = resultOf(await get(`/aggregated-events?call_id=${call.id}`)).find(
      entry => entry['event_type'] === 'webhook_attempt',
    );
    assert.equal((found?.['data'] as Json)['status'], 500);
    assert.equal((found?.['data'] as Json)['event_type'], event['event_type']);
  });

  it('writes what was seen once, however often it is read', async () => {
    const call = aCall(api.welcome.customer_id);
    const text = traceOf(call, [invite()], { timestamp: timestamp(), facts });
    await report(redis, callEntry(call, 1, ['call_created']), text, text);
    await projected('call_media', { call_id: call.id });
    const analysis = await get(`/timelines/calls/${call.id}/sip-analysis`);
    assert.equal((analysis.body['sip_messages'] as Json[]).length, 1);
  });

  it('sets a trace that nobody can read aside and goes on', async () => {
    const refused = await countOf(api.database.db, 'projector_refused');
    const call = aCall(api.welcome.customer_id);
    await report(redis, traceOf(call, [invite({ src_port: 70_000 })]), callEntry(call, 1, ['call_created']));
    await projected('calls', { id: call.id });
    assert.equal(await countOf(api.database.db, 'projector_refused'), refused + 1);
  });

  it('analyses the SIP of a call: messages oldest first, counters once it is over', async () => {
    const call = await tell();
    const { status, body } = await get(`/timelines/calls/${call.id}/sip-analysis`);
    assert.equal(status, 200);
    const methods = (body['sip_messages'] as Json[]).map(message => message['method']);
    assert.deepEqual(methods, ['INVITE', '200']);
    assert.deepEqual(body['rtcp_stats'], {
      ...{ mos: 4.41, jitter: 2, packet_loss_pct: 0.25, rtt: 0, rtp_bytes: 16_000, rtp_packets: 100, rtp_errors: 2 },
      ...{ rtcp_bytes: 240, rtcp_packets: 3, rtcp_errors: 0 },
    });
  });

  it('analyses a call that is still up: no counters yet', async () => {
    const call = aCall(api.welcome.customer_id);
    await report(redis, callEntry(call, 1, ['call_created']));
    await projected('calls', { id: call.id });
    const { body } = await get(`/timelines/calls/${call.id}/sip-analysis`);
    assert.deepEqual(body, { sip_messages: [], rtcp_stats: null });
  });

  it('refuses what names nothing, with the reason of what it should have named', async () => {
    const nobody = newId();
    const rows: [path: string, reason: string][] = [
      [`/timelines/rooms/${nobody}/events`, 'INVALID_RESOURCE_TYPE'],
      [`/timelines/${nobody}/${nobody}/events`, 'INVALID_RESOURCE_TYPE'],
      ['/timelines/calls/12/events', 'INVALID_ID'],
      [`/timelines/calls/${nobody}/events`, 'CALL_NOT_FOUND'],
      [`/timelines/flows/${nobody}/events`, 'FLOW_NOT_FOUND'],
      [`/timelines/activeflows/${nobody}/events`, 'ACTIVEFLOW_NOT_FOUND'],
      [`/timelines/conferences/${nobody}/events`, 'CONFERENCE_NOT_FOUND'],
      [`/timelines/calls/${nobody}/sip-analysis`, 'CALL_NOT_FOUND'],
      [`/timelines/calls/${nobody}/pcap`, 'CALL_NOT_FOUND'],
      ['/aggregated-events', 'INVALID_ARGUMENT'],
      [`/aggregated-events?call_id=${nobody}&activeflow_id=${nobody}`, 'INVALID_ARGUMENT'],
      ['/aggregated-events?call_id=12', 'INVALID_CALL_ID'],
      ['/aggregated-events?activeflow_id=12', 'INVALID_ACTIVEFLOW_ID'],
      [`/aggregated-events?call_id=${nobody}`, 'CALL_NOT_FOUND'],
      [`/aggregated-events?activeflow_id=${nobody}`, 'ACTIVEFLOW_NOT_FOUND'],
    ];
    for (const [path, reason] of rows) assert.equal(reasonOf(await get(path)), reason, path);
  });

  it('knows nothing of another customer’s calls', async () => {
    const call = aCall(await addCustomer(api.database.db), { activeflow_id: newId() });
    await report(redis, callEntry(call, 1, ['call_created']), traceOf(call, [invite()]));
    await projected('sip_messages', { call_id: call.id });
    for (const path of ['events', 'sip-analysis', 'pcap'])
      assert.equal(reasonOf(await get(`/timelines/calls/${call.id}/${path}`)), 'CALL_NOT_FOUND');
    assert.equal(reasonOf(await get(`/aggregated-events?call_id=${call.id}`)), 'CALL_NOT_FOUND');
    const mine = await tell({ chained_call_ids: [call.id] });
    const told = JSON.stringify((await get(`/aggregated-events?call_id=${mine.id}`)).body);
    assert.ok(!told.includes(`"call_id":"${call.id}"`));
  });

  it('shows the life of a flow', async () => {
    const made = await api.request('POST', '/v1.0/flows', { name: 'a', actions: [] });
    const answer = await get(`/timelines/flows/${String(made.body['id'])}/events`);
    assert.deepEqual(typesOf(answer), ['flow_created']);
  });
});
