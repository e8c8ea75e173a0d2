import { newId } from '#contract/ids';
import { timestamp, type Timestamp } from '#contract/time';
import type { CallTrace, MediaFacts, SipMessageRecord } from '#contract/timeline';
import { maskSecrets } from './mask-secrets.ts';
import type { SeenMessage, SipAddress } from './seen-message.ts';

/** How much of one leg is kept; health checks have a share of their own, so that they cannot crowd out the rest. */
const MOST = { messages: 300, probes: 40, bytes: 512 * 1024, bytesOfOne: 16 * 1024 };
/** Messages are reported together, this long after the first. */
const GATHER_MS = 250;
/** How long after its end a leg still hears answers, such as the 200 to its BYE. */
const LINGER_MS = 1500;
/** Calls that came in and have no leg yet (they are being authenticated), and messages kept of each. */
const EARLY = { calls: 300, messages: 12 };

/** Takes what was seen on a leg; resolves when it is stored, never rejects. */
export type TraceSink = (seen: Pick<CallTrace, 'sip_messages' | 'media'>) => Promise<void>;

interface Seen extends SeenMessage {
  timestamp: Timestamp;
}

const NOWHERE: SipAddress = { address: '', port: 0 };
const isKnown = ({ address }: SipAddress): boolean => address !== '';

const header = (text: string, name: RegExp): string => name.exec(text.split('\r\n\r\n', 1)[0] ?? '')?.[1] ?? '';
const callIdOf = (text: string): string => header(text, /^(?:call-id|i)[ \t]*:[ \t]*(\S+)/im);
const cseqMethodOf = (text: string): string => header(text, /^cseq[ \t]*:[ \t]*\d+[ \t]+(\S+)/im);

/** The method of a request, the status code of a response. */
const methodOf = (text: string): string => (/^(?:SIP\/2\.0 )?(\S{1,32})/.exec(text)?.[1] ?? '').toUpperCase();

/** The SIP messages and the media facts of one leg, on their way to the call's timeline. */
export class LegCapture {
  readonly #captures: SipCaptures;
  readonly #callIds = new Set<string>();
  #peer: SipAddress;
  #local = NOWHERE;
  #pending: Seen[] = [];
  #kept = { messages: 0, probes: 0, bytes: 0 };
  #sink: TraceSink | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stored: Promise<unknown> = Promise.resolve();

  /** @param peer where the leg's requests go, as far as that is known before anybody answered */
  constructor(captures: SipCaptures, peer: SipAddress = NOWHERE) {
    this.#captures = captures;
    this.#peer = peer;
  }

  /** From now on the messages of this Call-ID are the leg's too, with those that came before it was known. */
  follow(callId: string): void {
    this.#callIds.add(callId);
    this.#captures.follow(callId, this);
  }

  /** Where to report to; what was seen so far follows shortly. */
  reportTo(sink: TraceSink): void {
    this.#sink = sink;
    this.#arm();
  }

  /** Takes one message, unless the leg had more than its share. */
  add(seen: Seen): void {
    const kind = cseqMethodOf(seen.text) === 'OPTIONS' ? 'probes' : 'messages';
    const text = seen.text.slice(0, MOST.bytesOfOne);
    if (this.#kept[kind] >= MOST[kind] || this.#kept.bytes + text.length > MOST.bytes) return;
    this.#kept[kind] += 1;
    this.#kept.bytes += text.length;
    if (isKnown(seen.peer)) this.#peer = seen.peer;
    if (isKnown(seen.local)) this.#local = seen.local;
    this.#pending.push({ ...seen, text });
    this.#arm();
  }

  /** Notes what the media server counted. */
  media(facts: MediaFacts): void {
    this.#report([], { timestamp: timestamp(), facts });
  }

  /** The leg is over: late answers are heard for a moment, then everything is reported and forgotten. */
  end(): void {
    setTimeout(() => {
      for (const callId of this.#callIds) this.#captures.forget(callId);
      void this.flush();
    }, LINGER_MS).unref();
  }

  /** Reports what is pending; resolves when all is stored. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const messages = this.#pending.map(seen => this.#record(seen));
    if (this.#sink) this.#pending = [];
    if (messages.length) this.#report(messages, null);
    await this.#stored;
  }

  #arm(): void {
    if (!this.#sink || this.#timer || !this.#pending.length) return;
    this.#timer = setTimeout(() => void this.flush(), GATHER_MS);
    this.#timer.unref();
  }

  #report(sip_messages: SipMessageRecord[], media: CallTrace['media']): void {
    if (this.#sink) this.#stored = this.#sink({ sip_messages, media });
  }

  #record(seen: Seen): SipMessageRecord {
    const peer = isKnown(seen.peer) ? seen.peer : this.#peer;
    const known = isKnown(seen.local) ? seen.local : this.#local;
    const local = isKnown(known) ? known : this.#captures.listenerOf(seen.transport);
    const [source, destination] = seen.direction === 'received' ? [peer, local] : [local, peer];
    return {
      id: newId(),
      timestamp: seen.timestamp,
      direction: seen.direction,
      transport: seen.transport,
      method: methodOf(seen.text),
      src_ip: source.address,
      src_port: source.port,
      dst_ip: destination.address,
      dst_port: destination.port,
      raw: maskSecrets(seen.text),
    };
  }
}

/**
 * Tells the messages that cross one SIP server apart by their Call-ID and hands them to the legs they belong to. What
 * the server answers by itself (100, the 200 to a CANCEL and the 487 behind it, the ACK of a failure) it does not show.
 */
export class SipCaptures {
  readonly #legs = new Map<string, LegCapture>();
  readonly #early = new Map<string, Seen[]>();
  #listeners = new Map<string, SipAddress>();

  /** Takes every message that crosses the server. */
  hear(message: SeenMessage): void {
    const callId = callIdOf(message.text);
    if (!callId) return;
    const seen = { ...message, timestamp: timestamp() };
    const leg = this.#legs.get(callId);
    if (leg) leg.add(seen);
    else this.#keep(callId, seen);
  }

  /** Messages of this Call-ID belong to the leg; those that came before it was known, too. */
  follow(callId: string, leg: LegCapture): void {
    this.#legs.set(callId, leg);
    for (const seen of this.#early.get(callId) ?? []) leg.add(seen);
    this.#early.delete(callId);
  }

  /** The leg is over. */
  forget(callId: string): void {
    this.#legs.delete(callId);
  }

  /** Notes where the server listens, from its own words: `udp/192.0.2.1:5060,tcp/192.0.2.1:5060`. */
  setListeners(hostports: string): void {
    const found = hostports.matchAll(/(\w+)\/([^,]+):(\d+)/g);
    this.#listeners = new Map(
      [...found].map(([, transport = '', address = '', port]) => [transport, { address, port: Number(port) }]),
    );
  }

  /** Where the server listens on a transport. */
  listenerOf(transport: string): SipAddress {
    return this.#listeners.get(transport) ?? NOWHERE;
  }

  /** Reports everything at once, before we stop. */
  async flush(): Promise<void> {
    await Promise.all([...this.#legs.values()].map(leg => leg.flush()));
  }

  /** An INVITE that came in is authenticated before it has a leg; everything else without one is not a call's. */
  #keep(callId: string, seen: Seen): void {
    const known = this.#early.get(callId);
    if (known && known.length < EARLY.messages) known.push(seen);
    if (known || seen.direction !== 'received' || !seen.text.startsWith('INVITE ')) return;
    this.#early.set(callId, [seen]);
    const [oldest] = this.#early.keys();
    if (this.#early.size > EARLY.calls && oldest !== undefined) this.#early.delete(oldest);
  }
}
