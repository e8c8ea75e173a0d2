import { strict as assert } from 'node:assert';
import type { Socket } from 'node:dgram';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { RemoteParty } from '../../../../engine/media/audio-leg.ts';
import { AudioLeg } from '../../../../engine/media/audio-leg.ts';
import { MediaClock } from '../../../../engine/media/clock.ts';
import { decode } from '../../../../engine/media/codecs/g711.ts';
import { codecNamed, codecNames } from '../../../../engine/media/codecs/table.ts';
import { RtpPorts } from '../../../../engine/media/rtp-ports.ts';
import { emptyHeader, parseRtp, type RtpHeader } from '../../../../engine/media/rtp.ts';
import type { Digit } from '../../../../engine/media/telephone-event.ts';
import { openSource } from '../../../../engine/media/sources/open-source.ts';
import { loudness, toneAmplitude } from '../../../../engine/media/tones.ts';

const run = promisify(execFile);
const host = '127.0.0.1';
const codecs = codecNames.map(codecNamed);
const clock = new MediaClock();
const ports = new RtpPorts([33_000, 33_199], host);
let legs: AudioLeg[] = [];
let sockets: Socket[] = [];

function party(port: number, more: Partial<RemoteParty> = {}): RemoteParty {
  return {
    address: host,
    port,
    codec: 'PCMU',
    payloadType: 0,
    telephoneEvent: 101,
    ptime: 20,
    direction: 'sendrecv',
    ...more,
  };
}

async function leg(idleMs?: number): Promise<AudioLeg> {
  const opened = await AudioLeg.open({ ports, clock, idleMs });
  legs.push(opened);
  return opened;
}

/** Two legs that are each other's party, as two phones on a direct line. */
async function line(more: Partial<RemoteParty> = {}): Promise<[AudioLeg, AudioLeg]> {
  const [a, b] = [await leg(), await leg()];
  a.setRemote(party(b.localPort, more));
  b.setRemote(party(a.localPort, more));
  return [a, b];
}

async function phone(): Promise<Socket> {
  const socket = createSocket('udp4');
  sockets.push(socket);
  socket.bind(0, host);
  await once(socket, 'listening');
  return socket;
}

async function play(on: AudioLeg, frequency: number): Promise<void> {
  on.setSource(await openSource(`tone_stream://%(60000,0,${frequency})`, { soundsDir: '/' }));
}

function ticks(count: number): Promise<void> {
  return new Promise(resolve => {
    const stop = clock.subscribe(() => {
      if (--count > 0) return;
      stop();
      resolve();
    });
  });
}

/** What a leg's party says over the next 200 ms, after `skip` ticks. */
async function listen(on: AudioLeg, skip = 10): Promise<Int16Array> {
  await ticks(skip);
  const samples: number[] = [];
  const stop = on.addTap({ frame: said => samples.push(...said) });
  await ticks(10);
  stop();
  return Int16Array.from(samples);
}

function hears(samples: Int16Array, present: number[], absent: number[] = [], rate = 8000): void {
  const level = (hz: number) => Math.round(toneAmplitude(samples, hz, rate));
  for (const one of present) assert.ok(level(one) > 5000, `${one} Hz is missing: ${level(one)}`);
  for (const one of absent) assert.ok(level(one) < 500, `${one} Hz is heard: ${level(one)}`);
}

/** Listens until the party says that: on a busy machine a tone may have been cut. */
async function says(on: AudioLeg, present: number[], absent: number[] = [], skip?: number): Promise<void> {
  for (let tries = 4; tries > 0; tries--) {
    try {
      return hears(await listen(on, skip), present, absent, on.rate);
    } catch {
      // once more
    }
  }
  hears(await listen(on, skip), present, absent, on.rate);
}

/** An RTP packet of a phone, with a constant payload byte. */
function voice(n: number, byte = 0x20, ssrc = 99): Buffer {
  const packet = Buffer.alloc(172, byte);
  packet.writeUInt16BE(0x8000, 0);
  packet.writeUInt16BE(n & 0xffff, 2);
  packet.writeUInt32BE(n * 160, 4);
  packet.writeUInt32BE(ssrc, 8);
  return packet;
}

/** Fields of a control packet as tshark reads them; `_ws.expert` is empty for one without a flaw. */
async function dissected(packet: Buffer, fields: string[]): Promise<string[]> {
  const exported = Buffer.concat([Buffer.from('000c000472746370' + '00000000', 'hex'), packet]); // "of the dissector rtcp"
  const head = Buffer.alloc(40);
  [0xa1b2c3d4, 0x00040002, 0, 0, 0xffff, 252, 1, 0, exported.length, exported.length].forEach((word, at) =>
    head.writeUInt32BE(word, 4 * at),
  );
  const file = join(tmpdir(), `trunkline-rtcp-${process.pid}.pcap`);
  await writeFile(file, Buffer.concat([head, exported]));
  const { stdout } = await run('tshark', ['-r', file, '-T', 'fields', ...fields.flatMap(name => ['-e', name])]);
  await rm(file);
  return stdout.replace(/\n$/, '').split('\t');
}

describe('An audio leg', () => {
  afterEach(() => {
    for (const one of legs) one.close();
    for (const one of sockets) one.close();
    legs = [];
    sockets = [];
    assert.equal(ports.inUse, 0);
    assert.equal(clock.stats().subscribers, 0);
  });

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

  it('presses keys at the clock of Opus, and tells their length in samples', async () => {
    const [a, b] = await line({ codec: 'opus', payloadType: 102, telephoneEvent: 103 });
    const pressed: [string, number][] = [];
    b.on('digit', ({ digit, duration_samples }) => pressed.push([digit, duration_samples]));
    await play(a, 440);
    await listen(b);
    await a.sendDigits('5#');
    await ticks(10);
    assert.deepEqual(pressed, [
      ['5', 800],
      ['#', 800],
    ]);
    await says(b, [440]);
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

  it('digits arrive once each, in order, and are not heard as noise', async () => {
    const [a, b] = await line();
    const digits: string[] = [];
    b.on('digit', one => digits.push(`${one.digit}:${one.duration_samples}`));
    const quiet = listen(b, 0);
    await a.sendDigits('159#', 80, 60);
    await ticks(5);
    assert.deepEqual(digits, ['1:640', '5:640', '9:640', '#:640']);
    assert.ok(loudness(await quiet) < 20);
  });

  it('digits of one bridged party are reported and passed on', async () => {
    const [phoneA, a] = await line();
    const [phoneB, b] = await line();
    a.bridge(b);
    const reported = once(a, 'digit');
    const passed = once(phoneB, 'digit');
    await ticks(3);
    await phoneA.sendDigits('7');
    assert.equal(((await reported) as [{ digit: string }])[0].digit, '7');
    assert.equal(((await passed) as [{ digit: string }])[0].digit, '7');
  });

  it('a party without telephone-event gets digits as tones', async () => {
    const [a, b] = await line({ telephoneEvent: null });
    b.hearTones(false);
    await ticks(10);
    const heard = listen(b, 0);
    void a.sendDigits('5', 1000);
    hears((await heard).subarray(640), [770, 1336], [697, 941]);
  });

  it('keys of a party without telephone-event are taken from its tones, which others hardly hear', async () => {
    const [a, b] = await line({ telephoneEvent: null });
    const digits: Digit[] = [];
    b.on('digit', digit => digits.push(digit));
    let loud = 0;
    b.addTap({ frame: said => (loud += loudness(said) > 100 ? 1 : 0) });
    await ticks(10);
    await a.sendDigits('1590D*#55', 80, 60);
    await ticks(6);
    assert.equal(digits.map(({ digit }) => digit).join(''), '1590D*#55');
    assert.ok(digits.every(({ inband, duration_samples }) => inband && Math.abs(duration_samples - 640) <= 160));
    assert.ok(loud <= 2 * digits.length, `${loud} frames of tones`);
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

  it('tells when a party has vanished, once', async () => {
    const socket = await phone();
    const one = await leg(100);
    let idle = 0;
    one.on('idle', () => idle++);
    one.setRemote(party(socket.address().port));
    socket.send(voice(1), one.localPort, host);
    await once(one, 'idle');
    await ticks(10);
    assert.equal(idle, 1);
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

  it('reports to the party by RTCP what tshark reads as sent, lost and late', async () => {
    const socket = await phone();
    const one = await leg();
    one.setRemote({ ...party(socket.address().port), multiplexed: true });
    const reported = new Promise<Buffer>(resolve =>
      socket.on('message', packet => packet[1] === 200 && resolve(Buffer.from(packet))),
    );
    for (let n = 1; n <= 10; n++) if (n !== 5) socket.send(voice(n), one.localPort, host);
    socket.send(Buffer.from('80c8000600000063aabbccdd11223344000000000000000a000000a0', 'hex'), one.localPort, host);
    const packets = 'rtcp.sender.packetcount';
    const ofPhone = ['fraction', 'cum_nr', 'ext_high', 'jitter', 'lsr', 'dlsr'].map(name => `rtcp.ssrc.${name}`);
    const fields = ['rtcp.pt', packets, 'rtcp.sender.octetcount', ...ofPhone, 'rtcp.length_check', '_ws.expert'];
    const [types, sent, octets, fraction, lost, highest, jitter, last, delay, length, flaws] = await dissected(
      await reported,
      fields,
    );
    assert.deepEqual(
      [types, fraction, lost, highest, last, length, flaws],
      ['200,202', '25', '1', '10', String(0xccdd1122), '1', ''],
    );
    assert.ok(Number(sent) >= 40 && Number(sent) <= 50 && Number(octets) === 160 * Number(sent), `${sent}, ${octets}`);
    assert.ok(Number(jitter) > 40 && Number(jitter) < 160, `${jitter}: ten packets of 20 ms came at once`);
    assert.ok(Number(delay) > 0.5 * 65_536 && Number(delay) < 3 * 65_536, `${delay}: a second before`);
  });

  it('learns from the party’s reports how far away it is, and how our stream arrives', async () => {
    const socket = await phone();
    const one = await leg();
    one.setRemote({ ...party(socket.address().port), multiplexed: true });
    const report = await new Promise<Buffer>(resolve => {
      socket.on('message', packet => packet[1] === 200 && resolve(Buffer.from(packet)));
      socket.send(voice(1), one.localPort, host);
    });
    const answer = Buffer.alloc(32);
    answer.writeUInt32BE(0x81c90007, 0);
    answer.writeUInt32BE(report.readUInt32BE(4), 8);
    answer.writeUInt8(64, 12); // a quarter is lost
    answer.writeUInt32BE(80, 20); // 10 ms at 8 kHz
    answer.writeUInt32BE(report.readUInt32BE(10), 24);
    answer.writeUInt32BE(0, 28);
    socket.send(answer, one.localPort, host);
    while (one.stats().rtcp_packet_count === 0) await ticks(1);
    const { rtcp_round_trip_ms, rtcp_reported_loss_rate, rtcp_reported_jitter_ms } = one.stats();
    assert.ok(rtcp_round_trip_ms >= 0 && rtcp_round_trip_ms < 500, `${rtcp_round_trip_ms} ms`);
    assert.deepEqual([rtcp_reported_loss_rate, rtcp_reported_jitter_ms], [25, 10]);
    assert.equal(report.readUInt32BE(28), 99);
  });

  it('closing ends waiting digits and may be done twice', async () => {
    const [a] = await line();
    const sent = a.sendDigits('123456789');
    a.close();
    a.close();
    await sent;
  });
});

describe('RTP ports', () => {
  it('are even, and run out with a sentence', async () => {
    const few = new RtpPorts([33_301, 33_305], host);
    const taken = [await few.acquire(), await few.acquire()];
    assert.deepEqual(taken.map(one => one.port).sort(), [33_302, 33_304]);
    await assert.rejects(few.acquire(), /no free RTP port between 33301 and 33305/);
    for (const one of taken) one.release();
    assert.equal(few.inUse, 0);
  });

  it('rest before they are used again', async () => {
    const one = new RtpPorts([33_310, 33_311], host);
    (await one.acquire()).release();
    const start = performance.now();
    (await one.acquire()).release();
    assert.ok(performance.now() - start >= 350);
  });

  it('that another program has are passed over', async () => {
    const other = createSocket('udp4').bind(33_320, host);
    await once(other, 'listening');
    const two = new RtpPorts([33_320, 33_323], host);
    const got = await two.acquire();
    assert.equal(got.port, 33_322);
    got.release();
    other.close();
  });
});

describe('The media clock', () => {
  it('does not drift: 100 ticks take two seconds, and it tells how late they were', async () => {
    const own = new MediaClock();
    const times: number[] = [];
    await new Promise<void>(resolve => {
      const stop = own.subscribe(() => {
        times.push(performance.now());
        if (times.length > 100) {
          stop();
          resolve();
        }
      });
    });
    const took = (times[100] ?? 0) - (times[0] ?? 0);
    assert.ok(Math.abs(took - 2000) < 40, `${took} ms`);
    assert.ok(own.stats().mean_late_ms < 20 && own.stats().ticks === 101);
  });

  it('makes up for a short stall and skips a long one', async () => {
    const own = new MediaClock();
    let count = 0;
    const ticked = new Promise<void>(resolve => {
      const stop = own.subscribe(() => {
        if (++count === 1) stall(700);
        if (count === 29) {
          stop();
          resolve();
        }
      });
    });
    await ticked;
    assert.ok(own.stats().skipped >= 5 && own.stats().skipped <= 15, `${own.stats().skipped} skipped`);
    assert.ok(own.stats().max_late_ms > 100);
  });

  it('goes on for the others when one subscriber throws, and stops with the last', async () => {
    const errors: unknown[] = [];
    const own = new MediaClock(error => errors.push(error));
    const stopBroken = own.subscribe(() => {
      throw new Error('broken');
    });
    await new Promise<void>(resolve => {
      const stop = own.subscribe(() => {
        stop();
        resolve();
      });
    });
    stopBroken();
    assert.equal(errors.length, 1);
    assert.equal(own.stats().subscribers, 0);
  });
});

function stall(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}
