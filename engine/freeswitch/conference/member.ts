import type { Seat } from '../../media/mixer.ts';
import type { Channel } from '../channel.ts';
import type { PlayQueue } from './play-queue.ts';
import { TalkDetector } from './talk-detector.ts';
import { factorOf, volumeStep } from '../volume.ts';

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
  /** Steps of -4 to 4: how loud the others hear this member, and how loud this member hears. */
  readonly volume = { in: 0, out: 0 };
  /** Out of the talk for a while: neither heard nor hearing, except for what is played to it. */
  held = false;
  /** Keys that this member controls the conference with, as the channel variable `conference_controls` names them. */
  readonly controls: string;
  /** Conference that this member is being moved to. */
  destination: string | null = null;
  /** Whether talk below the energy level is kept from the others: only where somebody has set that level. */
  #gated = false;
  #leaving = false;
  #stop: (() => void) | null = null;

  constructor({ id, channel, flags, seat }: MemberParts) {
    this.id = id;
    this.channel = channel;
    this.flags = flags;
    this.seat = seat;
    seat.speaks = !flags.has('mute');
    seat.hears = !flags.has('deaf');
    this.controls = channel.get('conference_controls') ?? 'none';
    this.setVolume('in', Number(channel.get('conference_join_volume_in') ?? 0));
    this.setVolume('out', Number(channel.get('conference_join_volume_out') ?? 0));
    const energy = channel.get('conference_join_energy_level');
    if (energy !== undefined && /^\d{1,4}$/.test(energy)) this.setEnergy(Number(energy));
  }

  /** Sets how loud the others hear this member (`in`), or how loud it hears (`out`). */
  setVolume(direction: 'in' | 'out', step: number): void {
    this.volume[direction] = volumeStep(step);
    this.seat.gain[direction === 'in' ? 'said' : 'heard'] = factorOf(step);
  }

  /** Sets the energy that counts as talking; fainter sound is kept from the others, but with the flag `audio-always`. */
  setEnergy(level: number): void {
    this.talk.energy = level;
    this.#gated = level > 0 && !this.flags.has('audio-always');
    this.gate();
  }

  /** Lets the others hear this member as long as it talks, where an energy level was set. */
  gate(): void {
    this.seat.faint = this.#gated && !this.talk.talking;
  }

  /** Takes this member out of the talk, or back into it. */
  hold(on: boolean): void {
    this.held = on;
    this.seat.away = on;
    this.talk.reset();
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
