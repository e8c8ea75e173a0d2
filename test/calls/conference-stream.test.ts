import { strict as assert } from 'node:assert';
import { newId } from '#contract/ids';
import { encapsulationOf } from '../../media-app/audio/encapsulation.ts';
import { MediaClient, type Refused, toneFrames } from '../support/media-client.ts';
import { eventually } from '../support/eventually.ts';
import type { Office } from '../support/office.ts';
import { withRooms, type Rooms } from '../support/rooms.ts';
import { samplesOf, tonesIn } from '../support/tones.ts';

describe('a media stream of a conference', function () {
  this.timeout(60_000);
  let office: Office;
  let rooms: Rooms;

  withRooms((...opened) => ([office, rooms] = opened));

  const streamOf = (id: string, encapsulation: string): Promise<MediaClient> =>
    MediaClient.connect(office.stack, id, encapsulation, 'conferences');
  const asked = (id: string, query = 'encapsulation=sln'): Promise<MediaClient | Refused> =>
    MediaClient.open(office.stack, id, `${query}&accesskey=${office.stack.welcome.accesskey}`, 'conferences');
  /** Waits until the stream has exactly these tones. */
  const carries = async (client: MediaClient, encapsulation: 'rtp' | 'sln' | 'audiosocket', hz: number[]) => {
    const wrapping = encapsulationOf(encapsulation);
    await eventually(
      `only ${hz.join(', ')} Hz in the ${encapsulation} stream`,
      async () => {
        const samples = (await client.hears(10)).map(frame => wrapping.decode(frame) ?? assert.fail('no frame'));
        assert(samples.every(frame => frame.length === 320));
        return tonesIn(samplesOf(samples));
      },
      tones => tones.join() === hz.join(),
    );
  };

  for (const encapsulation of ['rtp', 'sln', 'audiosocket'] as const)
    it(`in ${encapsulation} has everybody mixed, and everybody hears what it says`, async () => {
      const { id } = await rooms.open();
      const [a, b] = await Promise.all([rooms.callsIn(500, id), rooms.callsIn(900, id)]);
      const client = await streamOf(id, encapsulation);
      await carries(client, encapsulation, [500, 900]);
      assert.equal((await rooms.inState(id, 'joined', 2)).length, 2, 'the stream is no participant');
      const wrapping = encapsulationOf(encapsulation);
      const speaking = client.says(toneFrames(1300, 2500).map(frame => wrapping.encode(frame)));
      await Promise.all([a.hearsOnly([900, 1300]), b.hearsOnly([500, 1300])]);
      await carries(client, encapsulation, [500, 900]); // nobody hears himself
      await speaking;
      await Promise.all([a.hearsOnly([900]), b.hearsOnly([500])]);
      client.close();
      await rooms.close(id);
      await Promise.all([a.ended(), b.ended()]);
    });

  it('in rtp counts every packet, one every 20 ms, while the room fills and empties', async () => {
    const { id } = await rooms.open();
    const client = await streamOf(id, 'rtp');
    const began = performance.now();
    await carries(client, 'rtp', []);
    const a = await rooms.callsIn(500, id);
    await carries(client, 'rtp', [500]);
    await a.hangup();
    await carries(client, 'rtp', []);
    await client.hears(50);
    const [took, count] = [performance.now() - began, client.frames.length];
    assert(Math.abs(took / 20 - count) < 0.1 * count + 15, `${count} packets in ${took} ms`);
    client.frames.forEach((packet, index) => {
      assert.deepEqual([packet.length, packet[0], packet[1], packet.readUInt32BE(8)], [332, 0x80, 96, 0]);
      assert.deepEqual([packet.readUInt16BE(2), packet.readUInt32BE(4)], [index + 1, index * 160]);
    });
    await rooms.close(id);
    assert.equal(await client.ends(), 1000, 'it ends with the conference');
  });

  it('is one of five at most, each hears the others, and what they say is recorded', async () => {
    const { id } = await rooms.open();
    const clients: MediaClient[] = [];
    for (let count = 0; count < 5; count++) clients.push(await streamOf(id, 'sln'));
    assert.deepEqual(await asked(id), { status: 429, reason: 'RESOURCE_LIMIT_EXCEEDED' });
    assert.equal((await rooms.recording('start', id)).status, 200);
    const [first, second, third] = clients;
    assert(first && second && third);
    const speaking = Promise.all([first.says(toneFrames(700, 2500)), second.says(toneFrames(1100, 2500))]);
    await Promise.all([
      carries(first, 'sln', [1100]),
      carries(second, 'sln', [700]),
      carries(third, 'sln', [700, 1100]),
    ]);
    const stopped = await rooms.recording('stop', id);
    await speaking;
    third.close();
    const next = await eventually(
      'room for another',
      () => asked(id),
      opened => opened instanceof MediaClient,
    );
    assert(next instanceof MediaClient);
    await rooms.close(id);
    for (const client of [first, second, next]) assert.equal(await client.ends(), 1000);
    const { body: files } = await eventually(
      'the recording',
      () =>
        office.stack.api<{ peaks: number[] }[]>('GET', `/recordings/${stopped.body.recording_ids.at(-1)}/playfiles`),
      ({ body }) => body.length === 1,
    );
    assert(Math.max(...(files[0]?.peaks ?? [])) > 0.2, 'the streams are in it');
  });

  it('is refused before the upgrade: no such conference, no UUID, no encapsulation, no credential, and when it is over', async () => {
    const { id } = await rooms.open();
    assert.deepEqual(await asked(newId()), { status: 404, reason: 'CONFERENCE_NOT_FOUND' });
    assert.deepEqual(await asked('1'), { status: 400, reason: 'INVALID_ID' });
    for (const name of ['', 'opus', 'RTP'])
      assert.deepEqual(await asked(id, `encapsulation=${name}`), { status: 400, reason: 'INVALID_ARGUMENT' });
    const bare = await MediaClient.open(office.stack, id, 'encapsulation=sln', 'conferences');
    assert.deepEqual(bare, { status: 401, reason: 'AUTHENTICATION_REQUIRED' });
    const { status, body } = await office.stack.api<{ error: { reason: string } }>(
      'GET',
      `/conferences/${id}/media_stream?encapsulation=rtp`,
    );
    assert.deepEqual([status, body.error.reason], [400, 'INVALID_ARGUMENT'], 'a request that asks for no upgrade');
    await rooms.closed(id);
    assert.deepEqual(await asked(id), { status: 404, reason: 'CONFERENCE_NOT_FOUND' });
  });

  it('asked for in the moment the conference is deleted is refused or closed, and no leg of it is left', async () => {
    const rounds = Array.from({ length: 8 }, async (_, round) => {
      const { id } = await rooms.open();
      const asking = asked(id);
      await new Promise(resolve => setTimeout(resolve, round * 8)); // each round meets it elsewhere
      await rooms.close(id);
      const answer = await asking;
      if (answer instanceof MediaClient) assert.equal(await answer.ends(), 1000);
      else assert([404, 409, 503].includes(answer.status), JSON.stringify(answer));
      await rooms.closed(id);
    });
    await Promise.all(rounds);
  });
});
