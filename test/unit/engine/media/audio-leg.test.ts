import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { decode } from '../../../../engine/media/codecs/g711.ts';
import { codecNamed, codecNames } from '../../../../engine/media/codecs/table.ts';
import { emptyHeader, parseRtp, type RtpHeader } from '../../../../engine/media/rtp.ts';
import { openSource } from '../../../../engine/media/sources/open-source.ts';
import { loudness } from '../../../../engine/media/tones.ts';
import {
  clock,
  hears,
  host,
  leg,
  line,
  listen,
  party,
  phone,
  play,
  says,
  stall,
  ticks,
  voice,
  withLegs,
} from './leg-rig.ts';

const codecs = codecNames.map(codecNamed);

describe('An audio leg', () => {
  withLegs();

  for (const { name, payloadType } of codecs) {
    it(`${name}: both parties hear the other's tone and nothing else`, async () => {
      const [a, b] = await line({ codec: name, payloadType });
      await play(a, 440);
      await play(b, 1000);
      await Promise.all([says(a, [1000], [440]), says(b, [440], [1000])]);
      assert.equal(a.stats().in_skip_packet_count, 0);
    });
  }

  it('between any two codecs, bridged parties hear each other', async () => {
    const pairs = codecs.flatMap((one, at) => codecs.slice(at + 1).map(other => [one, other] as const));
    await Promise.all(
      pairs.map(async ([one, other]) => {
        const [a, near] = await line({ codec: one.name, payloadType: one.payloadType });
        const [far, b] = await line({ codec: other.name, payloadType: other.payloadType });
        near.bridge(far);
        await play(a, 440);
        await play(b, 1000);
        await Promise.all([says(a, [1000], [440], 20), says(b, [440], [1000], 20)]);
      }),
    );
  });

  it('sends 50 packets a second of digital silence without a source', async () => {
    const socket = await phone();
    const one = await leg();
    let packets = 0;
    let loud = 0;
    socket.on('message', packet => {
      packets += 1;
      if (packet.subarray(12).some(byte => byte !== 0xff)) loud += 1;
    });
    one.setRemote(party(socket.address().port));
    await once(socket, 'message');
    const start = performance.now();
    packets = 0;
    await ticks(100);
    await once(socket, 'message');
    const rate = packets / ((performance.now() - start) / 1000);
    assert.ok(Math.abs(rate - 50) <= 1, `${rate} packets a second`);
    assert.equal(loud, 0);
  });

  it('the first audible packet leaves with the next tick', async () => {
    const socket = await phone();
    const one = await leg();
    one.setRemote(party(socket.address().port));
    await once(socket, 'message');
    const source = await openSource('tone_stream://%(1000,0,440)', { soundsDir: '/' });
    const set = clock.now;
    one.setSource(source);
    await new Promise<void>(resolve =>
      socket.on('message', packet => packet.subarray(12).some(byte => byte < 0xd0) && resolve()),
    );
    assert.ok(clock.now - set <= 2, `${clock.now - set} ticks`);
  });

  for (const ptime of [10, 20, 30, 60]) {
    it(`sends packets of ${ptime} ms with timestamps to match`, async () => {
      const socket = await phone();
      const one = await leg();
      const header = emptyHeader();
      const seen: [number, number][] = [];
      socket.on('message', packet => parseRtp(packet, header) && seen.push([header.timestamp, packet.length]));
      one.setRemote(party(socket.address().port, { ptime }));
      while (seen.length < 5) await once(socket, 'message');
      for (let i = 1; i < seen.length; i++)
        assert.equal(((seen[i]?.[0] ?? 0) - (seen[i - 1]?.[0] ?? 0)) >>> 0, ptime * 8);
      assert.equal(seen[0]?.[1], 12 + ptime * 8);
    });
  }

  it('a bridge lets two parties hear each other, a source on top of it is mixed in', async () => {
    const [phoneA, a] = await line();
    const [phoneB, b] = await line();
    await play(phoneA, 440);
    await play(phoneB, 1000);
    a.bridge(b);
    await play(a, 1600);
    const [atA, atB] = await Promise.all([listen(phoneA), listen(phoneB)]);
    hears(atA, [1000, 1600], [440]);
    hears(atB, [440], [1000, 1600]);
    a.unbridge();
    a.setSource(null);
    assert.ok(loudness(await listen(phoneB)) < 20);
  });

  it('a bridge to a third party ends the one before', async () => {
    const [a, b, c] = [await leg(), await leg(), await leg()];
    a.bridge(b);
    a.bridge(c);
    b.unbridge();
    a.close();
    assert.throws(() => c.bridge(c), TypeError);
  });

  it('echo returns what the party says', async () => {
    const [a, b] = await line();
    await play(a, 700);
    b.echo(true);
    hears(await listen(a, 15), [700]);
  });

  it('mute of one direction leaves the other alone', async () => {
    const [a, b] = await line();
    await play(a, 440);
    await play(b, 1000);
    b.mute('read', true);
    const [atA, atB] = await Promise.all([listen(a), listen(b)]);
    hears(atA, [1000]);
    assert.equal(loudness(atB), 0);
    b.mute('read', false);
    b.mute('write', true);
    assert.ok(loudness(await listen(a)) < 20);
  });

  it('a mute hides what came before it, a sound added later is heard, and a voice lies below both', async () => {
    const [a, b] = await line();
    const tone = (hz: number) => openSource(`tone_stream://%(60000,0,${hz})`, { soundsDir: '/' });
    await play(b, 440);
    b.mute('write', true);
    const endOverlay = b.addOverlay(await tone(1000));
    b.addVoice(await tone(1600));
    hears(await listen(a), [1000], [440, 1600]);
    endOverlay();
    b.mute('write', false);
    hears(await listen(a), [440, 1600], [1000]);
  });

  it('a party on hold hears nothing and gets nothing', async () => {
    const socket = await phone();
    const one = await leg();
    one.setRemote(party(socket.address().port, { direction: 'inactive' }));
    const before = one.stats().out_packet_count;
    await ticks(5);
    assert.equal(one.stats().out_packet_count, before);
    one.setRemote(party(socket.address().port));
    await once(socket, 'message');
  });

  it('a party that comes back from hold gets timestamps that ran on: what is left out of a stream takes its time', async () => {
    const [one, socket] = [await leg(), await phone()];
    const packets: RtpHeader[] = [];
    socket.on('message', (bytes: Buffer) => {
      const header = emptyHeader();
      if (parseRtp(bytes, header)) packets.push(header);
    });
    one.setRemote(party(socket.address().port));
    await ticks(5);
    one.setRemote(party(socket.address().port, { direction: 'sendonly' }));
    await ticks(30);
    one.setRemote(party(socket.address().port));
    await ticks(5);
    const back = packets.findLastIndex(packet => packet.marker);
    const [before, after] = [packets[back - 1], packets[back]];
    assert.ok(before && after, `${packets.length} packets and no pause`);
    assert.equal((after.sequence - before.sequence) & 0xffff, 1);
    const ran = (after.timestamp - before.timestamp) | 0;
    assert.ok(ran >= 29 * 160 && ran <= 33 * 160, `${ran / 160} frames of 20 ms`);
  });

  it('sends to where the party really is, and lets no stranger take the stream', async () => {
    const [real, stranger] = [await phone(), await phone()];
    const one = await leg();
    one.setRemote(party(9)); // what the description says is not reachable: the party is behind a NAT
    const first = once(one, 'first-packet');
    real.send(voice(1), one.localPort, host);
    await first;
    await once(real, 'message');
    let stolen = 0;
    stranger.on('message', () => stolen++);
    for (let n = 0; n < 20; n++) {
      real.send(voice(2 + n), one.localPort, host);
      stranger.send(voice(50 + n, 0x80, 5), one.localPort, host);
      await ticks(1);
    }
    assert.equal(stolen, 0);
    assert.equal(one.stats().in_skip_packet_count, 20);
  });

  it('follows a party that moves to another address after a re-INVITE', async () => {
    const [old, next] = [await phone(), await phone()];
    const one = await leg();
    one.setRemote(party(old.address().port));
    old.send(voice(1), one.localPort, host);
    await once(old, 'message');
    one.setRemote(party(next.address().port));
    await once(next, 'message');
  });

  it('survives garbage on its port', async () => {
    const socket = await phone();
    const one = await leg();
    one.setRemote(party(socket.address().port));
    for (let length = 0; length < 60; length++) socket.send(Buffer.alloc(length, length * 37), one.localPort, host);
    socket.send(Buffer.alloc(9000, 0x80), one.localPort, host);
    await ticks(5);
    assert.equal(one.stats().in_media_packet_count, 0);
  });

  it('hears a phone that is no leg of ours', async () => {
    const socket = await phone();
    const one = await leg();
    one.setRemote(party(socket.address().port));
    const expected = new Int16Array(1);
    decode('PCMU', Uint8Array.of(0x20), 0, 1, expected);
    let n = 0;
    const stop = clock.subscribe(() => socket.send(voice(n++), one.localPort, host));
    let heard: Int16Array = new Int16Array();
    let flaws = -1;
    for (let tries = 5; tries > 0 && flaws !== one.stats().in_flaw_total; tries--) {
      flaws = one.stats().in_flaw_total; // on a busy machine packets come late, and something is made up in their place
      heard = await listen(one);
    }
    stop();
    assert.ok(heard.every(sample => sample === expected[0]));
  });

  it('hears what came in while the process stood still', async () => {
    const socket = await phone();
    const one = await leg();
    one.setRemote(party(socket.address().port));
    let [n, said] = [0, 0];
    const say = (): void => socket.send(voice(n++), one.localPort, host);
    const stop = clock.subscribe(() => (n < 9 || n >= 18 ? say() : undefined));
    socket.on('message', () => {
      if (n !== 9 || said !== n) return void (said = n); // at the tick after the ninth, when nothing else came
      while (n < 18) say(); // what a party says now and in the next 160 ms
      process.nextTick(() => stall(160)); // it is on its way then, and nobody has read it
    });
    await ticks(20);
    stop();
    assert.equal(one.stats().in_flaw_total, 0);
  });
});
