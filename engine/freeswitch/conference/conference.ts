import { randomUUID } from 'node:crypto';
import type { EslHeaders } from '../../esl/encode.ts';
import { sampleRate } from '../../media/clock.ts';
import { Mixer } from '../../media/mixer.ts';
import type { Channel } from '../channel.ts';
import type { Core } from '../core.ts';
import { parseDigits } from '../digits.ts';
import type { ConferenceEvents } from './events.ts';
import { pressControl } from './controls.ts';
import { conferenceHeaders, memberHeaders, playedHeaders } from './events.ts';
import { floorOf } from './floor.ts';
import { Member } from './member.ts';
import { PlayQueue } from './play-queue.ts';
import { Recordings } from './recordings.ts';
import { RoomSounds } from './room-sounds.ts';
import { recordingRate } from '../session-recording.ts';

/** The flag of members of whom one has to be there (since FreeSWITCH 1.10.10; `endconf` ends it when any of those leaves). */
const MANDATORY = 'mandatory_member_endconf';

/** What makes a conference. */
export interface ConferenceOptions {
  name: string;
  profile: string;
  pin: string;
  /** What is played to one who waits; null for nothing. */
  music: string | null;
  events: ConferenceEvents;
  /** Told once, when nobody can join any more. */
  onOver(): void;
}

/** A room in which everybody hears everybody else. Begins with its first member and ends with its last. */
export class Conference {
  readonly uuid = randomUUID();
  readonly name: string;
  readonly profile: string;
  readonly domain: string;
  readonly core: Core;
  readonly mixer: Mixer;
  readonly members = new Map<number, Member>();
  readonly recordings: Recordings;
  readonly plays: PlayQueue;
  readonly sounds: RoomSounds;
  readonly createdAt = Date.now();
  /** What whoever comes must know; empty for nothing. */
  pin: string;
  /** Texts that `set` takes and `get` gives: `endconference_grace_time` is in seconds, the others change nothing that is heard. */
  readonly parameters = new Map<string, string>();
  /** Texts of applications (`setvar`). */
  readonly variables = new Map<string, string>();
  /** Most members, 0 for no limit. */
  maxMembers = 0;
  locked = false;
  /** Who speaks: the member that began last, or the first one to come. */
  floor: Member | null = null;
  /** Resolves when the last member has left and all files are complete. */
  readonly closed: Promise<void>;
  readonly #options: ConferenceOptions;
  readonly #unsubscribe: () => void;
  #endsBelowTwo = false;
  /** Runs from when the last mandatory member has left. */
  #grace: NodeJS.Timeout | null = null;
  #waitsForModerator = false;
  #over = false;
  #close: () => void = () => undefined;

  constructor(core: Core, options: ConferenceOptions) {
    const { clock, rtpHost, log } = core.options;
    this.core = core;
    this.name = options.name;
    this.profile = options.profile;
    this.pin = options.pin;
    this.domain = core.options.advertisedAddress ?? rtpHost;
    this.#options = options;
    this.mixer = new Mixer(clock);
    this.recordings = new Recordings({
      raise: headers => this.raiseAfterReply(headers),
      log,
      rate: () => this.#recordingRate(),
    });
    this.plays = new PlayQueue({
      start: (source, onEnd) => this.mixer.play(source, onEnd),
      done: (file, samples, rate) =>
        this.raise({ ...playedHeaders(samples, rate), Action: 'play-file-done', File: file }),
    });
    this.sounds = new RoomSounds(this, options.music);
    this.closed = new Promise(resolve => (this.#close = resolve));
    this.#unsubscribe = clock.subscribe(() => this.#tick());
    this.raise({ Action: 'conference-create' });
  }

  /** Members without ghosts. */
  get size(): number {
    return this.members.size - this.ghosts;
  }

  get ghosts(): number {
    let count = 0;
    for (const member of this.members.values()) if (member.ghost) count += 1;
    return count;
  }

  /** Samples per second of what is heard in this conference: the highest rate of its members. */
  get rate(): number {
    return [...this.members.values()].reduce((most, one) => Math.max(most, one.channel.leg.rate), sampleRate);
  }

  /** True once the conference is ending: everybody has been told to leave. */
  get over(): boolean {
    return this.#over;
  }

  /** Whether those who are here wait for others: for the moderator, or alone without minding music. */
  get waits(): boolean {
    if (this.mixer.hushed) return true;
    return this.size === 1 && ![...this.members.values()].some(one => one.flags.has('nomoh'));
  }

  /** Members, the newest first, as the real server counts them. */
  newestFirst(): Member[] {
    return [...this.members.values()].reverse();
  }

  /** Takes a channel in. The flags are those of the `conference` application. */
  add(channel: Channel, id: number, flags: ReadonlySet<string>): Member {
    const seat = this.mixer.add(() => channel.leg.said());
    const member = new Member({ id, channel, flags, seat });
    member.plays = new PlayQueue({
      start: (source, onEnd) => seat.play(source, onEnd),
      done: (file, samples, rate) => this.#playedToMember(member, file, playedHeaders(samples, rate)),
    });
    this.members.set(id, member);
    this.#endsBelowTwo ||= flags.has('mintwo');
    this.#waitsForModerator ||= flags.has('wait-mod');
    if (flags.has('endconf') || flags.has(MANDATORY)) this.#stayOpen();
    this.#watchModerators();
    this.raise({ ...memberHeaders(this, member), Action: 'add-member' });
    this.sounds.entered(member);
    return member;
  }

  /** Takes a member out; the conference may end with it. */
  remove(member: Member): void {
    if (!this.members.has(member.id)) return;
    if (this.floor === member) this.#giveFloor(null);
    this.members.delete(member.id);
    this.mixer.remove(member.seat);
    member.plays?.close();
    this.#watchModerators();
    this.raise({ ...memberHeaders(this, member), Action: 'del-member' });
    this.sounds.left(member);
    if (this.members.size === 0) void this.#finish();
    else if (this.#endsBelowTwo && this.size < 2) this.end();
    else if (member.flags.has('endconf')) this.end();
    else if (this.#lostItsLast(member)) this.#endAfterGrace();
  }

  /** Sends everybody out. */
  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#options.onOver();
    for (const member of [...this.members.values()]) member.leave();
  }

  /** A member has pressed a key; one with `dist-dtmf` presses it for all others, and controls nothing. */
  pressed(member: Member, digit: string): void {
    if (!member.flags.has('dist-dtmf')) return pressControl(this, member, digit);
    const { digits, durationMs } = parseDigits(`${digit}@100`);
    for (const other of this.members.values())
      if (other !== member) void other.channel.leg.sendDigits(digits, durationMs);
  }

  /** Raises an event of this conference, now. */
  raise(headers: EslHeaders): void {
    this.#options.events.raise({ ...conferenceHeaders(this), ...headers });
  }

  /** Raises an event that an api command has caused, after its reply. */
  raiseAfterReply(headers: EslHeaders): void {
    this.#options.events.raiseAfterReply({ ...conferenceHeaders(this), ...headers });
  }

  /** As `raiseAfterReply`, with the headers of a member. */
  raiseAbout(member: Member, action: string, extra: EslHeaders = {}): void {
    this.raiseAfterReply({ ...memberHeaders(this, member), Action: action, ...extra });
  }

  /** Says that a member is being moved to another conference. */
  raiseMove(member: Member, name: string): void {
    const names = { 'Old-Conference-Name': this.name, 'New-Conference-Name': name };
    this.raiseAfterReply({ ...memberHeaders(this, member), ...names, Action: 'transfer' });
  }

  /** What the first member says who has `record_sample_rate`; else that of the conference. */
  #recordingRate(): number {
    const asked = [...this.members.values()].find(({ channel }) => channel.get('record_sample_rate') !== undefined);
    return asked ? recordingRate(asked.channel, name => asked.channel.get(name)) : this.rate;
  }

  /** Whether this was the last mandatory member. */
  #lostItsLast(gone: Member): boolean {
    return gone.flags.has(MANDATORY) && ![...this.members.values()].some(one => one.flags.has(MANDATORY));
  }

  /** Ends at once, or when no mandatory member, nor one with `endconf`, has come within `endconference_grace_time` seconds. */
  #endAfterGrace(): void {
    const seconds = Math.min(Number(this.parameters.get('endconference_grace_time') ?? 0) || 0, 86_400);
    if (seconds <= 0) return this.end();
    this.#stayOpen();
    this.#grace = setTimeout(() => this.end(), seconds * 1000);
  }

  #stayOpen(): void {
    if (this.#grace) clearTimeout(this.#grace);
    this.#grace = null;
  }

  /** While a conference waits for its moderator, nobody hears anybody. */
  #watchModerators(): void {
    this.mixer.hushed = this.#waitsForModerator && ![...this.members.values()].some(one => one.moderator);
  }

  #tick(): void {
    this.mixer.mix();
    for (const member of this.members.values()) this.#listenTo(member);
    const floor = floorOf(this.members.values(), this.floor);
    if (floor !== this.floor) this.#giveFloor(floor);
    this.recordings.frame(() => this.mixer.all());
  }

  #listenTo(member: Member): void {
    const { seat, talk, flags } = member;
    if (member.held) return;
    const change = talk.push(seat.level);
    if (change === null) return;
    member.gate();
    if (seat.speaks) this.raise({ ...memberHeaders(this, member), Action: `${change}-talking` });
    else if (change === 'start' && flags.has('mute-detect'))
      this.raise({ ...memberHeaders(this, member), Action: 'mute-detect' });
  }

  /** Gives the floor to a member, or takes it from whoever has it. */
  #giveFloor(member: Member | null): void {
    this.floor = member;
    this.raise({ Action: 'floor-change', ...(member ? memberHeaders(this, member) : {}) });
  }

  #playedToMember(member: Member, file: string, figures: EslHeaders): void {
    this.raise({ ...figures, Action: 'play-file-member-done', ...memberHeaders(this, member), File: file });
  }

  async #finish(): Promise<void> {
    this.#over = true;
    this.#options.onOver();
    this.#unsubscribe();
    this.#stayOpen();
    this.sounds.end();
    this.plays.end();
    await this.recordings.close();
    this.raise({ Action: 'conference-destroy' });
    this.#close();
  }
}
