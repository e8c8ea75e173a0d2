import type { Call } from '../../scripts/phone/phone-call.ts';
import type { CallEnd, CallState, CallTimes } from '../../scripts/phone/sip-call.ts';
import type { ReceivedDigit } from '../../scripts/phone/rtp-endpoint.ts';
import { SILENCE, samplesOnce, tone } from '../../scripts/phone/sound.ts';
import { Ear } from './ear.ts';
import { within } from './within.ts';

interface Waiting {
  /** Default 8000. */
  within_ms?: number;
}

/** One call of a test phone: signalling by `sip`, sound by the ear it inherits. */
export class PhoneCall extends Ear {
  readonly direction: 'out' | 'in';
  #call: Call;
  #name: string;

  constructor(call: Call, name: string) {
    super(call.rtp.hearing, name);
    this.#call = call;
    this.#name = name;
    this.direction = call.sip.direction;
  }

  get state(): CallState {
    return this.#call.state;
  }

  get vanished(): boolean {
    return this.#call.vanished;
  }

  get call_id(): string {
    return this.#call.sip.call_id;
  }

  /** Who calls: `{ display, uri }`; empty on calls we placed. */
  get caller(): { display: string; uri: string } {
    return this.#call.caller;
  }

  /** performance.now() of what happened: the SIP milestones and the first RTP packet, audible or not. */
  get times(): CallTimes & { firstPacket?: number; firstAudible?: number } {
    return { ...this.#call.times, ...this.#call.rtp.times };
  }

  /** RTP packets sent and received. */
  get packets(): { sent: number; received: number } {
    return this.#call.rtp.counts;
  }

  /** The softphone's call beneath, for what this class has no word for (`sip.request('INFO')`, re-INVITE …). */
  get inner(): Call {
    return this.#call;
  }

  ring(): void {
    this.#call.ring();
  }

  /** 183 with early media. */
  progress(): void {
    this.#call.progress();
  }

  answer(): void {
    this.#call.answer();
  }

  reject(status = 486): void {
    this.#call.reject(status);
  }

  /** Takes back a call we placed; resolves when it is over. */
  cancel(): Promise<void> {
    return this.#call.cancel();
  }

  /** BYE, CANCEL or a refusal, as the state asks for; resolves when the other side has confirmed. */
  hangup(): Promise<void> {
    return this.#call.hangup();
  }

  /** Puts the other side on hold (re-INVITE, sendonly) or takes it off; resolves with the status. */
  hold(on = true): Promise<number> {
    return this.#call.hold(on);
  }

  /** No BYE, no RTP, no answers from now on. */
  vanish(): void {
    this.#call.vanish();
  }

  /** Resolves when the other phone rings (180), or at once when it did. */
  ringing(options: Waiting = {}): Promise<void> {
    return this.#reached(options, 'ring', () => this.#call.times.ringing !== undefined);
  }

  /** Resolves when the call is answered; rejects when it ends first. */
  answered(options: Waiting = {}): Promise<void> {
    return this.#reached(options, 'be answered', () => this.#call.times.answered !== undefined);
  }

  /** How the call ended. Resolves at once when it has. */
  ended({ within_ms = 8000 }: Waiting = {}): Promise<CallEnd> {
    const end = new Promise<CallEnd>(resolve => {
      if (this.#call.end) resolve(this.#call.end);
      else this.#call.sip.once('ended', resolve);
    });
    return within(within_ms, end, () => `the call of ${this.#name} has not ended; it is ${this.state}`);
  }

  /** Presses keys; resolves when the last is up again. */
  press(digits: string, options: { duration_ms?: number } = {}): Promise<void> {
    return this.#call.press(digits, options.duration_ms);
  }

  /** The keys the other side has pressed so far. */
  digits(): string {
    return this.#call.rtp.digits.map(d => d.digit).join('');
  }

  /** The same with their times and durations. */
  keys(): readonly ReceivedDigit[] {
    return this.#call.rtp.digits;
  }

  /** Resolves once these keys have come, all told since the call began. */
  async hearsDigits(expected: string, { within_ms = 5000 }: Waiting = {}): Promise<void> {
    const rtp = this.#call.rtp;
    let check: () => void = () => undefined;
    const come = new Promise<void>(resolve => {
      check = () => this.digits() === expected && resolve();
      rtp.on('digit', check);
      check();
    });
    await within(within_ms, come, () => `${this.#name} got the keys "${this.digits()}", not "${expected}"`).finally(
      () => rtp.off('digit', check),
    );
  }

  playTone(...hz: number[]): void {
    this.#call.play(tone(...hz));
  }

  playSilence(): void {
    this.#call.play(SILENCE);
  }

  /** Plays samples at 8 kHz (see `wavSamples`); resolves when they have all been sent, or the call is over. */
  playSamples(samples: Int16Array): Promise<void> {
    const over = new Promise<void>(resolve => {
      this.#call.rtp.once('played', resolve);
      this.#call.sip.once('ended', () => resolve());
    });
    this.#call.play(samplesOnce(samples));
    return over;
  }

  mute(on = true): void {
    this.#call.rtp.muted = on;
  }

  #reached({ within_ms = 8000 }: Waiting, what: string, done: () => boolean): Promise<void> {
    const { sip } = this.#call;
    let check: () => void = () => undefined;
    const reached = new Promise<void>((resolve, reject) => {
      check = () => {
        if (done()) resolve();
        else if (sip.end) reject(new Error(`the call of ${this.#name} did not ${what}: ${JSON.stringify(sip.end)}`));
      };
      sip.on('state', check);
      sip.on('ended', check);
      check();
    });
    const settled = within(within_ms, reached, () => `the call of ${this.#name} did not ${what}; it is ${this.state}`);
    return settled.finally(() => sip.off('state', check).off('ended', check));
  }
}
