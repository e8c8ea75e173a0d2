import { strict as assert } from 'node:assert';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { AudioLeg, type RemoteParty } from '../../../../engine/media/audio-leg.ts';
import { MediaClock } from '../../../../engine/media/clock.ts';
import { RtpPorts } from '../../../../engine/media/rtp-ports.ts';
import { openSource } from '../../../../engine/media/sources/open-source.ts';
import { toneAmplitude } from '../../../../engine/media/tones.ts';
import { eventually } from '../../../support/eventually.ts';

export const host = '127.0.0.1';
/** The clock of all legs. */
export const clock = new MediaClock();
const ports = new RtpPorts([33_000, 33_199], host);
const legs: AudioLeg[] = [];
const sockets: Socket[] = [];

/** Closes the legs and phones of each test of a describe behind it, and looks whether anything of them stays. */
export function withLegs(): void {
  afterEach(async () => {
    for (const one of [...legs.splice(0), ...sockets.splice(0)]) one.close();
    assert.equal(ports.inUse, 0);
    // Of a test that timed out somebody may still be listening, for a few beats.
    await eventually('a clock that nobody hears', () => clock.stats().subscribers, left => left === 0); // prettier-ignore
  });
}

/** A phone on this port, as a description says it. */
export function party(port: number, more: Partial<RemoteParty> = {}): RemoteParty {
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

/** A leg, closed behind the test. */
export async function leg(): Promise<AudioLeg> {
  const opened = await AudioLeg.open({ ports, clock });
  legs.push(opened);
  return opened;
}

/** Two legs that are each other's party, as two phones on a direct line. */
export async function line(more: Partial<RemoteParty> = {}): Promise<[AudioLeg, AudioLeg]> {
  const [a, b] = [await leg(), await leg()];
  a.setRemote(party(b.localPort, more));
  b.setRemote(party(a.localPort, more));
  return [a, b];
}

/** The socket of a phone, closed behind the test. */
export async function phone(): Promise<Socket> {
  const socket = createSocket('udp4');
  sockets.push(socket);
  socket.bind(0, host);
  await once(socket, 'listening');
  return socket;
}

/** Lets a leg say a tone to its party. */
export async function play(on: AudioLeg, frequency: number): Promise<void> {
  on.setSource(await openSource(`tone_stream://%(60000,0,${frequency})`, { soundsDir: '/' }));
}

/** Resolves so many beats of 20 ms later. */
export function ticks(count: number): Promise<void> {
  return new Promise(resolve => {
    const stop = clock.subscribe(() => {
      if (--count > 0) return;
      stop();
      resolve();
    });
  });
}

/** What a leg's party says over the next 200 ms, after `skip` ticks. */
export async function listen(on: AudioLeg, skip = 10): Promise<Int16Array> {
  await ticks(skip);
  const samples: number[] = [];
  const stop = on.addTap({ frame: said => samples.push(...said) });
  await ticks(10);
  stop();
  return Int16Array.from(samples);
}

/** That these tones are in the samples, and those are not. */
export function hears(samples: Int16Array, present: number[], absent: number[] = [], rate = 8000): void {
  const level = (hz: number) => Math.round(toneAmplitude(samples, hz, rate));
  for (const one of present) assert.ok(level(one) > 5000, `${one} Hz is missing: ${level(one)}`);
  for (const one of absent) assert.ok(level(one) < 500, `${one} Hz is heard: ${level(one)}`);
}

/** Listens until the party says that: on a busy machine a tone may have been cut. */
export async function says(on: AudioLeg, present: number[], absent: number[] = [], skip?: number): Promise<void> {
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
export function voice(n: number, byte = 0x20, ssrc = 99): Buffer {
  const packet = Buffer.alloc(172, byte);
  packet.writeUInt16BE(0x8000, 0);
  packet.writeUInt16BE(n & 0xffff, 2);
  packet.writeUInt32BE(n * 160, 4);
  packet.writeUInt32BE(ssrc, 8);
  return packet;
}

/** Does nothing else for so long. */
export function stall(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}
