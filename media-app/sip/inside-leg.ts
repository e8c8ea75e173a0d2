import type { ReleaseCause } from '#contract/hangup';
import type { Log } from '#process/log';
import type { MediaEndpoint } from '../media/endpoint.ts';
import type { MakeEndpoint } from '../media/endpoint-supply.ts';
import { audioOffer } from '../media/sdp.ts';
import type { MediaServers } from '../media/servers.ts';
import { Leg } from './leg.ts';
import type { SipServer } from './servers.ts';

/** The calling side as the called one knows it. It may be on another node. */
export interface CallerEnd {
  /** Where the called side has its media made. */
  readonly mediaServer: string;
  /** The description of its media; undefined while it has none. */
  readonly offer: string | undefined;
  rings(): void;
  /** The callee's media is there: for good, or before the answer. Rejects when the caller is gone. */
  hear(sdp: string, event: 'early' | 'answered'): Promise<void>;
  /** The other side is gone. */
  over(cause: ReleaseCause): void;
  isThere(): Promise<boolean>;
}

/** The called side as the calling one knows it. */
export type CalleeEnd = Pick<CallerEnd, 'over' | 'isThere'>;

/** Finds who is called and starts the call that comes in; resolves with its side, or with why there is none. */
type Open = (caller: InsideCaller) => Promise<CalleeEnd | ReleaseCause>;

/**
 * The calling side of a call that stays in the house (accounts-and-plumbing 25.3, or between two nodes): no SIP is sent,
 * the two sides hand each other their descriptions, and their media flows between the media servers.
 */
export class InsideCaller extends Leg implements CallerEnd {
  readonly #open: Open;
  #callee: CalleeEnd | undefined;
  #cause: ReleaseCause | undefined;
  #gone = false;

  constructor(server: SipServer, log: Log, open: Open) {
    super(server, log);
    this.#open = open;
  }

  get offer(): string | undefined {
    return this.endpoint && audioOffer(this.endpoint.localSdp);
  }

  /** Places the call as `OutgoingLeg.dial` does. Never rejects. */
  async dial(make: MakeEndpoint): Promise<void> {
    try {
      this.use(await make('plain'));
      if (this.#cause) return this.finish(this.#cause);
      const opened = await this.#open(this);
      if (typeof opened === 'string') return this.over(opened);
      this.#callee = opened;
      if (this.#cause) opened.over('normal_clearing');
    } catch (error) {
      this.log.warn({ error: String(error) }, 'the call inside the house failed');
      this.over('failure');
    }
  }

  rings(): void {
    this.emit('ringing');
  }

  async hear(sdp: string, event: 'early' | 'answered'): Promise<void> {
    if (this.#gone || !this.endpoint) throw new Error('the caller gave up');
    await this.endpoint.modify(sdp);
    this.emit(event);
  }

  over(cause: ReleaseCause): void {
    this.#gone = true;
    this.finish(cause);
  }

  isThere(): Promise<boolean> {
    return Promise.resolve(!this.#gone);
  }

  override async probe(): Promise<boolean> {
    return (await this.#callee?.isThere()) ?? true;
  }

  /** No SIP server carries it: whoever talks through one that is lost ends, and so does this. */
  override abandon(): void {
    // it goes on
  }

  protected override refuse(cause: ReleaseCause): Promise<void> {
    this.#cause ??= cause;
    if (this.endpoint) this.over(cause);
    this.#callee?.over('normal_clearing');
    return Promise.resolve();
  }
}

/** The called side of such a call: rings, is heard, is answered or refused like one that came in by SIP. */
export class InsideCallee extends Leg implements CalleeEnd {
  readonly #caller: CallerEnd;
  readonly #media: MediaServers;
  #preparing: Promise<MediaEndpoint> | undefined;
  #gone = false;

  constructor(caller: CallerEnd, server: SipServer, media: MediaServers, log: Log) {
    super(server, log);
    this.#caller = caller;
    this.#media = media;
  }

  override get mediaServer(): string {
    return this.endpoint?.server ?? this.#caller.mediaServer;
  }

  ring(): void {
    this.#caller.rings();
  }

  async progress(): Promise<void> {
    if (!this.endpoint) await this.#join('early');
  }

  async answer(): Promise<void> {
    await this.#join('answered');
  }

  over(cause: ReleaseCause): void {
    this.#gone = true;
    if (!this.endpoint) void this.#preparing?.then(endpoint => endpoint.destroy()).catch(() => undefined); // never came to be
    this.finish(cause);
  }

  isThere(): Promise<boolean> {
    return Promise.resolve(!this.#gone);
  }

  override probe(): Promise<boolean> {
    return this.#caller.isThere();
  }

  /** No SIP server carries it: whoever talks through one that is lost ends, and so does this. */
  override abandon(): void {
    // it goes on
  }

  protected override refuse(cause: ReleaseCause): Promise<void> {
    this.over(cause);
    this.#caller.over(cause);
    return Promise.resolve();
  }

  async #join(event: 'early' | 'answered'): Promise<void> {
    const { offer, mediaServer } = this.#caller;
    if (!offer || this.#gone) throw new Error('the caller gave up');
    this.#preparing ??= this.#media.createEndpoint(offer, mediaServer);
    const endpoint = await this.#preparing;
    if (this.#gone) throw new Error('the caller gave up');
    if (!this.endpoint) this.use(endpoint);
    await this.#caller.hear(endpoint.localSdp, event);
  }
}
