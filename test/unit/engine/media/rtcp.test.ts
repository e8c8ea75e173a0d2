import { strict as assert } from 'node:assert';
import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { host, leg, party, phone, ticks, voice, withLegs } from './leg-rig.ts';

const run = promisify(execFile);

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

describe('The control packets of an audio leg', () => {
  withLegs();

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
});
