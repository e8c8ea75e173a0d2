import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { Child } from '../../scripts/start/child.ts';
import { findProgram } from '../../scripts/start/install.ts';
import { freePorts } from '../../scripts/start/ports.ts';
import { type ForeignPhone, type ForeignPhoneOptions, proxyOf } from './foreign-phone.ts';
import { HeardFile } from './heard-file.ts';
import { Said } from './said.ts';

/** It needs a loudspeaker that is never heard, or it says nothing either; what it hears is written by its filter `sndfile`. */
const configuration = ({ folder, tone }: ForeignPhoneOptions, control: number): string => `
sip_listen 127.0.0.1:0
net_interface 127.0.0.1
audio_source ausine,${tone}
audio_player aubridge,unheard
ausrc_srate 48000
ausrc_channels 2
auplay_srate 48000
auplay_channels 2
ringback_disabled yes
rtp_ports 33000-37000
module_path /usr/lib/baresip/modules
module g711.so
module ausine.so
module aubridge.so
module sndfile.so
module_app account.so
module_app menu.so
module ctrl_tcp.so
ctrl_tcp_listen 127.0.0.1:${control}
snd_path ${folder}
`;

const writeSettings = (options: ForeignPhoneOptions, control: number): void => {
  const { folder, account } = options;
  const { username, password, domain_name } = account;
  const line = `<sip:${username}@${domain_name}>;auth_user=${username};auth_pass=${password};outbound="${proxyOf(options)}"`;
  writeFileSync(join(folder, 'config'), configuration(options, control));
  writeFileSync(join(folder, 'accounts'), `${line}\n`);
  writeFileSync(join(folder, 'contacts'), '');
};

/** baresip (Debian's 1.0) as a program, worked through its control socket: JSON in netstrings. */
export class Baresip implements ForeignPhone {
  readonly name: string;
  readonly tone: number;
  readonly #child: Child;
  readonly #socket: Socket;
  readonly #said: Said;
  readonly #heard: HeardFile;
  #buffer = '';

  /** Starts one; resolves once it is registered. */
  static async start(options: ForeignPhoneOptions): Promise<Baresip> {
    const command = findProgram('baresip');
    if (command === undefined) throw new Error('baresip is not installed: apt-get install baresip-core');
    const [control = 0] = await freePorts(1);
    writeSettings(options, control);
    const said = new Said(`baresip ${options.account.username}`);
    const child = await Child.startUntil(
      { command, args: ['-f', options.folder], stopSignal: 'SIGTERM', onLine: line => said.add(line) },
      line => line.includes('baresip is ready'),
      10_000,
    );
    const socket = connect(control, '127.0.0.1');
    const phone = new Baresip(options, child, socket, said);
    await once(socket, 'connect');
    await said.until(/200 OK .*binding/);
    return phone;
  }

  private constructor(options: ForeignPhoneOptions, child: Child, socket: Socket, said: Said) {
    this.name = options.account.username;
    this.tone = options.tone;
    [this.#child, this.#socket, this.#said] = [child, socket, said];
    this.#heard = new HeardFile(options.folder, /-dec\.wav$/, `baresip ${this.name}`);
    socket.on('error', () => undefined); // it went: what waits for its word says so
    socket.setEncoding('utf8').on('data', (text: string) => this.#take(text));
  }

  get ear() {
    return this.#heard.ear;
  }

  dial(target: string): Promise<void> {
    return this.#tell('dial', target, /"CALL_ESTABLISHED"/);
  }

  async answer(): Promise<void> {
    await this.#said.until(/"CALL_INCOMING"/);
    await this.#tell('accept', '', /"CALL_ESTABLISHED"/);
  }

  hold(): Promise<void> {
    return this.#tell('hold', '', /"CALL_REMOTE_SDP".*"answer"/);
  }

  resume(): Promise<void> {
    return this.#tell('resume', '', /"CALL_REMOTE_SDP".*"answer"/);
  }

  transfer(target: string): Promise<void> {
    return this.#tell('transfer', target, /"ok":true/);
  }

  /**
   * Its microphone hears its loudspeaker, or says its tone again. After a hold or resume its filter writes no more of what it
   * hears (its audio.c sets filters up for both directions at once, and empties only one); its loudspeaker does hear.
   */
  async echo(on = true): Promise<void> {
    await this.#tell('ausrc', on ? 'aubridge,echo' : `ausine,${this.tone}`, /"ok":true/);
    await this.#tell('auplay', on ? 'aubridge,echo' : 'aubridge,unheard', /"ok":true/);
  }

  hangup(): Promise<void> {
    return this.#tell('hangup', '', /"CALL_CLOSED"/);
  }

  async ended(): Promise<void> {
    await this.#said.until(/"CALL_CLOSED"/);
  }

  drop(): void {
    for (const _call of ['one', 'another']) this.#order('hangup');
  }

  forget(): void {
    this.#said.skip();
  }

  async stop(): Promise<void> {
    this.#socket.destroy();
    this.#heard.close();
    await this.#child.stop();
  }

  async #tell(command: string, params: string, done: RegExp): Promise<void> {
    this.#order(command, params);
    await this.#said.until(done);
  }

  #order(command: string, params = ''): void {
    const body = JSON.stringify({ command, params, token: command });
    this.#socket.write(`${Buffer.byteLength(body)}:${body},`);
  }

  /** `12:{"event":…},` */
  #take(text: string): void {
    this.#buffer += text;
    for (;;) {
      const head = /^(\d+):/.exec(this.#buffer);
      const [length, start] = [Number(head?.[1]), head?.[0].length ?? 0];
      if (!head || this.#buffer.length < start + length + 1) return;
      this.#said.add(this.#buffer.slice(start, start + length));
      this.#buffer = this.#buffer.slice(start + length + 1);
    }
  }
}
