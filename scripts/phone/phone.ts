import { EventEmitter } from 'node:events';
import { type AudioOptions, CallAudio, type DirectedMedia } from './call-audio.ts';
import type { Law } from './g711.ts';
import { Call } from './phone-call.ts';
import { RtpEndpoint } from './rtp-endpoint.ts';
import { hostPort } from './sip-address.ts';
import type { Remote } from './sip-address.ts';
import type { SipHeader } from './sip-message.ts';
import type { RegisterOptions } from './sip-registration.ts';
import type { IncomingCall } from './sip-call-in.ts';
import type { Timing } from './sip-transaction.ts';
import type { Protocol } from './sip-transport.ts';
import { SipUserAgent } from './sip-user-agent.ts';
import { Wire } from './sip-wire.ts';
import type { LogEntry } from './sip-wire.ts';
import { SILENCE } from './sound.ts';
import type { Sound } from './sound.ts';

export interface PhoneOptions {
  username: string;
  password?: string;
  domain?: string;
  display?: string;
  /** Where everything is sent; without it the phone calls SIP addresses directly. */
  server?: Remote;
  transport?: Protocol;
  /** Our own address and port; default 127.0.0.1 and any. */
  host?: string;
  port?: number;
  codecs?: Law[];
  /** False: no RFC 4733; keys are sent as tones. */
  events?: boolean;
  /** How a call's audio is opened; default plain RTP. */
  audio?: OpenAudio;
  /** Answer only challenges of this digest algorithm (`MD5`, `SHA-256`). */
  algorithm?: string;
  timing?: Timing;
  /** What the other side of every call hears at first; default silence. */
  sound?: () => Sound;
}

/** Opens the audio of a call. `offer`: what the caller has described, undefined where we describe first. */
export type OpenAudio = (options: AudioOptions, offer: string | undefined) => Promise<PhoneAudio>;

export interface PhoneAudio {
  rtp: RtpEndpoint;
  audio: DirectedMedia;
}

const plainAudio: OpenAudio = async options => {
  const rtp = await RtpEndpoint.open(options.host);
  return { rtp, audio: new CallAudio(rtp, options) };
};

/** A whole telephone: a SIP user agent with an RTP endpoint for every call. Emits `call` for each that comes in. */
export class Phone extends EventEmitter<{ call: [Call] }> {
  readonly calls = new Set<Call>();
  readonly agent: SipUserAgent;
  #options: PhoneOptions;
  #wire: Wire;
  #opening = new Set<Promise<unknown>>();

  /** Rejects with the system's error when the port is taken. */
  static async start(options: PhoneOptions): Promise<Phone> {
    const place = { protocol: options.transport ?? 'udp', host: options.host ?? '127.0.0.1', port: options.port ?? 0 };
    return new Phone(options, await Wire.open(place, options.timing));
  }

  constructor(options: PhoneOptions, wire: Wire) {
    super();
    this.#options = options;
    this.#wire = wire;
    const { username, password = '', domain = hostPort(wire.local), server, algorithm } = options;
    const display = options.display === undefined ? '' : `"${options.display.replace(/["\\]/g, '')}" `;
    const address = `${display}<sip:${username}@${domain}>`;
    this.agent = new SipUserAgent({ username, password, address, domain, server, algorithm }, wire);
    this.agent.onCall = sip => void this.#ringing(sip);
  }

  get local(): Remote {
    return this.#wire.local;
  }

  get log(): LogEntry[] {
    return this.#wire.log;
  }

  /** Seconds the server granted. Rejects with SipRefused or SipUnreachable. */
  register(options?: RegisterOptions): Promise<number> {
    return this.agent.register(options);
  }

  unregister(options?: { timeout_ms?: number }): Promise<void> {
    return this.agent.registration.unregister(options);
  }

  /** The SIP address that a number or name stands for. */
  address(target: string): string {
    if (/^sips?:/i.test(target)) return target;
    return `sip:${encodeURI(target)}@${this.#options.domain ?? hostPort(this.local)}`;
  }

  /** Sends an INVITE to `1002`, `+4930…` or `sip:…`. */
  async dial(target: string, headers: SipHeader[] = []): Promise<Call> {
    const { rtp, audio } = await this.#openAudio();
    const call = new Call(this.agent, this.agent.invite(this.address(target), audio, headers), rtp, audio);
    this.#keep(call);
    return call;
  }

  /** The whole phone loses its network. */
  vanish(): void {
    for (const call of this.calls) call.vanish();
    this.agent.registration.forget();
    this.#wire.silent = true;
  }

  /** Closes every socket and timer; calls still up are dropped without a word. */
  async close(): Promise<void> {
    await this.agent.close();
    await Promise.all(this.#opening);
    await Promise.all([...this.calls].map(call => call.rtp.close()));
    this.calls.clear();
  }

  async #openAudio(offer?: string): Promise<PhoneAudio> {
    const { codecs, events, sound, audio = plainAudio } = this.#options;
    const opened = await audio({ host: this.local.host, codecs, events }, offer);
    opened.rtp.play(sound?.() ?? SILENCE);
    return opened;
  }

  /** The call is told of once its port is open; a caller who has gone by then rang for nobody. */
  async #ringing(sip: IncomingCall): Promise<void> {
    const opening = this.#openAudio(sip.invite.body || undefined).catch(() => undefined);
    this.#opening.add(opening);
    const opened = await opening;
    this.#opening.delete(opening);
    // No port left for audio: the caller is told so rather than left ringing.
    if (!opened) return sip.reject(503);
    const { body } = sip.invite;
    if (body !== '' && !opened.audio.takes(body)) {
      sip.reject(488);
      return opened.rtp.close();
    }
    const call = new Call(this.agent, sip, opened.rtp, opened.audio);
    this.#keep(call);
    this.emit('call', call);
  }

  #keep(call: Call): void {
    this.calls.add(call);
    const gone = () => {
      if (!call.vanished) this.calls.delete(call);
      void call.rtp.close();
    };
    if (call.end) gone();
    else call.sip.once('ended', gone);
  }
}
