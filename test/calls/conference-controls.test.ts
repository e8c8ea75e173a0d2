import { strict as assert } from 'node:assert';
import type { Conference } from '#contract/conference';
import { MediaClient } from '../support/media-client.ts';
import { eventually } from '../support/eventually.ts';
import { Office } from '../support/office.ts';
import type { PhoneCall } from '../support/phone-call.ts';
import { download } from '../support/recordings.ts';
import { Rooms } from '../support/rooms.ts';
import { sharedStack } from '../support/stack.ts';
import { samplesOf, tonesIn } from '../support/tones.ts';

/** What each of three says; the first is the one that things are done to. */
const [ANN, BEN, CAT] = [500, 900, 1300] as const;
/** The held low note of the first bar of the music on hold. */
const MUSIC_HZ = 262;

interface Party {
  phone: PhoneCall;
  call_id: string;
}

describe('what is done to one of three in a conference', function () {
  this.timeout(60_000);
  let office: Office;
  let rooms: Rooms;
  let room: Conference;
  let ann: Party;
  let ben: Party;
  let cat: Party;

  before(async () => {
    office = new Office(await sharedStack());
    rooms = new Rooms(office);
    room = await rooms.open();
    [ann, ben, cat] = [await comesIn(ANN), await comesIn(BEN), await comesIn(CAT)];
  });
  beforeEach(() => everybodyHears());
  after(async () => {
    await rooms.close(room.id);
    await Promise.all([ann, ben, cat].map(({ phone }) => phone.ended()));
    await rooms.closed(room.id);
    await office.close();
    await office.nothingLeft();
  });

  const comesIn = async (hz: number): Promise<Party> => {
    const phone = await rooms.callsIn(hz, room.id);
    const [call] = await office.calls(1);
    assert(call);
    return { phone, call_id: call.id };
  };
  const hear = (anns: number[], bens: number[], cats: number[]): Promise<unknown> =>
    Promise.all([ann.phone.hearsOnly(anns), ben.phone.hearsOnly(bens), cat.phone.hearsOnly(cats)]);
  const everybodyHears = (): Promise<unknown> => hear([BEN, CAT], [ANN, CAT], [ANN, BEN]);
  const control = async (
    method: 'POST' | 'DELETE',
    { call_id }: Party,
    what: string,
    body?: unknown,
  ): Promise<void> => {
    const answer = await office.stack.api(method, `/calls/${call_id}/${what}`, body);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
  };

  for (const { title, what, body, anns, bens, cats } of [
    {
      title: 'mute in: hears nobody, is heard',
      what: 'mute',
      body: { direction: 'in' },
      anns: [],
      bens: [ANN, CAT],
      cats: [ANN, BEN],
    },
    {
      title: 'mute out: hears all, is not heard',
      what: 'mute',
      body: { direction: 'out' },
      anns: [BEN, CAT],
      bens: [CAT],
      cats: [BEN],
    },
    { title: 'mute both: neither', what: 'mute', body: { direction: 'both' }, anns: [], bens: [CAT], cats: [BEN] },
    { title: 'hold: neither, and the others talk on', what: 'hold', anns: [], bens: [CAT], cats: [BEN] },
    { title: 'silence: hears nobody, is heard', what: 'silence', anns: [], bens: [ANN, CAT], cats: [ANN, BEN] },
  ])
    it(`${title}; undone, all is as before`, async () => {
      await control('POST', ann, what, body);
      await hear(anns, bens, cats);
      await control('DELETE', ann, what, what === 'mute' ? {} : undefined);
      await everybodyHears();
    });

  it('music on hold: hears music in place of the others, who hear none of it', async () => {
    await control('POST', ann, 'moh');
    await ann.phone.hears(MUSIC_HZ);
    await Promise.all([ben.phone.hearsOnly([ANN, CAT]), cat.phone.hearsOnly([ANN, BEN])]);
    await control('DELETE', ann, 'moh');
    await everybodyHears();
  });

  it('a phone that holds the conference hears nothing, and the others talk on', async () => {
    assert.equal(await ann.phone.hold(true), 200);
    await Promise.all([ben.phone.hears(CAT), cat.phone.hears(BEN), ann.phone.hearsSilence()]);
    assert.equal(await ann.phone.hold(false), 200);
    await everybodyHears();
  });

  it('two muted out and one muted in: each by its own', async () => {
    await control('POST', ann, 'mute', { direction: 'out' });
    await control('POST', ben, 'mute', { direction: 'out' });
    await hear([CAT], [CAT], []);
    await control('POST', cat, 'mute', { direction: 'in' });
    await hear([CAT], [CAT], []);
    for (const party of [ann, ben, cat]) await control('DELETE', party, 'mute', {});
    await everybodyHears();
  });

  it('who is muted out is neither in the recording nor in a stream, and is a participant all the same', async () => {
    await control('POST', ann, 'mute', { direction: 'out' });
    await hear([BEN, CAT], [CAT], [BEN]);
    const client = await MediaClient.connect(office.stack, room.id, 'sln', 'conferences');
    assert.equal((await rooms.recording('start', room.id)).status, 200);
    await client.hears(20); // the room is in it at the latest now
    const frames = await client.hears(25);
    const { body } = await rooms.recording('stop', room.id);
    client.close();
    assert.deepEqual(tonesIn(samplesOf(frames).subarray(-3200)), [BEN, CAT]);
    const files = await eventually(
      'the file',
      () => office.stack.api<{ uri_download: string }[]>('GET', `/recordings/${body.recording_ids.at(-1)}/playfiles`),
      answer => answer.body.length === 1,
    );
    const recorded = await download(files.body[0]?.uri_download ?? '');
    assert.deepEqual(tonesIn(recorded.subarray(-3200)), [BEN, CAT]);
    assert.equal((await rooms.see(room.id)).conferencecall_ids.length, 3);
    await control('DELETE', ann, 'mute', {});
    await everybodyHears();
  });
});
