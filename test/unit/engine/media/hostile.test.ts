import { strict as assert } from 'node:assert';
import { createHmac } from 'node:crypto';
import type { RemoteInfo } from 'node:dgram';
import { once } from 'node:events';
import { LegMemory } from '../../../../engine/media/leg-memory.ts';
import type { RemoteParty } from '../../../../engine/media/remote-party.ts';
import type { RtpSocket } from '../../../../engine/media/rtp-ports.ts';
import { RtpPorts } from '../../../../engine/media/rtp-ports.ts';
import { RtpReceiver } from '../../../../engine/media/rtp-receiver.ts';
import { Resampler } from '../../../../engine/media/sources/resample.ts';
import { makeCertificate } from '../../../../engine/media/secure/certificate.ts';
import { DtlsSession } from '../../../../engine/media/secure/dtls-session.ts';
import type { DtlsProtection } from '../../../../engine/media/secure/protection.ts';
import type { Digit } from '../../../../engine/media/telephone-event.ts';
import { DigitReceiver } from '../../../../engine/media/telephone-event.ts';
import { Wire } from '../../../../engine/media/wire.ts';
import { party } from './leg-rig.ts';

const nobody = (): void => undefined;

/** Somebody at this address of a network. */
function at(address: string, port = 4000): RemoteInfo {
  return { address, port, family: 'IPv4', size: 0 };
}

/** The n-th packet of a stream. */
function packet(n: number, ssrc: number, payloadType = 0, payload = Buffer.alloc(160, 0x90)): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt16BE(0x8000 | payloadType, 0);
  header.writeUInt16BE(n & 0xffff, 2);
  header.writeUInt32BE((160 * n) >>> 0, 4);
  header.writeUInt32BE(ssrc, 8);
  return Buffer.concat([header, payload]);
}

/** A leg's receiving half, whose time goes on when it is told to. */
class Listening {
  readonly clock = { now: 0 };
  readonly digits: Digit[] = [];
  readonly receiver = new RtpReceiver(this.clock, LegMemory.take(), digit => this.digits.push(digit), nobody);

  constructor(more: Partial<RemoteParty> = {}) {
    this.receiver.setRemote(party(4000, { address: '10.0.0.7', ...more }));
  }

  wait(ticks: number): void {
    for (; ticks > 0; ticks--) {
      this.clock.now += 1;
      this.receiver.tick();
    }
  }

  /** A party talks for so long. */
  talks(from: RemoteInfo, ssrc: number, ticks: number): void {
    for (let n = 0; n < ticks; n++) {
      this.receiver.datagram(packet(n, ssrc), from);
      this.wait(1);
    }
  }

  get source(): string {
    const { source } = this.receiver;
    return source ? `${source.address}:${source.port}` : '';
  }
}

describe('A stranger', () => {
  const party = at('198.51.100.1');
  const stranger = at('203.0.113.9');
  let rtp: RtpSocket | undefined;

  afterEach(() => rtp?.release());

  it('who sends while a known party says nothing does not get its call', () => {
    const leg = new Listening();
    leg.talks(party, 7, 60);
    leg.wait(500);
    leg.talks(stranger, 8, 10);
    assert.equal(leg.source, '198.51.100.1:4000');
    assert.equal(leg.receiver.counts.skipped, 10);
  });

  for (const [who, from, ssrc] of [
    ['whose NAT gave it another port, with another stream too', at('198.51.100.1', 4711), 8],
    ['that goes on from another network', at('192.0.2.44', 4711), 7],
    ['that sends from where its description says after all', at('10.0.0.7'), 8],
  ] as const)
    it(`is not a party ${who}`, () => {
      const leg = new Listening();
      leg.talks(party, 7, 60);
      leg.wait(51);
      leg.talks(from, ssrc, 1);
      assert.equal(leg.source, `${from.address}:${from.port}`);
    });

  it('who was first, with a packet or two, loses the call to the party', () => {
    const leg = new Listening();
    leg.talks(stranger, 8, 2);
    leg.wait(51);
    leg.talks(party, 7, 1);
    assert.equal(leg.source, '198.51.100.1:4000');
  });

  it('behind port 0, where no answer can be sent to, is not heard: media, control packets and checks', async () => {
    const ports = new RtpPorts([33_200, 33_219], '127.0.0.1');
    rtp = await ports.acquire();
    const heard: string[] = [];
    const wire = new Wire(rtp, {
      rtp: () => heard.push('rtp'),
      rtcp: () => heard.push('rtcp'),
      path: () => heard.push('path'),
      insecure: reason => heard.push(reason),
    });
    const nowhere = at('127.0.0.1', 0);
    rtp.socket.emit('message', packet(1, 7), nowhere);
    rtp.rtcp?.emit('message', Buffer.from('80c9000100000007', 'hex'), nowhere);
    wire.protect(await browser('frag', 'a password of some length'));
    rtp.socket.emit('message', check('frag', 'a password of some length'), nowhere);
    assert.deepEqual(heard, []);
    rtp.socket.emit('message', check('frag', 'a password of some length'), at('127.0.0.1', rtp.port));
    assert.deepEqual(heard, ['path']);
    await once(rtp.socket, 'message'); // the answer
    wire.close();
  });
});

/** What a browser's description and ours agree on. */
async function browser(fragment: string, password: string): Promise<DtlsProtection> {
  const certificate = await makeCertificate();
  const { fingerprint } = certificate;
  return { kind: 'dtls', role: 'server', fingerprint, ice: { fragment, password }, certificate };
}

/** A connectivity check that knows the password (RFC 8489 sections 5 and 14.5). */
function check(fragment: string, password: string): Buffer {
  const user = Buffer.from(`${fragment}:them`.padEnd(12));
  const head = Buffer.from('000100002112a442000102030405060708090a0b', 'hex');
  const name = Buffer.concat([Buffer.from([0, 6, 0, user.length]), user]);
  const covered = Buffer.concat([head, name]);
  covered.writeUInt16BE(name.length + 24, 2);
  const integrity = createHmac('sha1', password).update(covered).digest();
  return Buffer.concat([covered, Buffer.from([0, 8, 0, 20]), integrity]);
}

describe('A party', () => {
  it('that begins a stream with every packet costs no more memory than with one', () => {
    const leg = new Listening({ codec: 'opus', payloadType: 111 });
    const before = process.memoryUsage.rss();
    for (let n = 0; n < 5000; n++) {
      leg.receiver.datagram(packet(n, n, 111, Buffer.from([0xf8, 0xff, 0xfe])), at('10.0.0.7'));
      if (n % 8 === 0) leg.wait(1);
    }
    const grown = (process.memoryUsage.rss() - before) / 1e6;
    assert.equal(leg.receiver.counts.media, 5000);
    assert.ok(grown < 40, `${grown} MB`); // a decoder has 18 KB
  });

  it('that sends far more audio than there is time makes no more work than a stream of 2.5 ms', () => {
    const leg = new Listening();
    for (let n = 0; n < 20_000; n++) {
      leg.receiver.datagram(packet(n, 7), at('10.0.0.7'));
      if (n % 200 === 0) leg.wait(1);
    }
    assert.ok(leg.receiver.counts.media < 1300, `${leg.receiver.counts.media}`);
    leg.wait(50);
    leg.receiver.datagram(packet(1, 8), at('10.0.0.7'));
    assert.equal(leg.receiver.ssrc, 8);
  });

  it('whose audio cannot be read is heard as silence, and each such packet counts as skipped', () => {
    const leg = new Listening({ codec: 'opus', payloadType: 111 });
    for (let n = 0; n < 10; n++)
      leg.receiver.datagram(packet(n, 7, 111, Buffer.from([0xff, 0xff, 0xff])), at('10.0.0.7'));
    assert.deepEqual([leg.receiver.counts.media, leg.receiver.counts.skipped], [10, 10]);
  });

  it('that presses a thousand keys a second is heard like the fastest dialler, and dials as ever afterwards', () => {
    const keys: string[] = [];
    const receiver = new DigitReceiver(({ digit }) => keys.push(digit));
    const press = (timestamp: number, tick: number): boolean =>
      receiver.packet(Buffer.from([5, 0x8a, 1, 0x40]), 0, 4, timestamp, tick);
    for (let tick = 0; tick < 100; tick++) {
      for (let n = 0; n < 20; n++) press(tick * 20 + n + 1, tick);
      receiver.tick(tick);
    }
    assert.ok(keys.length >= 50 && keys.length <= 110, `${keys.length}`);
    for (let tick = 100; tick < 300; tick++) receiver.tick(tick);
    keys.length = 0;
    for (let n = 0; n < 40; n++) press(100_000 + n * 400, 300 + 4 * n);
    assert.equal(keys.length, 40);
  });

  it('that begins its DTLS handshake two thousand times at once makes us answer a few times', async () => {
    const protection = await browser('frag', 'a password of some length');
    const answers: Buffer[] = [];
    const session = (role: DtlsProtection['role'], send: (packet: Buffer) => void): DtlsSession =>
      new DtlsSession({ ...protection, role }, protection.certificate, { send, keys: nobody, failed: nobody });
    const server = session('server', packet => answers.push(packet));
    const client = session('client', hello => {
      for (let n = 0; n < 2000; n++) server.receive(hello);
      client.close();
    });
    client.begin();
    await new Promise(resolve => setImmediate(resolve));
    server.close();
    assert.ok(answers.length >= 20 && answers.length < 60, `${answers.length}`);
  });
});

describe('A hostile file', () => {
  it('of eight channels at 64 kHz is read once, not once for every sample that is heard', () => {
    let reads = 0;
    const resampler = new Resampler(64_000, 8000, index => (reads++, index % 100));
    for (let index = 0; index < 8000; index++) resampler.at(index);
    assert.ok(reads < 1.2 * 64_000, `${reads}`);
  });
});
