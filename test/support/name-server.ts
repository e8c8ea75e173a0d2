import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';

/** A record as its owner would write it down. */
export type NameRecord =
  | { type: 'A' | 'AAAA'; address: string; ttl?: number }
  | { type: 'SRV'; priority: number; weight: number; port: number; target: string; ttl?: number }
  | {
      type: 'NAPTR';
      order: number;
      preference: number;
      flags: string;
      service: string;
      replacement: string;
      ttl?: number;
    };

const TYPES: Readonly<Record<NameRecord['type'], number>> = { A: 1, AAAA: 28, SRV: 33, NAPTR: 35 };

const u16 = (...values: number[]): Buffer => Buffer.from(values.flatMap(one => [one >> 8, one & 255]));
const text = (value: string): Buffer => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
const nameOf = (name: string): Buffer =>
  Buffer.concat([...name.split('.').filter(Boolean).map(text), Buffer.from([0])]);

/** The eight groups of an IPv6 address that has no IPv4 part. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = address.split('::');
  const before = head.split(':').filter(Boolean);
  const after = (tail ?? '').split(':').filter(Boolean);
  return [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after].map(one =>
    parseInt(one, 16),
  );
}

function dataOf(record: NameRecord): Buffer {
  if (record.type === 'SRV')
    return Buffer.concat([u16(record.priority, record.weight, record.port), nameOf(record.target)]);
  if (record.type === 'NAPTR') {
    const { order, preference, flags, service, replacement } = record;
    return Buffer.concat([u16(order, preference), text(flags), text(service), text(''), nameOf(replacement)]);
  }
  return record.type === 'AAAA' ? u16(...groupsOf(record.address)) : Buffer.from(record.address.split('.').map(Number));
}

/** A DNS server (RFC 1035) on loopback that knows what it is given, and remembers what it was asked. */
export class NameServer {
  readonly #socket = createSocket('udp4');
  readonly #records = new Map<string, NameRecord[]>();
  /** `SRV _sip._udp.a.example`, in order. */
  readonly asked: string[] = [];
  /** Questions that nobody has answered yet; undefined while all are at once. */
  #waiting: { query: Buffer; from: RemoteInfo }[] | undefined;

  static async start(): Promise<NameServer> {
    const server = new NameServer();
    server.#socket.on(
      'message',
      (query, from) => server.#waiting?.push({ query, from }) ?? server.#answer(query, from),
    );
    server.#socket.bind(0, '127.0.0.1');
    await once(server.#socket, 'listening');
    return server;
  }

  get address(): string {
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  /** From now on a name has these records. */
  tell(name: string, ...records: NameRecord[]): void {
    this.#records.set(name.toLowerCase(), records);
  }

  /** Says nothing until `speak`. */
  silence(): void {
    this.#waiting = [];
  }

  speak(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const { query, from } of waiting) this.#answer(query, from);
  }

  close(): void {
    this.#socket.close();
  }

  #answer(query: Buffer, from: RemoteInfo): void {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length));
      at += length + 1;
    }
    const [name, wanted] = [labels.join('.').toLowerCase(), query.readUInt16BE(at + 1)];
    const type = Object.entries(TYPES).find(([, number]) => number === wanted)?.[0] ?? String(wanted);
    this.asked.push(`${type} ${name}`);
    const known = this.#records.get(name);
    const found = known?.filter(one => TYPES[one.type] === wanted) ?? [];
    const answers = found.map(one => {
      const data = dataOf(one);
      const ttl = Buffer.alloc(4);
      ttl.writeUInt32BE(one.ttl ?? 60);
      return Buffer.concat([u16(0xc00c, wanted, 1), ttl, u16(data.length), data]);
    });
    // Flags: an authoritative answer; NXDOMAIN for a name that is not known at all.
    const head = Buffer.concat([query.subarray(0, 2), u16(known ? 0x8580 : 0x8583, 1, answers.length, 0, 0)]);
    this.#socket.send(Buffer.concat([head, query.subarray(12, at + 5), ...answers]), from.port, from.address);
  }
}
