import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { findProgram } from '../../scripts/start/install.ts';
import { freePorts } from '../../scripts/start/ports.ts';
import { type ForeignPhone, type ForeignPhoneOptions, proxyOf } from './foreign-phone.ts';
import { HeardFile } from './heard-file.ts';
import { Said } from './said.ts';
import { writeTone } from './tone-file.ts';

const configuration = (options: ForeignPhoneOptions, port: number): string => {
  const { account, transport } = options;
  const listens = (one: string): number => (one === transport ? port : 0);
  return `[sip]
sip_port=${listens('udp')}
sip_tcp_port=${listens('tcp')}
sip_tls_port=${listens('tls')}
default_proxy=0
use_ipv6=0
verify_server_certs=0
verify_server_cn=0

[auth_info_0]
username=${account.username}
passwd=${account.password}
domain=${account.domain_name}

[proxy_0]
reg_identity=<sip:${account.username}@${account.domain_name}>
reg_proxy=<${proxyOf(options)}>
reg_route=<${proxyOf(options)}>
reg_sendregister=1
reg_expires=600

[rtp]
audio_rtp_port=-1

[sound]
echocancellation=0
`;
};

/** linphonec (Debian's 5.1) as a program, worked through its standard input, with files for microphone and loudspeaker. */
export class Linphone implements ForeignPhone {
  readonly name: string;
  readonly tone: number;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #said: Said;
  readonly #heard: HeardFile;
  /** Ids of its calls, the one it talks in last. */
  #calls: string[] = [];

  /** Starts one; resolves once it is registered. */
  static async start(options: ForeignPhoneOptions): Promise<Linphone> {
    const command = findProgram('linphonec');
    if (command === undefined) throw new Error('linphonec is not installed: apt-get install linphone-cli');
    const { folder } = options;
    const [port = 0] = await freePorts(1);
    mkdirSync(join(folder, '.local/share/linphone'), { recursive: true }); // its database is not made without
    writeFileSync(join(folder, 'linphonerc'), configuration(options, port));
    writeTone(join(folder, 'says.wav'), options.tone);
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', command, '-c', join(folder, 'linphonerc')], {
      env: { PATH: process.env['PATH'], HOME: folder },
      cwd: folder,
    });
    const phone = new Linphone(options, child);
    phone.#tell('soundcard use files', `play ${join(folder, 'says.wav')}`, `record ${join(folder, 'heard.wav')}`);
    await phone.#registered();
    return phone;
  }

  private constructor({ account, tone, folder }: ForeignPhoneOptions, child: ChildProcessWithoutNullStreams) {
    [this.name, this.tone, this.#child] = [account.username, tone, child];
    this.#said = new Said(`linphonec ${this.name}`);
    this.#heard = new HeardFile(folder, /^heard\.wav$/, `linphonec ${this.name}`);
    child.stdin.on('error', () => undefined); // it went: what waits for its word says so
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', line => this.#said.add(line));
  }

  get ear() {
    return this.#heard.ear;
  }

  async dial(target: string): Promise<void> {
    this.#tell(`call ${target}`);
    await this.#up();
  }

  async answer(): Promise<void> {
    const [, id = ''] = await this.#said.until(/incoming call from .*assigned id (\d+)/);
    this.#tell(`answer ${id}`);
    await this.#up();
  }

  async hold(): Promise<void> {
    this.#tell('pause');
    await this.#said.until(/is now paused/);
  }

  async resume(): Promise<void> {
    this.#tell(`resume ${this.#calls.at(-1)}`);
    await this.#said.until(/streams established with/);
  }

  async transfer(target: string): Promise<void> {
    this.#tell(`transfer ${this.#calls.at(-1)} ${target}`);
    await this.#said.until(/has been transfered/);
  }

  /** Attended: puts the party of its first call through to that of its second. */
  async handOver(): Promise<void> {
    const [first, second] = this.#calls;
    this.#tell(`transfer ${first} --to-call ${second}`);
    await this.#said.until(/has been transfered/);
  }

  async hangup(): Promise<void> {
    this.#tell(`terminate ${this.#calls.at(-1)}`);
    await this.ended();
  }

  async ended(): Promise<void> {
    const [, over] = await this.#said.until(/Call (\d+) with .* ended/);
    this.#calls = this.#calls.filter(id => id !== over);
  }

  drop(): void {
    this.#tell('terminate all');
  }

  forget(): void {
    this.#calls = [];
    this.#said.skip();
  }

  async stop(): Promise<void> {
    this.#heard.close();
    const gone = once(this.#child, 'exit');
    this.#tell('quit');
    const patience = setTimeout(() => this.#child.kill('SIGKILL'), 3000);
    await gone;
    clearTimeout(patience);
  }

  async #up(): Promise<void> {
    const [, id = ''] = await this.#said.until(/streams established with .* for call (\d+)/);
    this.#calls.push(id);
  }

  /** It tells of its registration only when asked. */
  async #registered(): Promise<void> {
    for (let asked = 0; asked < 100; asked += 1) {
      this.#tell('status registered');
      const [, state] = await this.#said.until(/^(registered, identity|registered=)/);
      if (state === 'registered, identity') return;
      await wait(50);
    }
    throw new Error(`linphonec ${this.name} does not get registered`);
  }

  #tell(...commands: string[]): void {
    for (const command of commands) this.#child.stdin.write(`${command}\n`);
  }
}
