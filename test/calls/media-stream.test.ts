import { strict as assert } from 'node:assert';
import { encapsulationOf } from '../../media-app/audio/encapsulation.ts';
import { MediaClient, toneFrames } from '../support/media-client.ts';
import { eventually } from '../support/eventually.ts';
import { withOffice, type Office } from '../support/office.ts';
import type { PhoneCall } from '../support/phone-call.ts';
import { samplesOf, tonesIn } from '../support/tones.ts';

const waiting = [{ type: 'sleep', option: { duration: 60_000 } }];

describe('a media stream of a call', function () {
  this.timeout(60_000);
  let office: Office;

  withOffice(opened => (office = opened));

  const called = async (tone?: number): Promise<{ id: string; incoming: PhoneCall }> => {
    const phone = await office.registered('1001', tone ? { tone } : {});
    const { id } = await office.ring('1001', waiting);
    const incoming = await phone.waitForCall();
    incoming.answer();
    await office.progressing(id);
    return { id, incoming };
  };

  for (const encapsulation of ['rtp', 'sln', 'audiosocket'] as const) {
    it(`in ${encapsulation} has what the phone says, and says to the phone what it is given`, async () => {
      const { id, incoming } = await called(500);
      const client = await MediaClient.connect(office.stack, id, encapsulation);
      const wrapping = encapsulationOf(encapsulation);
      await client.hears(10); // the tone is there at the latest now
      const samples = (await client.hears(25)).map(frame => wrapping.decode(frame));
      assert.ok(
        samples.every(frame => frame?.length === 320),
        'frames of 20 ms',
      );
      assert.ok(
        tonesIn(samplesOf(samples.filter(frame => frame !== undefined))).includes(500),
        'the tone of the phone',
      );
      const speaking = client.says(toneFrames(1300, 2000).map(frame => wrapping.encode(frame)));
      await incoming.hears(1300);
      await speaking;
      client.close();
      await incoming.hangup();
    });
  }

  it('in rtp misses no packet, and one comes every 20 ms', async () => {
    const { id, incoming } = await called(500);
    const client = await MediaClient.connect(office.stack, id, 'rtp');
    const began = performance.now();
    await client.hears(150);
    const took = performance.now() - began;
    assert.ok(took > 2600 && took < 3600, `${took} ms for 150 packets`);
    client.frames.forEach((packet, index) => {
      assert.deepEqual([packet.length, packet[0], packet[1], packet.readUInt32BE(8)], [332, 0x80, 96, 0]);
      assert.deepEqual([packet.readUInt16BE(2), packet.readUInt32BE(4)], [index + 1, index * 160]);
    });
    client.close();
    await incoming.hangup();
  });

  it('has both parties mixed, and is heard by both', async () => {
    const alice = await office.registered('1001', { tone: 500 });
    const bob = await office.registered('1002', { tone: 900 });
    const out = await alice.dial('1002');
    const incoming = await bob.waitForCall();
    incoming.answer();
    await out.hearsOnly([900]);
    const call = (await office.calls(2)).find(one => one.direction === 'incoming');
    const client = await MediaClient.connect(office.stack, call?.id ?? '', 'sln');
    await client.hears(10);
    const tones = tonesIn(samplesOf(await client.hears(25)));
    assert.ok(tones.includes(500) && tones.includes(900), tones.join(' '));
    const speaking = client.says(toneFrames(1300, 3000));
    await Promise.all([out.hearsOnly([900, 1300]), incoming.hearsOnly([500, 1300])]);
    await speaking;
    await Promise.all([out.hearsOnly([900]), incoming.hearsOnly([500])]);
    await out.hangup();
    assert.equal(await client.ends(), 1000);
  });

  it('ends with the call', async () => {
    const { id, incoming } = await called();
    const client = await MediaClient.connect(office.stack, id, 'sln');
    await client.hears(5);
    await incoming.hangup();
    assert.equal(await client.ends(), 1000);
  });

  it('drops what is no audio, and lives on', async () => {
    const { id, incoming } = await called();
    const client = await MediaClient.connect(office.stack, id, 'rtp');
    client.socket.send('{"type":"killAudio"}');
    for (const bytes of [[], [1], [0x80, 96], Array<number>(400).fill(255)]) client.socket.send(Buffer.from(bytes));
    const wrapping = encapsulationOf('rtp');
    const speaking = client.says(toneFrames(1300, 1500).map(frame => wrapping.encode(frame)));
    await incoming.hears(1300);
    await speaking;
    client.close();
    await incoming.hangup();
  });

  it('is one of five at most; one that is closed makes room', async () => {
    const { id, incoming } = await called();
    const clients: MediaClient[] = [];
    for (let count = 0; count < 5; count++) clients.push(await MediaClient.connect(office.stack, id, 'sln'));
    await Promise.all(clients.map(client => client.hears(5)));
    const query = `encapsulation=sln&accesskey=${office.stack.welcome.accesskey}`;
    assert.deepEqual(await MediaClient.open(office.stack, id, query), {
      status: 429,
      reason: 'RESOURCE_LIMIT_EXCEEDED',
    });
    clients[0]?.close();
    const next = await eventually(
      'room for another',
      () => MediaClient.open(office.stack, id, query),
      opened => opened instanceof MediaClient,
    );
    assert(next instanceof MediaClient);
    await next.hears(5);
    await incoming.hangup();
    for (const client of [...clients.slice(1), next]) assert.equal(await client.ends(), 1000);
  });
});
