import { strict as assert } from 'node:assert';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { newId } from '#contract/ids';
import type { SipMessageRecord } from '#contract/timeline';
import { pcapOf } from '../../control-api/events/pcap.ts';

const run = promisify(execFile);

const seen = (given: Partial<SipMessageRecord>): SipMessageRecord => ({
  id: newId(),
  timestamp: '2026-11-21 13:00:00.000001',
  direction: 'received',
  transport: 'udp',
  method: 'OPTIONS',
  src_ip: '192.0.2.1',
  src_port: 5060,
  dst_ip: '198.51.100.2',
  dst_port: 5062,
  raw: 'OPTIONS sip:a@b SIP/2.0\r\nCall-ID: ä\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n',
  ...given,
});

/** Fields of each packet as tshark reads them, checksums checked. */
const read = async (messages: SipMessageRecord[], fields: string[]): Promise<string[][]> => {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-pcap-'));
  await writeFile(join(folder, 'a.pcap'), pcapOf(messages));
  const checks = ['udp', 'tcp', 'ip'].flatMap(name => ['-o', `${name}.check_checksum:TRUE`]);
  const wanted = ['-T', 'fields', ...fields.flatMap(name => ['-e', name])];
  const { stdout } = await run('tshark', ['-r', join(folder, 'a.pcap'), ...checks, ...wanted]);
  await rm(folder, { recursive: true });
  return stdout
    .trimEnd()
    .split('\n')
    .map(line => line.split('\t'));
};

describe('a capture file made of SIP messages', function () {
  this.timeout(30_000);

  it('has addresses, ports, times and right checksums over IPv4 and IPv6', async () => {
    const wide = { src_ip: '2001:db8::1', dst_ip: '2001:db8:0:1::2', timestamp: '2026-11-21 13:00:01.250000' };
    const fields = ['frame.time_epoch', 'ip.src', 'ipv6.dst', 'udp.srcport', 'udp.checksum.status', 'sip.Method'];
    assert.deepEqual(await read([seen({}), seen(wide)], fields), [
      ['1795266000.000001000', '192.0.2.1', '', '5060', '1', 'OPTIONS'],
      ['1795266001.250000000', '', '2001:db8:0:1::2', '5060', '1', 'OPTIONS'],
    ]);
  });

  it('puts messages over streams one behind the other', async () => {
    const forth = seen({ transport: 'tcp' });
    const { src_ip, src_port, dst_ip, dst_port, raw } = forth;
    const back = seen({ transport: 'tcp', src_ip: dst_ip, src_port: dst_port, dst_ip: src_ip, dst_port: src_port });
    const length = String(Buffer.byteLength(raw));
    const rows = await read(
      [forth, back, forth],
      ['tcp.seq_raw', 'tcp.ack_raw', 'tcp.len', 'tcp.checksum.status', 'sip.Method'],
    );
    const behind = String(1 + Number(length));
    assert.deepEqual(rows, [
      ['1', '1', length, '1', 'OPTIONS'],
      ['1', behind, length, '1', 'OPTIONS'],
      [behind, behind, length, '1', 'OPTIONS'],
    ]);
  });

  it('can be made of anything, addresses unknown or nonsense', () => {
    const text = fc.string({ unit: 'binary', maxLength: 300 });
    fc.assert(
      fc.property(
        text,
        text,
        fc.string({ maxLength: 2000 }),
        fc.constantFrom('udp', 'tcp', 'wss'),
        (src_ip, dst_ip, raw, transport) => {
          assert.ok(pcapOf([seen({ src_ip, dst_ip, raw, transport })]).length > 40);
        },
      ),
    );
  });
});
