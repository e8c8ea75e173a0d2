import { strict as assert } from 'node:assert';
import pg from 'pg';
import { eventually } from '../support/eventually.ts';
import { withOffice, type Office } from '../support/office.ts';
import { startStack, type Stack } from '../support/stack.ts';

const sleep = [{ type: 'sleep', option: { duration: 120_000 } }];

describe('processes that are killed', function () {
  this.timeout(90_000);
  let stack: Stack;
  let office: Office;

  withOffice(opened => {
    office = opened;
    stack = office.stack;
  }, startStack);

  it('media-app killed during a call: the call is ended truthfully within 10 s of the restart, and told', async () => {
    const phone = await office.registered('1001', { incoming: { autoAnswer: true } });
    const { received } = await office.webhook();
    const call = await office.ring('1001', sleep);
    const incoming = await phone.waitForCall();
    await incoming.answered();
    await office.progressing(call.id);
    const [mediaApp] = stack.processes.mediaApp;
    await mediaApp?.kill9();
    await mediaApp?.restart();
    const over = await office.ended(call.id, 12_000);
    assert.deepEqual([over.hangup_by, over.hangup_reason], ['local', 'failed']);
    assert.equal((await incoming.ended()).by, 'them', 'the phone is told too');
    const about = () => received.filter(one => one.topic.endsWith(`:call:${call.id}`)).map(one => one.event_type);
    await eventually('the story by webhook', about, types => types.includes('call_hangup'));
    assert.deepEqual(
      about().filter(type => type !== 'call_updated'),
      ['call_created', 'call_ringing', 'call_progressing', 'call_hangup'],
    );
    const { body } = await stack.api<{ status: string }>('GET', `/activeflows/${call.activeflow_id}`);
    assert.equal(body.status, 'ended');
    await stack.healthy();
    await office.nothingLeft();
  });

  it('control-api killed while it places a call with an Idempotency-Key: asked again it names the call that rings', async () => {
    const phone = await office.registered('1001');
    const body = {
      source: { type: 'tel', target: '+15550100000' },
      destinations: [{ type: 'extension', target: '1001', target_name: '1001' }],
      actions: sleep,
    };
    const url = `${stack.baseUrl}/v1.0/calls?accesskey=${stack.welcome.accesskey}`;
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': 'order-17' };
    const place = () => fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    const lost = place().catch(() => undefined); // whether its answer got out is the question
    const incoming = await phone.waitForCall();
    await stack.processes.controlApi.kill9();
    await lost;
    await stack.processes.controlApi.restart();
    await stack.healthy();
    const client = new pg.Client({ connectionString: stack.databaseUrl });
    await client.connect();
    await client.query('update idempotency_keys set leased_until = now()'); // else the dead one holds it for seconds
    await client.end();
    const [first, second] = [await place(), await place()];
    assert.deepEqual([first.status, second.status], [200, 200], 'both are answered');
    const [one, two] = [await first.text(), await second.text()];
    assert.equal(one, two);
    const { calls } = JSON.parse(one) as { calls: { id: string }[] };
    assert.equal(calls.length > 0, true);
    const rung = await stack.api<{ result: { id: string; status: string }[] }>('GET', '/calls');
    const live = rung.body.result.filter(call => call.status !== 'hangup').map(call => call.id);
    assert.deepEqual(live.sort(), calls.map(call => call.id).sort());
    assert.equal(phone.messages('INVITE', 'received').length, 1);
    incoming.reject(486);
    await office.nothingLeft();
  });

  it('control-api killed during calls: no event is lost, none comes under a new id, webhooks resume', async () => {
    const phone = await office.registered('1001', { incoming: { autoAnswer: true } });
    const { received } = await office.webhook();
    const call = await office.ring('1001', [
      { type: 'play', option: { stream_urls: ['tone_stream://%(1500,0,800)'] } },
    ]);
    const incoming = await phone.waitForCall();
    await incoming.answered();
    await stack.processes.controlApi.kill9();
    await incoming.ended();
    await stack.processes.controlApi.restart();
    await stack.healthy();
    const over = await office.ended(call.id);
    assert.equal(over.hangup_reason, 'normal');
    const about = () => received.filter(one => one.topic.endsWith(`:call:${call.id}`));
    await eventually('the story by webhook', about, list => list.some(one => one.event_type === 'call_hangup'), 20_000);
    const ids = new Map(about().map(one => [one.sequence, one.id]));
    const types = [...new Map(about().map(one => [one.id, one.event_type])).values()].filter(
      type => type !== 'call_updated',
    );
    assert.deepEqual(types, ['call_created', 'call_ringing', 'call_progressing', 'call_terminating', 'call_hangup']);
    assert.equal(new Set(ids.values()).size, ids.size, 'one id for one sequence');
  });

  it('the engine killed during a call: the call ends, and phones can call again when it is back', async () => {
    const phone = await office.registered('1001', { incoming: { autoAnswer: true } });
    const call = await office.ring('1001', sleep);
    await (await phone.waitForCall()).answered();
    await stack.processes.engine.kill9();
    const over = await office.ended(call.id);
    assert.equal(over.status, 'hangup');
    phone.calls[0]?.vanish(); // nobody is left to tell it
    await stack.processes.engine.restart();
    await stack.healthy();
    const again = await office.registered('1002', { incoming: { autoAnswer: true } });
    const second = await office.ring('1002', [{ type: 'beep' }]);
    await (await again.waitForCall()).ended();
    await office.ended(second.id);
    await office.nothingLeft();
  });
});
