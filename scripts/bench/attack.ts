import { connect } from 'node:net';
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { newId } from '#contract/ids';
import { CarrierDesk, OWN_NUMBER } from '../../test/support/carrier.ts';
import { Office, type PhoneAccount } from '../../test/support/office.ts';
import { startStack, type Stack } from '../../test/support/stack.ts';
import { Stranger } from '../../test/support/stranger.ts';
import { type Target, type Wave, WAVES } from './attack-waves.ts';
import { Victims } from './attack-victims.ts';
import { percentile } from './figures.ts';

/** Turns of an address that stays below the measure of the guard, like one of a thousand captured machines. */
const QUIET_TURNS = 6;
const AT_ONCE = 24;
/** What may never succeed. */
const FORBIDDEN = WAVES.filter(wave => !wave.open);
/** How much a process may grow, MB; and how much in the second half, if that is no less than in the first. */
const MOST_GROWTH = { at_all: 600, steadily: 150 };
/**
 * V8 leaves garbage lying as long as there is room, so that growth says nothing. With a small heap a process that held what
 * strangers send would die of it.
 */
const HEAP_MB = 160;
const FORGOTTEN_MS = 60_000;
/** So many standard errors apart two distributions are not the same. */
const TELLING = 4;

/** What came of an attack: figures, and what must not have happened, a sentence each. */
export interface AttackResult {
  messages: number;
  addresses: number;
  /** Final answers by wave and `method status`. */
  answers: Map<string, Map<string, number>>;
  setups: { before: number[]; during: number[] };
  registrations: number;
  timing: Record<string, number[]>;
  memory: { name: string; before: number; half: number; after: number }[];
  bans: number;
  breaches: string[];
}

/** Strangers at many addresses, each with one kind of attack, until `most` messages are sent. */
class Campaign {
  messages = 0;
  addresses = 0;
  readonly answers = new Map<string, Map<string, number>>();
  readonly breaches: string[] = [];
  readonly #target: Target;
  readonly #most: number;
  readonly #halfway: () => void;
  readonly #turns = new Map(WAVES.map(wave => [wave, 0]));

  /** @param halfway called when half of the messages are out */
  constructor(target: Target, most: number, halfway: () => void) {
    this.#target = target;
    this.#most = most;
    this.#halfway = halfway;
  }

  async run(): Promise<void> {
    const attackers = Array.from({ length: AT_ONCE }, (_, at) => (at % 3 === 0 ? this.#loud() : this.#quiet()));
    await Promise.all(attackers);
  }

  /** Addresses that stay below the measure of the guard, like those of a thousand captured machines. */
  async #quiet(): Promise<void> {
    while (this.messages < this.#most)
      await this.#from(WAVES, async (one, wave) => {
        for (let turn = 0; turn < QUIET_TURNS; turn++) await this.#turn(one, wave);
      });
  }

  /** Addresses that do not care, and wait for nothing; most of what they send is never answered. */
  async #loud(): Promise<void> {
    const turns = Math.max(20, this.#most / 200);
    while (this.messages < this.#most)
      await this.#from(FORBIDDEN, async (one, wave) => {
        await this.#overTcp(one.address);
        const asked: unknown[] = [];
        for (let turn = 0; turn < turns && this.messages < this.#most; turn++) {
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
    const one = await Stranger.start(this.#newAddress(), this.#target.server, text => this.#heard(wave, text));
    const send = one.throw.bind(one);
    one.throw = data => {
      this.messages += 1;
      if (this.messages === Math.floor(this.#most / 2)) this.#halfway();
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
    return `127.${10 + (at >> 16)}.${(at >> 8) & 255}.${at & 255}`;
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

  #heard(wave: Wave, text: string): void {
    const status = Number(/^SIP\/2\.0 (\d{3})/.exec(text)?.[1] ?? 0);
    const method = /^cseq: *\d+ (\w+)/im.exec(text)?.[1] ?? '';
    const name = `${method} ${status}`;
    const counts = this.answers.get(wave.name) ?? new Map<string, number>();
    this.answers.set(wave.name, counts.set(name, (counts.get(name) ?? 0) + 1));
    const harmless = status === 100 || status >= 300 || method === 'OPTIONS' || method === 'CANCEL' || wave.open;
    if (!harmless) this.breaches.push(`${wave.name}: a stranger was answered ${text.split('\r\n')[0]} to ${method}`);
  }
}

const KNOWN = 'a known user';

/** A process's resident memory in MB. */
const residentMb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

const memoryOf = ({ processes, stores }: Stack): Map<string, number> =>
  new Map([
    ['engine', residentMb(processes.engine.pid)],
    ['media-app', residentMb(processes.mediaApp[0]?.pid ?? 0)],
    ['control-api', residentMb(processes.controlApi.pid)],
    ['redis', residentMb(stores.redis.pid)],
  ]);

const isBloated = ({ before, half, after }: AttackResult['memory'][number]): boolean => {
  const [first, second] = [half - before, after - half];
  return after - before > MOST_GROWTH.at_all || (second > first && second > MOST_GROWTH.steadily);
};

/** How long refusals take, by who was guessed; the answers have to be the same. */
const timeRefusals = async (target: Target, samples: number): Promise<[Record<string, number[]>, string[]]> => {
  const { realm, victim, server, domain } = target;
  const kinds: [name: string, username: string, realm: string][] = [
    [KNOWN, victim, realm],
    ['an unknown user', '4711', realm],
    ['an unknown customer', victim, `zzzz.reg.${domain}`],
  ];
  const times: Record<string, number[]> = {};
  const breaches: string[] = [];
  for (let sample = 0, one: Stranger | undefined; sample < samples; sample++) {
    if (sample % 2 === 0) {
      one = await Stranger.start(`127.200.${sample >> 8}.${sample & 255}`, server);
      await one.ask({ method: 'OPTIONS', uri: `sip:${domain}` }); // the first of a socket takes longer
    }
    for (const [name, username, host] of [...kinds.slice(sample % 3), ...kinds.slice(0, sample % 3)]) {
      const request = { method: 'REGISTER', uri: `sip:${host}`, from: `<sip:${username}@${host}>` };
      const answer = await one?.attempt(request, { username, password: 'wrong' });
      if (answer?.status !== 403) breaches.push(`${name} with a wrong password was told ${answer?.status}, not 403`);
      (times[name] ??= []).push(answer?.ms ?? 0);
    }
    if (sample % 2) one?.close();
  }
  return [times, [...breaches, ...tellingTimes(times)]];
};

/** Pairs of kinds that can be told apart by the clock (Mann and Whitney's test). */
const tellingTimes = (times: Record<string, number[]>): string[] => {
  const { [KNOWN]: known = [], ...others } = times;
  return Object.entries(others).flatMap(([name, other]) => {
    const wins = known.reduce((sum, a) => sum + other.reduce((n, b) => n + (a > b ? 1 : a === b ? 0.5 : 0), 0), 0);
    const size = known.length * other.length;
    const apart = (wins - size / 2) / Math.sqrt((size * (known.length + other.length + 1)) / 12);
    return Math.abs(apart) > TELLING ? [`${name} is told by the clock, ${apart.toFixed(1)} standard errors`] : [];
  });
};

const account = async (stack: Stack, extension: string): Promise<PhoneAccount & { direct_hash: string }> => {
  const password = newId();
  const made = await stack.api<PhoneAccount & { direct_hash: string }>('POST', '/extensions', { extension, password });
  if (made.status !== 200) throw new Error(`POST /extensions answered ${made.status}: ${JSON.stringify(made.body)}`);
  return { ...made.body, password };
};

/** Attacks the SIP side of a stack with `count` messages while honest phones use it. */
export const attack = async (stack: Stack, desk: CarrierDesk, count: number): Promise<AttackResult> => {
  const office = new Office(stack);
  try {
    const [own, door] = [await account(stack, '1666'), await account(stack, '1777')];
    const victims = await Victims.start(office, desk, door);
    for (let n = 0; n < 5; n++) await victims.call('1002');
    const before = victims.setups.splice(0);
    const target: Target = {
      domain: 'trunkline.localhost',
      realm: door.domain_name,
      server: stack.sip,
      victim: '1001',
      own,
      sniffed: victims.sniffed(),
      direct: door.direct_hash,
    };
    const memory = memoryOf(stack);
    let half = memory;
    const campaign = new Campaign(target, count, () => (half = memoryOf(stack)));
    victims.run();
    await campaign.run();
    await victims.stop();
    const [timing, told] = await timeRefusals(target, Math.max(20, Math.min(200, Math.floor(count / 100))));
    const after = memoryOf(stack);
    const grown = [...memory].map(([name, before]) => ({
      ...{ name, before, half: half.get(name) ?? 0, after: after.get(name) ?? 0 },
    }));
    return {
      messages: campaign.messages,
      addresses: campaign.addresses,
      answers: campaign.answers,
      setups: { before, during: victims.setups },
      registrations: victims.registrations,
      timing,
      memory: grown,
      bans: stack.logs().filter(line => line.includes('"msg":"banned"')).length,
      breaches: [
        ...new Set([...campaign.breaches, ...(await victims.breaches()), ...told]),
        ...victims.failures.map(failure => `a phone of the house was harmed: ${failure}`),
        ...(victims.setups.length ? [] : ['no phone of the house called']),
        ...grown.filter(isBloated).map(one => `${one.name} grew from ${one.before.toFixed(0)} to ${one.after.toFixed(0)} MB`), // prettier-ignore
      ],
    };
  } finally {
    await office.close();
  }
};

const spread = (samples: number[]): string =>
  `median ${percentile(samples, 0.5).toFixed(2)} ms, 9 of 10 below ${percentile(samples, 0.9).toFixed(2)} ms`;

const report = (result: AttackResult, seconds: number): void => {
  const { messages, addresses, setups, memory, breaches } = result;
  console.log(
    `attack: ${messages} messages from ${addresses} addresses in ${seconds.toFixed(0)} s, ${result.bans} bans`,
  );
  for (const [wave, counts] of result.answers)
    console.log(`${wave.padEnd(26)} ${[...counts].sort(([, a], [, b]) => b - a).map(([name, n]) => `${name}: ${n}`).join(', ')}`); // prettier-ignore
  console.log(`\nphones of the house: ${setups.during.length} calls, ${result.registrations} registrations`);
  console.log(`  setup before         ${spread(setups.before)}`);
  console.log(`  setup during         ${spread(setups.during)}`);
  console.log('a wrong password, refused for');
  for (const [name, samples] of Object.entries(result.timing)) console.log(`  ${name.padEnd(20)} ${spread(samples)}`);
  console.log('memory, MB: before, at half, after');
  for (const { name, before, half, after } of memory) console.log(`  ${name.padEnd(20)} ${before.toFixed(0)} ${half.toFixed(0)} ${after.toFixed(0)}`); // prettier-ignore
  for (const breach of breaches.slice(0, 20)) console.log(`breach: ${breach}`);
  console.log(`\n${breaches.length} breaches`);
};

/** What the SIP server still holds when every transaction of the attack has timed out (RFC 3261 64*T1), a sentence each. */
const leftovers = async (stack: Stack): Promise<string[]> => {
  const deadline = Date.now() + FORGOTTEN_MS;
  for (;;) {
    const held = await stack.holds();
    if (held.length === 0 || Date.now() > deadline) return held.map(what => `the engine never let go of ${what}`);
    await wait(1000);
  }
};

/** `npm run bench -- attack [messages]`: strangers against a server of its own; fails when they got anywhere. */
export const attackBench = async (count = 50_000): Promise<void> => {
  const stack = await startStack({ env: { NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}` } });
  const desk = await CarrierDesk.open(stack);
  await desk.standIn(OWN_NUMBER);
  try {
    const began = performance.now();
    const result = await attack(stack, desk, count);
    const seconds = (performance.now() - began) / 1000;
    result.breaches.push(...(await leftovers(stack)));
    report(result, seconds);
    if (result.breaches.length > 0) process.exitCode = 1;
    await desk.clear();
  } finally {
    await desk.close();
    await stack.stop();
  }
};
