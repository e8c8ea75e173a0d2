import { readFile } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import { Phone } from '../../scripts/phone/phone.ts';
import type { PhoneOptions } from '../../scripts/phone/phone.ts';
import type { RegisterOptions } from '../../scripts/phone/sip-registration.ts';
import type { SipHeader } from '../../scripts/phone/sip-message.ts';
import type { LogEntry } from '../../scripts/phone/sip-wire.ts';
import { tone } from '../../scripts/phone/sound.ts';
import { parseWav } from '../../scripts/phone/wav.ts';
import type { Remote } from '../../scripts/phone/sip-address.ts';
import type { Call } from '../../scripts/phone/phone-call.ts';
import { judged } from '../../scripts/test/judged.ts';
import { PhoneCall } from './phone-call.ts';
import { within } from './within.ts';

/** What the phone does with a call by itself. */
export interface IncomingBehaviour {
  /** Send 180 at once; default true. */
  ring?: boolean;
  autoAnswer?: boolean;
  answerAfterMs?: number;
  /** Refuse with this status. */
  refuse?: number;
}

export interface TestPhoneOptions extends Omit<PhoneOptions, 'sound'> {
  /** Hz of the tone that the other side of every call hears; silence without. */
  tone?: number;
  /** What to do with every call unless `waitForCall` says otherwise. */
  incoming?: IncomingBehaviour;
}

/** A scripted telephone with real SIP and RTP. Everything it awaits has a deadline and an error that says what happened instead. */
export class TestPhone {
  readonly name: string;
  /** Every call of this phone, ended ones too. */
  readonly calls: PhoneCall[] = [];
  incoming: IncomingBehaviour;
  #phone: Phone;
  #unclaimed: PhoneCall[] = [];
  #waiting: ((call: PhoneCall) => void)[] = [];
  #answering = new Set<NodeJS.Timeout>();

  static async start(options: TestPhoneOptions): Promise<TestPhone> {
    const hz = options.tone;
    const phone = await Phone.start({ ...options, sound: hz === undefined ? undefined : () => tone(hz) });
    return new TestPhone(phone, options);
  }

  constructor(phone: Phone, options: TestPhoneOptions) {
    this.#phone = phone;
    this.name = options.username;
    this.incoming = options.incoming ?? {};
    phone.on('call', call => this.#take(call));
  }

  /** Messages sent and received, with performance.now() at the socket. */
  get log(): LogEntry[] {
    return this.#phone.log;
  }

  /** Our SIP address and port. */
  get local(): Remote {
    return this.#phone.local;
  }

  /** The address at which another phone can dial this one without any server. */
  get address(): string {
    return `sip:${this.name}@${this.local.host}:${this.local.port}`;
  }

  /** Seconds granted. Rejects with SipRefused (which has `status`) or SipUnreachable. */
  register(options: RegisterOptions = {}): Promise<number> {
    return this.#phone.register({ timeout_ms: 5000, ...options });
  }

  unregister(options: { timeout_ms?: number } = {}): Promise<void> {
    return this.#phone.unregister({ timeout_ms: 5000, ...options });
  }

  /** Sends an INVITE to `1002` or `sip:…`; resolves once it is out. `await call.answered()` next. */
  async dial(target: string, headers: SipHeader[] = []): Promise<PhoneCall> {
    const call = new PhoneCall(await this.#phone.dial(target, headers), this.name);
    this.calls.push(call);
    return call;
  }

  /** The next call that comes in, also one that already has. It rings (180) unless told otherwise. */
  waitForCall(options: IncomingBehaviour & { timeout_ms?: number } = {}): Promise<PhoneCall> {
    const { timeout_ms = 5000, ...behaviour } = options;
    const arrived = this.#unclaimed.shift();
    if (arrived) {
      this.#treat(arrived, { ...behaviour, ring: false });
      return Promise.resolve(arrived);
    }
    let claim: ((call: PhoneCall) => void) | undefined;
    const call = new Promise<PhoneCall>(resolve => {
      claim = came => {
        this.#treat(came, { ...this.incoming, ...behaviour });
        resolve(came);
      };
      this.#waiting.push(claim);
    });
    const forget = () => {
      this.#waiting = this.#waiting.filter(w => w !== claim);
    };
    return within(timeout_ms, call, () => `no call came to ${this.name}; ${this.account()}`).finally(forget);
  }

  /** Log entries by title: `INVITE`, `200 INVITE`, `BYE`. */
  messages(title: string, direction?: 'sent' | 'received'): LogEntry[] {
    return this.log.filter(e => e.title === title && (direction === undefined || e.direction === direction));
  }

  /** Resolves once that many such messages have passed; for what has no event of its own. */
  async message(
    title: string,
    options: { direction?: 'sent' | 'received'; count?: number; within_ms?: number } = {},
  ): Promise<LogEntry> {
    const { direction, count = 1, within_ms = 5000 } = options;
    const deadline = performance.now() + within_ms;
    for (;;) {
      const entry = this.messages(title, direction)[count - 1];
      if (entry) return entry;
      if (performance.now() > deadline)
        throw new Error(`${this.name} saw no ${title} in ${within_ms} ms; ${this.account()}`);
      await new Promise(resolve => setTimeout(resolve, 5));
    }
  }

  /** The phone loses its network: it neither answers nor sends from now on. */
  vanish(): void {
    this.#phone.vanish();
  }

  /** The latest messages in one line, for error texts. */
  account(): string {
    const line = (e: LogEntry) => `${e.direction === 'sent' ? '>' : '<'} ${e.title}`;
    return `messages: ${this.log.slice(-12).map(line).join(', ') || 'none'}`;
  }

  /**
   * Closes the phone. Calls that are still up are hung up first and then named in an error, because a test must end what it
   * began; `{ hangup: true }` forgives them, and so does a test that has failed already.
   */
  async stop(options: { hangup?: boolean } = {}): Promise<void> {
    for (const timer of this.#answering) clearTimeout(timer);
    const open = this.calls.filter(call => call.state !== 'ended' && !call.vanished);
    const over = open.map(call => within(1500, call.hangup(), () => 'no answer to BYE'));
    await Promise.allSettled(over);
    await this.#phone.close();
    if (open.length === 0 || options.hangup || judged.failed) return;
    const names = open.map(call => `${call.direction} ${call.call_id}`).join('; ');
    throw new Error(`${this.name} was stopped with ${open.length} open dialog(s): ${names}; ${this.account()}`);
  }

  #take(sip: Call): void {
    const call = new PhoneCall(sip, this.name);
    this.calls.push(call);
    const claim = this.#waiting.shift();
    if (claim) return claim(call);
    this.#unclaimed.push(call);
    this.#treat(call, this.incoming);
  }

  #treat(call: PhoneCall, behaviour: IncomingBehaviour): void {
    if (behaviour.refuse !== undefined) return call.reject(behaviour.refuse);
    if (behaviour.ring ?? true) call.ring();
    if (behaviour.autoAnswer) return call.answer();
    if (behaviour.answerAfterMs === undefined) return;
    const timer = setTimeout(() => {
      this.#answering.delete(timer);
      call.answer();
    }, behaviour.answerAfterMs);
    this.#answering.add(timer);
  }
}

/** Samples of a WAV file at 8 kHz, for `call.playSamples`. */
export async function wavSamples(path: string): Promise<Int16Array> {
  return parseWav(await readFile(path));
}
