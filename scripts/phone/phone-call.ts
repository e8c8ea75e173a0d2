import type { DirectedMedia } from './call-audio.ts';
import type { RtpEndpoint } from './rtp-endpoint.ts';
import type { CallEnd, CallState, CallTimes, SipCall } from './sip-call.ts';
import { IncomingCall } from './sip-call-in.ts';
import { OutgoingCall } from './sip-call-out.ts';
import type { Sound } from './sound.ts';
import type { SipUserAgent } from './sip-user-agent.ts';

/** One call of a phone: its SIP leg and its audio. */
export class Call {
  readonly sip: SipCall;
  readonly rtp: RtpEndpoint;
  vanished = false;
  #audio: DirectedMedia;
  #agent: SipUserAgent;

  constructor(agent: SipUserAgent, sip: SipCall, rtp: RtpEndpoint, audio: DirectedMedia) {
    this.#agent = agent;
    this.sip = sip;
    this.rtp = rtp;
    this.#audio = audio;
    sip.media = audio;
  }

  get state(): CallState {
    return this.sip.state;
  }

  get end(): CallEnd | undefined {
    return this.sip.end;
  }

  get times(): CallTimes {
    return this.sip.times;
  }

  /** Who called: display name or user, and URI. Empty for calls we place. */
  get caller(): { display: string; uri: string } {
    return this.sip instanceof IncomingCall ? this.sip.caller : { display: '', uri: '' };
  }

  /** 180. */
  ring(): void {
    this.#incoming().ring();
  }

  /** 183 with early media. */
  progress(): void {
    this.#incoming().progress();
  }

  answer(): void {
    this.#incoming().answer();
  }

  reject(status = 486): void {
    this.#incoming().reject(status);
  }

  cancel(): Promise<void> {
    return this.#outgoing().cancel();
  }

  hangup(): Promise<void> {
    return this.sip.hangup();
  }

  /** Puts the other side on hold, or takes it off. Resolves with the status of the re-INVITE. */
  hold(on = true): Promise<number> {
    this.#audio.wanted = on ? 'sendonly' : 'sendrecv';
    return this.sip.reinvite();
  }

  play(sound: Sound): void {
    this.rtp.play(sound);
  }

  press(digits: string, duration_ms?: number): Promise<void> {
    return this.rtp.press(digits, duration_ms);
  }

  /** The phone loses its network during this call: no BYE, no RTP, no answers. */
  vanish(): void {
    this.vanished = true;
    this.#agent.ignore(this.sip);
    this.rtp.fallSilent();
  }

  #incoming(): IncomingCall {
    if (this.sip instanceof IncomingCall) return this.sip;
    throw new Error('only a call that came in can be rung, answered or rejected');
  }

  #outgoing(): OutgoingCall {
    if (this.sip instanceof OutgoingCall) return this.sip;
    throw new Error('only a call we placed can be cancelled');
  }
}
