import type { ReleaseCause } from '#contract/hangup';
import type { Log } from '../log.ts';
import type { MediaEndpoint } from '../media/endpoint.ts';
import type { MakeEndpoint } from '../media/endpoint-supply.ts';
import { audioOffer } from '../media/sdp.ts';
import type { MediaServers } from '../media/servers.ts';
import { Leg } from './leg.ts';
import type { SipServer } from './servers.ts';

/** Finds who is called and starts the call that comes in; resolves with why there is none. */
type Open = (callee: InsideCallee) => Promise<ReleaseCause | undefined>;

/**
 * The calling side of a call that stays in the house (accounts-and-plumbing 25.3): no SIP is sent, the two sides hand each
 * other their descriptions, and their media flows between the media servers.
 */
export class InsideCaller extends Leg {
  readonly #callee: InsideCallee;
  readonly #open: Open;
  #cause: ReleaseCause | undefined;
  /** The call that comes in stands and listens to its leg. */
  #opened = false;

  constructor(server: SipServer, media: MediaServers, log: Log, open: Open) {
    super(server, log);
    this.#callee = new InsideCallee(this, server, media, log);
    this.#open = open;
  }

  /** Places the call as `OutgoingLeg.dial` does. Never rejects. */
  async dial(make: MakeEndpoint): Promise<void> {
    try {
      this.use(await make('plain'));
      if (this.#cause) return this.finish(this.#cause);
      const missing = await this.#open(this.#callee);
      this.#opened = true;
      if (missing) this.over(missing);
      else if (this.#cause) this.#callee.over('normal_clearing');
    } catch (error) {
      this.log.warn({ error: String(error) }, 'the call inside the house failed');
      this.over('failure');
    }
  }

  /** The callee's media is there: for good, or before the answer. */
  async hear(sdp: string, event: 'early' | 'answered'): Promise<void> {
    await this.endpoint?.modify(sdp);
    this.emit(event);
  }

  /** The other side is gone. */
  over(cause: ReleaseCause): void {
    this.finish(cause);
  }

  protected override refuse(cause: ReleaseCause): Promise<void> {
    this.#cause ??= cause;
    if (this.endpoint) this.finish(cause);
    if (this.#opened) this.#callee.over('normal_clearing');
    return Promise.resolve();
  }
}

/** The called side of such a call: rings, is heard, is answered or refused like one that came in by SIP. */
export class InsideCallee extends Leg {
  readonly #caller: InsideCaller;
  readonly #media: MediaServers;
  #preparing: Promise<MediaEndpoint> | undefined;
  #gone = false;

  constructor(caller: InsideCaller, server: SipServer, media: MediaServers, log: Log) {
    super(server, log);
    this.#caller = caller;
    this.#media = media;
  }

  override get mediaServer(): string {
    return this.endpoint?.server ?? this.#caller.mediaServer;
  }

  ring(): void {
    this.#caller.emit('ringing');
  }

  async progress(): Promise<void> {
    if (!this.endpoint) await this.#join('early');
  }

  async answer(): Promise<void> {
    await this.#join('answered');
  }

  /** The other side is gone. */
  over(cause: ReleaseCause): void {
    this.#gone = true;
    if (!this.endpoint) void this.#preparing?.then(endpoint => endpoint.destroy()).catch(() => undefined); // never came to be
    this.finish(cause);
  }

  protected override refuse(cause: ReleaseCause): Promise<void> {
    this.over(cause);
    this.#caller.over(cause);
    return Promise.resolve();
  }

  async #join(event: 'early' | 'answered'): Promise<void> {
    const theirs = this.#caller.endpoint;
    if (!theirs || this.#gone) throw new Error('the caller gave up');
    this.#preparing ??= this.#media.createEndpoint(audioOffer(theirs.localSdp), theirs.server);
    const endpoint = await this.#preparing;
    if (this.#gone) throw new Error('the caller gave up');
    if (!this.endpoint) this.use(endpoint);
    await this.#caller.hear(endpoint.localSdp, event);
  }
}
