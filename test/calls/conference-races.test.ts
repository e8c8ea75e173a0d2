import { strict as assert } from 'node:assert';
import { newId } from '#contract/ids';
import { eventually } from '../support/eventually.ts';
import type { Office } from '../support/office.ts';
import { withRooms, type Rooms } from '../support/rooms.ts';

/** Milliseconds by which one of two comes before the other; each round takes its own. */
const later = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, Math.max(0, ms)));
const rounds = <T>(count: number, round: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => round(index)));

describe('a conference when two things happen in the same instant', function () {
  this.timeout(60_000);
  let office: Office;
  let rooms: Rooms;

  withRooms((...opened) => ([office, rooms] = opened));

  /** Everybody is out, and the record of each says so. */
  const allOut = async (id: string): Promise<void> => {
    await rooms.closed(id);
    const records = await rooms.participants(`conference_id=${id}`);
    assert.deepEqual(
      records.map(one => one.status).filter(status => status !== 'leaved'),
      [],
    );
  };

  it('deleted while phones dial in: each is out again or never was in', () =>
    rounds(10, async index => {
      const { id } = await rooms.open();
      const phones = await Promise.all([500, 900].map(hz => office.phone('1001', { tone: hz })));
      const calls = await Promise.all(phones.map(phone => phone.dial(`sip:${id}@conference.trunkline.localhost`)));
      await later(index * 12);
      await rooms.close(id);
      await Promise.all(calls.map(call => call.ended()));
      await allOut(id);
    }));

  it('deleted while a flow joins: the flow ends or goes on behind, and nobody stays in', async () => {
    const phone = await office.registered('1001', { incoming: { autoAnswer: true } });
    await rounds(8, async index => {
      const { id } = await rooms.open({ pre_flow_id: index % 2 ? await preFlow() : '' });
      const call = await office.ring('1001', [{ type: 'conference_join', option: { conference_id: id } }]);
      await eventually(
        'the answer',
        () => office.call(call.id),
        ({ status }) => status === 'progressing' || status === 'hangup',
      );
      await later(index * 5);
      await rooms.close(id);
      await office.ended(call.id);
      await allOut(id);
    });
    assert(phone);
  });

  it('put out while it hangs up: it leaves once, and the record says so', async () => {
    const heard = await office.listen();
    const { id } = await rooms.open();
    const calls = await rounds(8, async () => rooms.callsIn(500, id));
    const present = await rooms.inState(id, 'joined', 8);
    await Promise.all([
      ...calls.map((call, index) => later((index % 4) * 3).then(() => call.hangup())),
      ...present.map(async (one, index) => {
        await later(((index + 2) % 4) * 3);
        const { status } = await rooms.kick(one.id);
        assert(status === 'leaving' || status === 'leaved', status);
      }),
    ]);
    await Promise.all(calls.map(call => call.ended()));
    await rooms.inState(id, 'leaved', 8);
    // The room writes down who left right after the record of whoever left.
    await eventually(
      'the room, which stands empty',
      () => rooms.see(id),
      room => room.status === 'progressing' && room.conferencecall_ids.length === 0,
    );
    const stories = () => present.map(one => heard.filter(({ topic }) => topic.endsWith(`:conferencecall:${one.id}`)));
    await eventually('the last of each', stories, all =>
      all.every(story => story.at(-1)?.event_type === 'conferencecall_leaved'),
    );
    for (const story of stories())
      assert.deepEqual(
        story.map(one => one.event_type),
        ['joining', 'joined', 'leaving', 'leaved'].map(status => `conferencecall_${status}`),
      );
    await allOut(id);
  });

  it('put out, deleted and hung up at once, by several: everything is answered and happens once', async () => {
    const heard = await office.listen();
    await rounds(4, async index => {
      const { id } = await rooms.open();
      const [a, b] = await Promise.all([rooms.callsIn(500, id), rooms.callsIn(900, id)]);
      const [one] = await rooms.inState(id, 'joined', 2);
      await Promise.all([
        later(index * 4).then(() => rooms.close(id)),
        rooms.close(id),
        rooms.kick(one?.id ?? ''),
        later(6 - index * 2).then(() => rooms.kick(one?.id ?? '')),
        later(index * 3).then(() => a.hangup()),
      ]);
      await Promise.all([a.ended(), b.ended()]);
      await allOut(id);
      const deletions = await eventually(
        'its end',
        () => heard.filter(one => one.topic.endsWith(`:conference:${id}`) && one.event_type === 'conference_deleted'),
        events => events.at(-1)?.data['status'] === 'terminated',
      );
      assert.deepEqual(
        deletions.map(({ data }) => data['status']),
        ['terminating', 'terminated'],
        'told when it is deleted, and when it is over',
      );
    });
  });

  it('of type connect, both hang up at once, or one while the other comes in: it is over, once', () =>
    rounds(6, async index => {
      const { id } = await rooms.open({ type: 'connect', id: newId() });
      const a = await rooms.callsIn(500, id);
      await rooms.inState(id, 'joined', 1); // one that nobody ever joined goes on waiting
      const phone = await office.phone('1001', { tone: 900 });
      const b = await phone.dial(`sip:${id}@conference.trunkline.localhost`);
      if (index % 2) await b.answered();
      await Promise.all([a.hangup(), index % 2 ? b.hangup() : later(index * 6).then(() => b.hangup())]);
      await Promise.all([a.ended(), b.ended()]);
      await eventually(
        'its end',
        () => rooms.see(id),
        one => one.status === 'terminated',
      );
      await allOut(id);
    }));

  const preFlow = (): Promise<string> => rooms.flow([{ type: 'sleep', option: { duration: 20 } }]);
});
