import { createSocket, type Socket as Datagrams } from 'node:dgram';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Likeness } from './likeness.ts';
import type { Step, Transcript } from './transcript.ts';

/** Where the server is, and what the recorded addresses are here. */
export interface Place {
  /** Address of all phones, which keep the ports they were recorded with. */
  phones: string;
  /** Of the server's SIP. */
  host: string;
  port: number;
  adminPort: number;
  secret: string;
  /** How long a second of the recording takes. */
  pace: number;
}

/** Allowed deviations: what is not expected, what is not looked at, and texts in other words. */
export interface Deviation {
  /** Recorded messages that need not come. */
  missing?: RegExp;
  /** Messages that may come although they were not recorded. */
  more?: RegExp;
  /** Applied to recorded texts, played and expected. */
  instead?: [RegExp, string][];
  /** From here on the recording says nothing about us, in ms as recorded. */
  until?: number;
  /** Whether something is said again; true unless it says not. */
  repeats?: boolean;
  /** Headers that are not compared, in lower case. */
  ignored?: string[];
}

interface Channel {
  send(text: string): void;
  end(): void;
  close(): void;
}

/** Of the phones of the recordings. */
const PORTS: Record<string, number> = {
  ...{ ua: 15190, uas: 15191, callee: 15191, notifier: 15191, t1: 15191, uas2: 15192, t2: 15192, ua2: 15193 },
};
/** Of a phone; and with the port behind it, of the server. */
const RECORDED = /127\.0\.0\.1(?:([:|])15160\b)?/g;
const WAIT_MS = 5000;

/** Plays one side of a transcript, the application's and the phones', and holds what the server says against the other. */
export class Replay {
  readonly #transcript: Transcript;
  readonly #place: Place;
  readonly #deviation: Deviation;
  readonly #likeness: Likeness;
  readonly #channels = new Map<string, Channel>();
  /** What is still to come on each channel, in its order. */
  readonly #due = new Map<string, Step[]>();
  readonly #seen = new Map<string, Set<string>>();
  #moved: () => void = () => undefined;
  #wrong = '';
  /** Of the latest deed, as recorded. */
  #played = 0;

  constructor(transcript: Transcript, place: Place, deviation: Deviation = {}) {
    this.#transcript = transcript;
    this.#place = place;
    this.#deviation = deviation;
    this.#likeness = new Likeness(deviation.ignored);
  }

  /** What went otherwise than recorded, or nothing. */
  async run(): Promise<string> {
    try {
      const phones = new Set(
        this.#steps()
          .filter(one => one.over === 'UDP')
          .map(one => one.channel),
      );
      for (const phone of phones) await this.#openPhone(phone);
      let before = 0;
      for (const step of this.#steps()) {
        if (step.towards) await this.#play(step, before);
        else this.#expect(step);
        before = step.at;
      }
      await this.#caughtUp();
      for (const [channel, ahead] of this.#ahead)
        for (const { text, kind } of ahead)
          if (!this.#isWelcome(text, kind)) this.#fail(`${channel}: nothing was expected\n${text || kind}`);
    } catch (error) {
      this.#wrong ||= error instanceof Error ? error.message : String(error);
    }
    for (const channel of this.#channels.values()) channel.close();
    return this.#wrong;
  }

  #steps(): Step[] {
    const { until = Infinity } = this.#deviation;
    // A name with a port is a port that nobody listened on.
    return this.#transcript.steps.filter(one => one.at < until && !one.channel.includes(':'));
  }

  /** Steps of the application and of phones are made when everything before them was heard, and no sooner than recorded. */
  async #play(step: Step, before: number): Promise<void> {
    await this.#caughtUp();
    this.#played = step.at;
    const pause = (step.at - before) * this.#place.pace;
    if (pause >= 1) await new Promise(resolve => setTimeout(resolve, pause));
    if (step.kind === 'connect') return this.#connect(step.channel);
    const channel = this.#channels.get(step.channel) ?? (await this.#openTcp(step));
    if (step.kind === 'end') return this.#end(step.channel);
    if (step.kind === 'raw') return channel.send(step.text);
    const text = this.#likeness.play(this.#here(step), shifts(step));
    channel.send(step.over === 'admin' ? `${Buffer.byteLength(text)}#${text}` : text);
  }

  /** The other side closes as well. */
  #end(channel: string): void {
    this.#expect({ at: 0, channel, towards: false, over: 'admin', kind: 'end', text: '' });
    this.#channels.get(channel)?.end();
  }

  #expect(step: Step): void {
    const text = this.#here(step);
    if (isTrying(text) || this.#deviation.missing?.test(text) || this.#isThirdTime(step.channel, text)) return;
    const due = this.#due.get(step.channel) ?? [];
    due.push({ ...step, text });
    this.#due.set(step.channel, due);
    this.#early(step.channel);
  }

  /** How often something is repeated depends on how busy the machine is; that it is has to be seen once. */
  #isThirdTime(channel: string, text: string): boolean {
    const key = `${channel} ${strip(text)}`;
    this.#expected.set(key, (this.#expected.get(key) ?? 0) + 1);
    return (this.#expected.get(key) ?? 0) > (this.#deviation.repeats === false ? 1 : 2);
  }

  readonly #expected = new Map<string, number>();
  /** Messages that came before the transcript was read that far. */
  readonly #ahead = new Map<string, { text: string; kind: Step['kind'] }[]>();

  #early(channel: string): void {
    const ahead = this.#ahead.get(channel) ?? [];
    while (ahead.length > 0 && this.#due.get(channel)?.length) {
      const [{ text, kind } = { text: '', kind: 'end' as const }] = ahead.splice(0, 1);
      this.#heard(channel, text, kind);
    }
  }

  #heard(channel: string, text: string, kind: Step['kind']): void {
    const said = kind === 'message' ? strip(text) : kind;
    const seen = this.#seen.get(channel) ?? new Set();
    this.#seen.set(channel, seen);
    const due = this.#due.get(channel)?.[0];
    const odd = due ? this.#odd(due, text, kind) : 'nothing was expected';
    if (odd === '') {
      this.#due.get(channel)?.shift();
      seen.add(said);
      return this.#moved();
    }
    if (seen.has(said) || isTrying(text)) return;
    if (!due) this.#ahead.set(channel, [...(this.#ahead.get(channel) ?? []), { text, kind }]);
    else if (!this.#isWelcome(text, kind)) this.#fail(`${channel}: ${odd}\n${text}`);
  }

  #isWelcome(text: string, kind: Step['kind']): boolean {
    return this.#deviation.more?.test(kind === 'end' ? kind : text) ?? false;
  }

  #fail(what: string): void {
    this.#wrong ||= what;
    this.#moved();
  }

  #odd(due: Step, text: string, kind: Step['kind']): string {
    if (due.kind !== kind) return `${kind} in place of ${due.kind} ${due.text.split('\r\n')[0]}`;
    return this.#likeness.differs(due.text, text, shifts({ ...due, towards: false }));
  }

  /** Everything that was expected so far has been heard. */
  async #caughtUp(): Promise<void> {
    const open = (): Step | undefined => [...this.#due.values()].flat()[0];
    for (const began = Date.now(); open() && this.#wrong === '';) {
      // What was recorded long after the last deed comes long after it.
      const later = ((open()?.at ?? 0) - this.#played) * this.#place.pace;
      const left = began + WAIT_MS + Math.max(0, later) - Date.now();
      if (left <= 0)
        throw new Error(`never came, at ${open()?.at} ms on ${open()?.channel}: ${open()?.text.slice(0, 900)}`);
      await Promise.race([
        new Promise<void>(resolve => (this.#moved = resolve)),
        new Promise(resolve => setTimeout(resolve, left).unref()),
      ]);
    }
    if (this.#wrong !== '') throw new Error(this.#wrong);
  }

  /** A recorded text with the addresses of this run. */
  #here(step: Step): string {
    const { phones, host, port, secret } = this.#place;
    const at = step.text.indexOf('\r\n\r\n');
    const [head, body] = at < 0 ? [step.text, ''] : [step.text.slice(0, at), step.text.slice(at)];
    const local = head.replace(RECORDED, (_all, sign: string | undefined) => (sign ? `${host}${sign}${port}` : phones));
    const known = local.replace('|authenticate|cymru|', `|authenticate|${secret}|`);
    return (this.#deviation.instead ?? []).reduce((text, [from, to]) => text.replace(from, to), known + body);
  }

  async #connect(channel: string): Promise<void> {
    const socket = connect(this.#place.adminPort, this.#place.host);
    this.#channels.set(channel, streamOf(socket));
    let rest = Buffer.alloc(0);
    socket.on('data', chunk => {
      rest = Buffer.concat([rest, chunk]);
      for (;;) {
        const [prefix = ''] = /^\d+#/.exec(rest.toString('latin1', 0, 10)) ?? [];
        const end = prefix.length + parseInt(prefix);
        if (prefix === '' || rest.length < end) return;
        this.#heard(channel, rest.toString('utf8', prefix.length, end), 'message');
        rest = rest.subarray(end);
      }
    });
    socket.on('end', () => this.#heard(channel, '', 'end'));
    await once(socket, 'connect');
  }

  async #openPhone(channel: string): Promise<void> {
    const socket = createSocket('udp4');
    socket.on('message', data => data.toString().trim() !== '' && this.#heard(channel, data.toString(), 'message'));
    socket.bind(PORTS[channel.replace('SIP ', '')], this.#place.phones);
    await once(socket, 'listening');
    this.#channels.set(channel, datagramsOf(socket, this.#place));
  }

  /** A phone on TCP, whose address is that of the first Via it sends. */
  async #openTcp(step: Step): Promise<Channel> {
    const localPort = Number(/^Via:.*?:(\d+)/m.exec(step.text)?.[1]);
    const socket = connect({
      port: this.#place.port,
      host: this.#place.host,
      localAddress: this.#place.phones,
      localPort,
    });
    const channel = streamOf(socket);
    this.#channels.set(step.channel, channel);
    let rest = '';
    socket.on('data', chunk => {
      rest += chunk.toString();
      for (;;) {
        if (rest.startsWith('\r\n')) {
          this.#heard(step.channel, '\r\n', 'message');
          rest = rest.slice(2);
          continue;
        }
        const end = rest.indexOf('\r\n\r\n') + 4;
        const length = Number(/^Content-Length: *(\d+)/im.exec(rest)?.[1] ?? 0);
        if (end < 4 || rest.length < end + length) return;
        this.#heard(step.channel, rest.slice(0, end + length), 'message');
        rest = rest.slice(end + length);
      }
    });
    await once(socket, 'connect');
    return channel;
  }
}

/** Repeats differ in nothing but, in frames, their id and the time. */
const strip = (text: string): string =>
  text.replace(/^[0-9a-f-]{36}\|(?=sip)/, '').replace(/\d\d:\d\d:\d\d\.\d{6}/, '');

/** Trying may come or not, before the answer or with a delay: it is hop by hop and says nothing. */
const isTrying = (text: string): boolean => text.startsWith('SIP/2.0 100 ');

/** Whether the sequence number is one the server chose: of its requests, and of the answers to them. */
function shifts(step: Pick<Step, 'text' | 'towards' | 'over'>): boolean {
  const response = /^SIP\/2\.0 /m.test(step.text);
  const ofServer = step.over === 'admin' ? !/\|sip\|network\|/.test(step.text) : !step.towards;
  return ofServer ? !response : response;
}

const streamOf = (socket: Socket): Channel => {
  socket.on('error', () => undefined);
  return { send: text => void socket.write(text), end: () => void socket.end(), close: () => void socket.destroy() };
};

const datagramsOf = (socket: Datagrams, { port, host }: Place): Channel => ({
  send: text => socket.send(text, port, host),
  end: () => undefined,
  close: () => socket.close(),
});
