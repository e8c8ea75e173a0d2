import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { Stranger } from '../../test/support/stranger.ts';
import { attackBySipp, type Overheard } from './attack-sipp.ts';
import { type Target, type Wave, WAVES } from './attack-waves.ts';

/** Turns of an address that stays below the measure of the guard, like one of a thousand captured machines. */
const QUIET_TURNS = 6;
const AT_ONCE = 24;
/** What may never succeed. */
const FORBIDDEN = WAVES.filter(wave => !wave.open);
/**
 * Where sipp takes part it sends this part of the messages, so many a second. The script sends a little more than the rest: a guess
 * of sipp that is not challenged is one message in place of two.
 */
const SIPP_SHARE = 0.3;
const SCRIPT_SHARE = 0.76;
const SIPP_A_SECOND = 400;

export interface CampaignPlan {
  messages: number;
  /** Whether sipp takes part; it must be installed then. */
  sipp?: boolean;
}

/** Strangers at many addresses, each with one kind of attack, until `most` messages are sent. */
export class Campaign {
  messages = 0;
  addresses = 0;
  /** What strangers sent and what they were told, in bytes. */
  readonly bytes = { sent: 0, heard: 0 };
  /** How many messages they heard. */
  heard = 0;
  /** Calls that are never acknowledged. */
  neverAcked = 0;
  readonly answers = new Map<string, Map<string, number>>();
  readonly breaches: string[] = [];
  readonly #target: Target;
  readonly #most: number;
  readonly #network: number;
  readonly #ofSipp = new Set<string>();
  readonly #turns = new Map(WAVES.map(wave => [wave, 0]));

  readonly #withSipp: boolean;

  /** @param nth campaign of this server: each has addresses of its own, which nobody has banned yet */
  constructor(target: Target, { messages, sipp = false }: CampaignPlan, nth: number) {
    this.#target = target;
    this.#most = messages;
    this.#withSipp = sipp;
    this.#network = 10 + 20 * nth;
  }

  async run(): Promise<void> {
    const bySipp = this.#withSipp ? Math.floor(this.#most * SIPP_SHARE) : 0;
    const byScript = this.#withSipp ? Math.floor(this.#most * SCRIPT_SHARE) : this.#most;
    const attackers = Array.from({ length: AT_ONCE }, (_, at) =>
      at % 3 === 0 ? this.#loud(byScript) : this.#quiet(byScript),
    );
    const sipp = bySipp > 0 ? attackBySipp(this.#target, bySipp, bySipp / SIPP_A_SECOND, this.#network + 10) : [];
    await Promise.all(attackers);
    for (const message of await sipp) this.#overheard(message);
  }

  /** Addresses that stay below the measure of the guard, like those of a thousand captured machines. */
  async #quiet(most: number): Promise<void> {
    while (this.messages < most)
      await this.#from(WAVES, async (one, wave) => {
        for (let turn = 0; turn < QUIET_TURNS; turn++) await this.#turn(one, wave);
      });
  }

  /** Addresses that do not care, and wait for nothing; most of what they send is never answered. */
  async #loud(most: number): Promise<void> {
    const turns = Math.max(20, most / 200);
    while (this.messages < most)
      await this.#from(FORBIDDEN, async (one, wave) => {
        await this.#overTcp(one.address);
        const asked: unknown[] = [];
        for (let turn = 0; turn < turns && this.messages < most; turn++) {
          asked.push(this.#turn(one, wave));
          await wait(4);
        }
        await Promise.all(asked);
      });
  }

  /** A stranger at an address that nobody had, with the attack that is most behind its share. */
  async #from(waves: readonly Wave[], act: (one: Stranger, wave: Wave) => Promise<void>): Promise<void> {
    const behind = (wave: Wave): number => (this.#turns.get(wave) ?? 0) / wave.share;
    const wave = waves.reduce((least, each) => (behind(each) < behind(least) ? each : least));
    const one = await Stranger.start(this.#newAddress(), this.#target.server, text =>
      this.#heard(wave.name, text, wave.open),
    );
    const send = one.throw.bind(one);
    one.throw = data => {
      this.messages += 1;
      this.bytes.sent += Buffer.byteLength(data);
      send(data);
    };
    await act(one, wave).finally(() => one.close());
  }

  #turn(one: Stranger, wave: Wave): unknown {
    const count = this.#turns.get(wave) ?? 0;
    this.#turns.set(wave, count + 1);
    return wave.turn(one, count, this.#target);
  }

  #newAddress(): string {
    const at = (this.addresses += 1);
    return `127.${this.#network + (at >> 16)}.${(at >> 8) & 255}.${at & 255}`;
  }

  /** A connection that claims a body of a gigabyte, one whose header never ends, and one that says nothing. */
  async #overTcp(localAddress: string): Promise<void> {
    const { host, port } = this.#target.server;
    const starts = [`INVITE sip:a@b SIP/2.0\r\nContent-Length: 999999999\r\n\r\n`, `OPTIONS sip:b SIP/2.0\r\nX: `, ''];
    await Promise.all(
      starts.map(async start => {
        const socket = connect({ host, port, localAddress });
        socket.on('error', () => undefined); // closing us is the right answer
        this.messages += 1;
        socket.write(start);
        for (let n = 0; start && n < 20 && socket.writable; n++) {
          socket.write('a'.repeat(8_000));
          await wait(2);
        }
        socket.destroy();
      }),
    );
  }

  /** A message of sipp, which tells when all is over. */
  #overheard({ wave, direction, text }: Overheard): void {
    if (direction === 'heard') return this.#heard(wave, text);
    this.messages += 1;
    this.bytes.sent += text.length;
    if (text.startsWith('INVITE ')) this.neverAcked += 1;
    const address = /^Via: \S+ ([\d.]+)/m.exec(text)?.[1] ?? '';
    if (!this.#ofSipp.has(address)) this.addresses += 1;
    this.#ofSipp.add(address);
  }

  #heard(wave: string, text: string, open = false): void {
    const status = Number(/^SIP\/2\.0 (\d{3})/.exec(text)?.[1] ?? 0);
    const method = /^cseq: *\d+ (\w+)/im.exec(text)?.[1] ?? '';
    const name = `${method} ${status}`;
    this.heard += 1;
    this.bytes.heard += text.length;
    const counts = this.answers.get(wave) ?? new Map<string, number>();
    this.answers.set(wave, counts.set(name, (counts.get(name) ?? 0) + 1));
    const harmless = status === 100 || status >= 300 || method === 'OPTIONS' || method === 'CANCEL' || open;
    if (!harmless) this.breaches.push(`${wave}: a stranger was answered ${text.split('\r\n')[0]} to ${method}`);
  }
}
