import { strict as assert } from 'node:assert';
import pino from 'pino';
import type { Conference } from '#contract/conference';
import { newId } from '#contract/ids';
import { NEVER } from '#contract/time';
import { Commands } from '../../control-api/commands.ts';
import { eventually } from '../support/eventually.ts';
import type { Office } from '../support/office.ts';
import { tone, withRooms, type Rooms } from '../support/rooms.ts';

describe('a conference', function () {
  this.timeout(60_000);
  let office: Office;
  let rooms: Rooms;

  withRooms((...opened) => ([office, rooms] = opened));

  it('three phones hear exactly the other two, and whoever leaves is heard no more', async () => {
    const { id, status } = await rooms.open();
    assert.equal(status, 'starting');
    const a = await rooms.callsIn(500, id);
    const b = await rooms.callsIn(900, id);
    const c = await rooms.callsIn(1300, id);
    await Promise.all([a.hearsOnly([900, 1300]), b.hearsOnly([500, 1300]), c.hearsOnly([500, 900])]);
    const present = await rooms.inState(id, 'joined', 3);
    assert.equal((await rooms.see(id)).status, 'progressing');
    assert.deepEqual([...(await rooms.see(id)).conferencecall_ids].sort(), present.map(one => one.id).sort());
    await b.hangup();
    await Promise.all([a.hearsOnly([1300]), c.hearsOnly([500])]);
    await rooms.inState(id, 'joined', 2);
    const deleted = await rooms.close(id);
    assert.equal(deleted.status, 'terminating');
    assert.notEqual(deleted.tm_delete, NEVER);
    await Promise.all([a.ended(), c.ended()]);
    const again = await eventually(
      'its end',
      () => rooms.close(id),
      one => one.status === 'terminated',
    );
    assert.notEqual(again.tm_end, NEVER);
    await rooms.inState(id, 'leaved', 3);
  });

  it('a participant who is put out goes on behind conference_join, and the others stay', async () => {
    const { id } = await rooms.open();
    const heard = await office.listen();
    const a = await rooms.callsIn(500, id);
    const b = await rooms.isCalled('1002', 900, [
      { type: 'conference_join', option: { conference_id: id } },
      tone(1700),
    ]);
    await a.hearsOnly([900]);
    const [second] = await rooms.inState(id, 'joined', 2);
    assert(second);
    assert.equal((await rooms.kick(second.id)).status, 'leaving');
    await b.hears(1700);
    await a.hearsSilence();
    await eventually(
      'it has left',
      () => rooms.kick(second.id),
      one => one.status === 'leaved',
    );
    await b.ended();
    const story = () => heard.filter(one => one.topic.endsWith(`:conferencecall:${second.id}`));
    await eventually('the last event', story, list => list.some(one => one.event_type === 'conferencecall_leaved'));
    assert.deepEqual(
      story().map(one => one.event_type),
      ['conferencecall_joining', 'conferencecall_joined', 'conferencecall_leaving', 'conferencecall_leaved'],
    );
    assert.equal((await rooms.see(id)).conferencecall_ids.length, 1);
    await rooms.close(id);
    await a.ended();
  });

  it('each caller hears the pre-flow before it comes in; put out meanwhile, it goes straight on', async () => {
    const { id } = await rooms.open({ pre_flow_id: await rooms.flow([tone(1700, 1000)]) });
    const a = await rooms.callsIn(500, id);
    await a.hearsOnly([1700]);
    const join = { type: 'conference_join', option: { conference_id: id } };
    const b = await rooms.isCalled('1002', 900, [join, tone(2100)]);
    await b.hearsOnly([1700]);
    await b.hearsOnly([500], { within_ms: 3000 });
    await a.hearsOnly([900]);
    await b.hangup();
    const slow = await rooms.flow([tone(1900, 20_000)]);
    assert.equal((await office.stack.api('PUT', `/conferences/${id}`, { pre_flow_id: slow })).status, 200);
    const c = await rooms.isCalled('1001', 1300, [join, tone(2100)]);
    await c.hearsOnly([1900]);
    const [waiting] = await rooms.inState(id, 'joining', 1);
    assert.equal((await rooms.kick(waiting?.id ?? '')).status, 'leaving');
    await c.hearsOnly([2100]);
    await c.ended();
    await rooms.inState(id, 'leaved', 2);
    await rooms.close(id);
    await a.ended();
  });

  it('of type connect: the first hears ringback, then the second; when one leaves the other is put out', async () => {
    const { id } = await rooms.open({ type: 'connect' });
    const a = await rooms.isCalled('1001', 500, [
      { type: 'conference_join', option: { conference_id: id } },
      tone(1700),
    ]);
    await a.hearsOnly([425]);
    const b = await rooms.callsIn(900, id);
    await Promise.all([a.hearsOnly([900]), b.hearsOnly([500])]);
    await b.hangup();
    await a.hearsOnly([1700]);
    const over = await eventually(
      'its end',
      () => rooms.see(id),
      one => one.status === 'terminated',
    );
    assert.notEqual(over.tm_end, NEVER);
    assert.equal(over.tm_delete, NEVER);
    await a.ended();
    assert.equal((await office.stack.api('PUT', `/conferences/${id}`, { name: 'late' })).status, 409);
    assert.notEqual((await rooms.close(id)).tm_delete, NEVER);
    assert.equal((await office.stack.api('GET', `/conferences/${id}`)).status, 404);
  });

  it('an id of the client given twice at once opens one room', async () => {
    const id = newId();
    const order = () => office.stack.api<Conference>('POST', '/conferences', { type: 'conference', id });
    const statuses = (await Promise.all([order(), order(), order()])).map(answer => answer.status);
    assert.deepEqual(statuses.sort(), [200, 409, 409]);
    const a = await rooms.callsIn(500, id);
    const b = await rooms.callsIn(900, id);
    await Promise.all([a.hearsOnly([900]), b.hearsOnly([500])]);
    await rooms.close(id);
    await Promise.all([a.ended(), b.ended()]);
  });

  it('ends by itself when its time is over', async () => {
    const { redisUrl, welcome } = office.stack;
    const commands = new Commands({ redisUrl, log: pino({ level: 'silent' }) });
    try {
      // The API takes no timeout below a minute; the order behind it does.
      const body = { id: newId(), type: 'conference' as const, name: '', detail: '', data: {}, timeout: 2 };
      const none = { pre_flow_id: '', post_flow_id: '', direct_hash: '' };
      const { customer_id } = welcome;
      const room = await commands.send('conference.create', {
        customer_id,
        request_id: '',
        body: { ...body, ...none },
      });
      const a = await rooms.callsIn(500, room.id);
      await rooms.inState(room.id, 'joined', 1);
      await a.ended();
      const over = await rooms.close(room.id);
      assert.notEqual(over.tm_delete, NEVER);
    } finally {
      await commands.close();
    }
  });

  it('is dialled by a registered phone as conference:<id>, and by nobody when it does not exist', async () => {
    const { id } = await rooms.open();
    const phone = await office.registered('1002', { tone: 900 });
    const a = await rooms.callsIn(500, id);
    const b = await phone.dial(`sip:conference%3A${id}@${office.stack.welcome.extensions[0]?.domain_name}`);
    await b.answered();
    await Promise.all([a.hearsOnly([900]), b.hearsOnly([500])]);
    await b.hangup();
    await rooms.close(id);
    await a.ended();
    for (const target of [id, newId(), 'nobody']) {
      const refused = await phone.dial(`sip:${target}@conference.trunkline.localhost`);
      assert.equal((await refused.ended()).status, 404);
    }
  });

  it('is reached by its direct hash from anywhere; regenerated, the old hash is dead at once', async () => {
    const { id, direct_hash: old } = await rooms.open();
    const regenerate = `/conferences/${id}/direct-hash-regenerate`;
    const heard = await office.listen();
    const a = await rooms.callsIn(500, id);
    const { direct_hash } = (await office.stack.api<Conference>('POST', regenerate)).body;
    assert.notEqual(direct_hash, old);
    const stranger = await office.phone('1002', { tone: 900 });
    const dial = async (hash: string) => stranger.dial(`sip:${hash}@sip.trunkline.localhost`);
    assert.equal((await (await dial(old)).ended()).status, 404);
    await eventually(
      'the new hash is known',
      () => heard,
      list => list.some(one => one.data['direct_hash'] === direct_hash),
    );
    const b = await dial(direct_hash);
    await b.answered();
    await Promise.all([a.hearsOnly([900]), b.hearsOnly([500])]);
    await rooms.close(id);
    await Promise.all([a.ended(), b.ended()]);
    assert.equal((await (await dial(direct_hash)).ended()).status, 404);
  });

  it('and so is an extension', async () => {
    const { id } = office.stack.welcome.extensions.find(one => one.extension === '1001') ?? {};
    const { body } = await office.stack.api<{ direct_hash: string }>('GET', `/extensions/${id}`);
    const phone = await office.registered('1001', { tone: 500, incoming: { autoAnswer: true } });
    const stranger = await office.phone('1002', { tone: 900 });
    const out = await stranger.dial(`sip:${body.direct_hash}@sip.trunkline.localhost`);
    await out.answered();
    await out.hearsOnly([500]);
    await out.hangup();
    await (await phone.waitForCall()).ended();
  });

  it('a flow that leads out of the pre-flow is no participant any more', async () => {
    const out = 'f0000000-0000-4000-8000-0000000000aa';
    const { id } = await rooms.open({
      pre_flow_id: await rooms.flow([{ type: 'goto', option: { target_id: out, loop_count: 1 } }]),
    });
    const a = await rooms.isCalled('1001', 500, [
      { type: 'answer' },
      { type: 'conference_join', option: { conference_id: id } },
      { id: out, ...tone(1700, 3000) },
    ]);
    await a.hearsOnly([1700]);
    await rooms.inState(id, 'joining', 1);
    await a.ended();
    await rooms.inState(id, 'leaved', 1);
    await rooms.close(id);
  });
});
