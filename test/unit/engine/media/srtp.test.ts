import { strict as assert } from 'node:assert';
import { RtpHeader, SrtcpSession, SrtpSession } from 'werift';
import { sessionKeys } from '../../../../engine/media/secure/srtp-keys.ts';
import { SrtpReceiver, SrtpSender } from '../../../../engine/media/secure/srtp.ts';

const suite = 'AES_CM_128_HMAC_SHA1_80' as const;
const key = Buffer.from('E1F97A0D3E018BE0D64FA32C06DE4139', 'hex');
const salt = Buffer.from('0EC675AD498AFEEBB6960B3AABE6', 'hex');

/** The same keys in a library that shares no code with the engine. */
const theirs = {
  keys: { localMasterKey: key, localMasterSalt: salt, remoteMasterKey: key, remoteMasterSalt: salt },
  profile: 1,
};

function rtp(sequence: number, bytes = 160): Buffer {
  const packet = Buffer.alloc(12 + bytes, 0x5a);
  packet.writeUInt16BE(0x8000, 0);
  packet.writeUInt16BE(sequence & 0xffff, 2);
  packet.writeUInt32BE(sequence * 160, 4);
  packet.writeUInt32BE(0xcafebabe, 8);
  return packet;
}

/** A receiver report without blocks and a description. */
const report = Buffer.from('80c90001cafebabe81ca0004cafebabe0108636166656261626500000000'.slice(0, 56), 'hex');

function protect(sender: SrtpSender, packet: Buffer): Buffer {
  const room = Buffer.concat([packet, Buffer.alloc(20)]);
  return room.subarray(0, sender.rtp(room, packet.length));
}

function open(receiver: SrtpReceiver, packet: Buffer): Buffer | null {
  const copy = Buffer.from(packet);
  const length = receiver.rtp(copy);
  return length === null ? null : copy.subarray(0, length);
}

describe('SRTP', () => {
  it('derives the keys of RFC 3711 appendix B.3', () => {
    const keys = sessionKeys({ suite, key, salt }, 'rtp');
    assert.equal(keys.encryption.toString('hex'), 'c61e7a93744f39ee10734afe3ff7a087');
    assert.equal(keys.salt.toString('hex'), '30cbbc08863d8c85d49db34a9ae1');
    assert.equal(keys.authentication.toString('hex'), 'cebe321f6ff7716b6fd4ab49af256a156d38baa4');
  });

  it('is understood by another implementation, and understands it, RTP and RTCP', () => {
    const sender = new SrtpSender({ suite, key, salt });
    const receiver = new SrtpReceiver({ suite, key, salt });
    const peer = new SrtpSession(theirs);
    const control = new SrtcpSession(theirs);
    for (const sequence of [65_534, 65_535, 65_536, 65_537]) {
      const packet = rtp(sequence);
      assert.ok(peer.decrypt(protect(sender, packet)).equals(packet));
      const foreign = peer.encrypt(packet.subarray(12), RtpHeader.deSerialize(packet));
      assert.ok(open(receiver, foreign)?.equals(packet));
      assert.ok(control.decrypt(sender.rtcp(report)).equals(report));
      const encrypted = control.encrypt(report);
      const length = receiver.rtcp(encrypted);
      assert.ok(length !== null && encrypted.subarray(0, length).equals(report));
    }
  });

  it('opens the next stream of a party under the same key, whatever its sequence begins with, and still the one before', () => {
    const peer = new SrtpSession(theirs);
    const receiver = new SrtpReceiver({ suite, key, salt });
    const packets = [65_535, 65_536, 9, 10, 65_537].map(sequence => rtp(sequence));
    for (const packet of packets.slice(2, 4)) packet.writeUInt32BE(0xdecade, 8);
    for (const packet of packets) {
      const sealed = peer.encrypt(packet.subarray(12), RtpHeader.deSerialize(packet));
      assert.ok(open(receiver, sealed)?.equals(packet));
    }
  });

  it('opens every stream of a party that had many transfers at its end, and the one that lasts all the time', () => {
    const receiver = new SrtpReceiver({ suite, key, salt });
    const lasting = new SrtpSession(theirs);
    const opens = (session: SrtpSession, packet: Buffer): boolean =>
      open(receiver, session.encrypt(packet.subarray(12), RtpHeader.deSerialize(packet)))?.equals(packet) ?? false;
    assert.ok(opens(lasting, rtp(65_535)));
    for (let n = 0; n < 40; n++) {
      const first = rtp(7);
      first.writeUInt32BE(n, 8);
      assert.ok(opens(new SrtpSession(theirs), first), `stream ${n}`);
      assert.ok(opens(lasting, rtp(65_536 + n)), `after stream ${n}`);
      assert.ok(!opens(new SrtpSession(theirs), first), `again stream ${n}`);
    }
  });

  it('drops a packet that is longer than any codec makes, however well it proves itself', () => {
    const receiver = new SrtpReceiver({ suite, key, salt });
    for (const [sequence, bytes] of [1990, 2100, 60_000].entries()) {
      const packet = rtp(sequence + 1, bytes);
      const opened = open(
        receiver,
        new SrtpSession(theirs).encrypt(packet.subarray(12), RtpHeader.deSerialize(packet)),
      );
      assert.equal(opened?.equals(packet) ?? false, bytes < 2000, `${bytes}`);
    }
    const long = Buffer.concat([report, ...Array.from({ length: 100 }, () => report)]);
    assert.equal(receiver.rtcp(new SrtcpSession(theirs).encrypt(long)), null);
  });

  for (const [name, tag] of [
    ['AES_CM_128_HMAC_SHA1_80', 10],
    ['AES_CM_128_HMAC_SHA1_32', 4],
  ] as const)
    it(`${name}: opens what it has protected, in any order, and drops what is repeated or forged`, () => {
      const sender = new SrtpSender({ suite: name, key, salt });
      const receiver = new SrtpReceiver({ suite: name, key, salt });
      const packets = [65_533, 65_534, 65_535, 65_536, 65_537].map(one => rtp(one));
      const sealed = packets.map(one => protect(sender, one));
      assert.equal(sealed[0]?.length, 172 + tag);
      for (const at of [0, 3, 1, 2, 4])
        assert.ok(open(receiver, sealed[at] ?? Buffer.alloc(0))?.equals(packets[at] ?? key));
      for (const one of sealed) assert.equal(open(receiver, one), null);
      const forged = protect(sender, rtp(65_538));
      forged[20] = (forged[20] ?? 0) ^ 1;
      assert.equal(open(receiver, forged), null);
      for (let length = 0; length < 30; length++) assert.equal(open(receiver, forged.subarray(0, length)), null);
    });
});
