import type { Seat } from '../../media/mixer.ts';
import type { Channel } from '../channel.ts';
import type { PlayQueue } from './play-queue.ts';
import { TalkDetector } from './talk-detector.ts';

/** What makes a member. */
export interface MemberParts {
  id: number;
  channel: Channel;
  flags: ReadonlySet<string>;
  seat: Seat;
}

/** One channel in one conference. */
export class Member {
  readonly id: number;
  readonly channel: Channel;
  readonly flags: ReadonlySet<string>;
  readonly seat: Seat;
  readonly talk = new TalkDetector();
  readonly joinedAt = Date.now();
  /** What is played to this member alone. */
  plays: PlayQueue | null = null;
  /** Conference that this member is being moved to. */
  destination: string | null = null;
  #leaving = false;
  #stop: (() => void) | null = null;

  constructor({ id, channel, flags, seat }: MemberParts) {
    this.id = id;
    this.channel = channel;
    this.flags = flags;
    this.seat = seat;
    seat.speaks = !flags.has('mute');
    seat.hears = !flags.has('deaf');
  }

  /** True once the member has been told to leave. */
  get leaving(): boolean {
    return this.#leaving;
  }

  get moderator(): boolean {
    return this.flags.has('moderator');
  }

  /** A ghost listens and speaks but is not counted. */
  get ghost(): boolean {
    return this.flags.has('ghost');
  }

  /** Tells the `conference` application of this member to end. */
  leave(): void {
    this.#leaving = true;
    this.#stop?.();
  }

  /** The application gives the function that ends its waiting. */
  stays(stop: () => void): void {
    this.#stop = stop;
    if (this.#leaving) stop();
  }
}
