import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo, Server } from 'node:net';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { EslWire } from './esl-wire.ts';
import { ForkServer, tone } from './fork-server.ts';
import { TranscriptCallers } from './transcript-callers.ts';
import { serverOfReplay, type ServerOfReplay } from './transcript-server.ts';
import type { Block } from './transcript.ts';
import type { Comparison } from './transcript-comparison.ts';
import { commandsIn, heardOf, isAnswer, recordedOf, sipOf, type Said } from './transcript-message.ts';

const patienceMs = 6000;
/** Members of a conference as commands and their answers name them: other numbers there are volumes, counts and keys. */
const memberPattern =
  /(?<=^api conference +\S+ (?:\w+|transfer \S+|play \S+) +)\d+\b|^\d+(?=;)|(?<="id":\t|[Mm]ember '?|Volume IN |Energy |ID |deaf |mute |hup |kicked |sent \d+ to )\d+\b/gm;
const uuidPattern = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Plays the client of a recording to a media server of its own, and writes down what that answers. */
export class Replay {
  readonly said: Said[] = [];
  readonly #recorded: Said[] = [];
  readonly #comparison: Comparison;
  readonly #wires = new Map<string, EslWire>();
  readonly #inbound: EslWire[] = [];
  readonly #names = new Map<string, string>();
  readonly #members = new Map<string, string>();
  /** Those that it was called with. */
  readonly #channels = new Set<string>();
  readonly #files = new Map<string, string>();
  readonly #waiting: (() => void)[] = [];
  /** How many messages of a connection did not come in time. */
  readonly #forgiven = new Map<string, number>();
  #directory = '';
  #server!: ServerOfReplay;
  #callers!: TranscriptCallers;
  #application!: Server;
  #farEnd!: ForkServer;
  #farEndPort = 0;
  #address = '';
  /** All that this server is to send. */
  #later: Said[] = [];
  #outbound = 0;
  /** What is heard from now on comes of clearing up. */
  #over = false;
  #lastAt = 0;
  /** When that was done, on the clock of this process. */
  #lastActed = performance.now();

  /** `comparison` tells which messages of the recording this server is to send; others are not waited for. */
  constructor(comparison: Comparison) {
    this.#comparison = comparison;
  }

  /** Plays a recording to its end. */
  async run(blocks: Block[]): Promise<void> {
    this.#later = blocks.flatMap(block => recordedOf(block) ?? []).filter(one => this.#comparison.isWanted(one));
    await this.#open();
    try {
      for (const [at, block] of blocks.entries()) {
        const recorded = recordedOf(block);
        if (recorded && this.#comparison.isWanted(recorded)) this.#recorded.push(recorded);
        else if (!recorded) await this.#play(block, blocks.slice(at + 1));
      }
      this.#forgiven.clear();
      await this.#caughtUp(0);
    } finally {
      await this.#close();
    }
  }

  /** A text of the recording with the identifiers, ports and folders that the same things have here. */
  translate(text: string, header = ''): string {
    const members = /^Member-ID$|member_id$/.test(header) ? /^\d+$/ : memberPattern;
    const named = text.replace(members, one => this.#members.get(one) ?? one);
    return [...this.#files]
      .reduce((now, [file, made]) => now.replaceAll(file, made), named)
      .replace(uuidPattern, one => this.#names.get(one) ?? one)
      .replaceAll('127.0.0.1:28101', this.#address)
      .replace(/^auth ClueCon$/, `auth ${this.#server.password}`)
      .replaceAll('127.0.0.1:15080', `127.0.0.1:${this.#server.sipPort}`)
      .replaceAll('/srv/rec/recordings', this.#directory)
      .replaceAll('/srv/rec', this.#directory)
      .replaceAll('/var/engines/sounds', this.#directory)
      .replaceAll('/nonexistent', join(this.#directory, 'nonexistent'))
      .replaceAll('127.0.0.1:23001', `127.0.0.1:${this.#farEndPort}`);
  }

  async #open(): Promise<void> {
    this.#directory = await mkdtemp(join(tmpdir(), 'replay-'));
    await writeFile(join(this.#directory, 'tone1k.wav'), wave(2000));
    this.#server = await serverOfReplay(this.#directory);
    this.#farEnd = await ForkServer.open(undefined, true, text =>
      this.#note({ connection: 'WS', line: text, headers: {} }),
    );
    this.#farEndPort = this.#farEnd.port;
    this.#application = createServer(socket =>
      this.#wire(`OUT${(this.#outbound += 1)}`, new EslWire(socket, () => this.#heard())),
    );
    this.#application.listen(0, '127.0.0.1');
    await once(this.#application, 'listening');
    this.#address = `127.0.0.1:${(this.#application.address() as AddressInfo).port}`;
    this.#callers = new TranscriptCallers(this.#server.sipPort, this.#address, message => {
      if (!this.#over) this.said.push(sipOf(message));
      this.#heard();
    });
  }

  async #close(): Promise<void> {
    this.#over = true;
    this.#application.close();
    for (const wire of [...this.#wires.values(), ...this.#inbound]) wire.left = true;
    for (const wire of this.#wires.values()) wire.socket.destroy();
    for (const wire of this.#inbound) wire.socket.destroy();
    this.#callers.fallSilent();
    await this.#server.stop([...this.#channels]);
    this.#callers.close();
    await this.#farEnd.close();
    await rm(this.#directory, { recursive: true, force: true });
  }

  #wire(name: string, wire: EslWire): void {
    this.#wires.set(name, wire);
    this.#note({ connection: name, line: 'opened', headers: {} });
  }

  /** Takes in what has come, and wakes who waits for it. */
  #heard(): void {
    for (const [name, wire] of [...this.#wires, ...this.#inbound.map(one => ['IN', one] as const)]) {
      for (const message of wire.messages.splice(0)) {
        if (wire.left) continue;
        const channel = message.headers['Channel-Unique-ID'];
        if (channel !== undefined) this.#channels.add(channel);
        const said = heardOf(name, message, isAnswer(message) ? (wire.commands.shift() ?? '') : '');
        if (said) this.#note(said);
      }
      if (wire.closed && !wire.left) this.#note({ connection: name, line: 'closed', headers: {} });
      wire.left ||= wire.closed;
    }
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #note(said: Said): void {
    if (this.#over) return;
    this.said.push(said);
    if (!this.#comparison.isExpected(said)) return;
    const here = this.said.filter(
      one => one.connection === said.connection && one.line === said.line && this.#comparison.isExpected(one),
    );
    const there = this.#later.filter(one => one.connection === said.connection && one.line === said.line);
    const like = there[here.length - 1];
    if (like) this.#learn(like, said);
  }

  #learn(recorded: Said, said: Said): void {
    const [member, own] = [recorded.headers['Member-ID'], said.headers['Member-ID']];
    if (member !== undefined && own !== undefined && !this.#members.has(member)) this.#members.set(member, own);
    const [file, made] = [recorded, said].map(one => /"file":"([^"]+)"/.exec(one.headers['_body'] ?? '')?.[1]);
    if (file !== undefined && made !== undefined) this.#files.set(file, made);
    for (const [name, value] of Object.entries(recorded.headers)) {
      const theirs = value.match(uuidPattern) ?? [];
      const ours = said.headers[name]?.match(uuidPattern) ?? [];
      theirs.forEach((one, at) => this.#names.has(one) || this.#names.set(one, ours[at] ?? one));
    }
  }

  /** Waits for what was recorded until here; what has not come in time is not waited for again. */
  async #caughtUp(recordedMs: number): Promise<void> {
    const end = performance.now() + patienceMs + recordedMs;
    for (let behind = this.#behind(); behind !== undefined; behind = this.#behind()) {
      if (performance.now() > end) this.#forgiven.set(behind, (this.#forgiven.get(behind) ?? 0) + 1);
      await Promise.race([new Promise<void>(resolve => this.#waiting.push(resolve)), setTimeout(20)]);
    }
  }

  /** A connection on which less has come than was recorded. */
  #behind(): string | undefined {
    const count = (list: Said[], name: string): number => list.filter(one => one.connection === name).length;
    const came = this.said.filter(one => this.#comparison.isExpected(one));
    return [...new Set(this.#recorded.map(one => one.connection))].find(
      name => count(came, name) + (this.#forgiven.get(name) ?? 0) < count(this.#recorded, name),
    );
  }

  async #play(block: Block, later: Block[]): Promise<void> {
    if (block.writer === 'server' || block.writer === 'sip server' || block.writer === 'fork') return;
    const recordedMs = Math.max(0, block.at - this.#lastAt);
    const due = this.#lastActed + recordedMs * this.#server.pace;
    await this.#caughtUp(recordedMs);
    if (due > performance.now()) await setTimeout(due - performance.now());
    [this.#lastAt, this.#lastActed] = [block.at, performance.now()];
    if (block.writer === 'note') this.#act(block.text);
    else if (block.writer === 'sip client') await this.#callers.play(block, later);
    else if (block.writer === 'far end') this.#fromFarEnd(block.text);
    else this.#say(block);
  }

  /** What a client writes to an event socket; an inbound one is the last that was opened. */
  #say({ connection, change, text }: Block): void {
    if (connection === 'IN' && change === 'opened') {
      const socket = connect(this.#server.eventSocketPort, '127.0.0.1');
      this.#inbound.push(new EslWire(socket, () => this.#heard()));
      return;
    }
    const wire = connection === 'IN' ? this.#inbound.findLast(one => !one.left) : this.#wires.get(connection);
    if (!wire) return;
    if (change === 'closed') {
      wire.left = true;
      wire.socket.end();
      return;
    }
    wire.commands.push(...commandsIn(text));
    wire.socket.write(`${this.translate(text)}\n\n`);
  }

  /** What the far end of a fork says, on the connection that was opened last. */
  #fromFarEnd(text: string): void {
    const [, length, message = ''] = /^text frame, (\d+) bytes: ([^]*)$/.exec(text) ?? [];
    if (length === undefined) return;
    const whole = Buffer.byteLength(message) === Number(length) ? message : playAudio(message);
    if (whole !== null) this.#farEnd.last?.send(whole);
  }

  /** What the recorder did beside the messages. */
  #act(note: string): void {
    const peer = this.#callers.first;
    const [, digit, ms] = /^ua sends RFC 2833 digit (.), (\d+) ms/.exec(note) ?? [];
    if (digit !== undefined) void peer?.press(digit, Number(ms));
    if (/^server closes/.test(note)) this.#farEnd.last?.socket.close(Number(/\d{4}/.exec(note)?.[0] ?? 1000));
    if (/^server drops/.test(note)) this.#farEnd.last?.socket.terminate();
    if (/outbound address refuses/.test(note)) this.#callers.refuse();
    if (/caller goes silent/.test(note) && peer) peer.saying = 0;
    if (/tone_detect/.test(note) && peer) peer.saying = 700;
    const hz = /caller sends (\d+) Hz/.exec(note)?.[1];
    if (hz !== undefined && peer) peer.saying = Number(hz);
  }
}

/** A message whose sound was cut in the recording, with a sound of ours; null for any other. */
function playAudio(cut: string): string | null {
  const head = /^(\{"type":"playAudio","data":\{.*?"audioContent":")/.exec(cut)?.[1];
  const [, type = '', rate = ''] = /"audioContentType":"(\w+)","sampleRate":(\d+)/.exec(cut) ?? [];
  if (head === undefined) return null;
  const sound = type === 'wav' ? wave(400) : tone(1000, 400, Number(rate));
  return `${head}${sound.toString('base64')}","textContent":"x","id":"p1"}}`;
}

/** A wave file of a tone of 1 kHz. */
function wave(ms: number): Buffer {
  const sound = tone(1000, ms, 8000);
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + sound.length, 4);
  header.write('WAVEfmt ', 8);
  [16, 0, 8000, 16000].forEach((value, at) => at !== 1 && header.writeUInt32LE(value, [16, 0, 24, 28][at] ?? 0));
  [1, 1, 2, 16].forEach((value, at) => header.writeUInt16LE(value, [20, 22, 32, 34][at] ?? 0));
  header.write('data', 36);
  header.writeUInt32LE(sound.length, 40);
  return Buffer.concat([header, sound]);
}
