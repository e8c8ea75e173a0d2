import { createHash, timingSafeEqual } from 'node:crypto';
import type { Channel } from '../channel.ts';
import type { Core } from '../core.ts';
import { Conference } from './conference.ts';
import { ConferenceEvents } from './events.ts';
import type { Member } from './member.ts';

/** How a channel wants to join: `<name>[@<profile>][+[<pin>]][+flags{a|b}]`. */
export interface JoinRequest {
  name: string;
  profile: string;
  pin: string;
  flags: ReadonlySet<string>;
}

const pattern = /^([^@+]+)(?:@([^@+]+))?(?:\+(?!flags\{)([^+]*))?(?:\+flags\{([^}]*)\})?$/;
const maxData = 2048;
const maxFlags = 64;

/**
 * Reads the argument of the `conference` application.
 * @throws Error when it names no conference
 */
export function parseJoin(data: string): JoinRequest {
  const match = data.length > maxData ? null : pattern.exec(data.trim());
  const [, name = '', profile = 'default', pin = '', flags = ''] = match ?? [];
  if (!isRoomName(name) || !isRoomName(profile) || pin.length > 64) throw new Error('no conference is named');
  return { name, profile, pin, flags: new Set(flags.split('|', maxFlags).map(flag => flag.trim().toLowerCase())) };
}

/** Whether a text can name a conference in commands and events. */
export function isRoomName(text: string): boolean {
  return /^[^@+\s;\p{Cc}]{1,128}$/u.test(text);
}

/** The conferences of a media server, by name. */
export class Conferences {
  readonly #core: Core;
  readonly #events: ConferenceEvents;
  readonly #open = new Map<string, Conference>();
  readonly #moving = new Map<string, number>();
  #lastId = 0;

  constructor(core: Core) {
    this.#core = core;
    this.#events = new ConferenceEvents(core);
  }

  /** Conferences that can be joined, the newest first. */
  list(): Conference[] {
    return [...this.#open.values()].reverse();
  }

  /** The conference of a name, or undefined. */
  get(name: string): Conference | undefined {
    return this.#open.get(name);
  }

  /**
   * Takes a channel into a conference, which begins with its first member.
   * @throws Error when it is locked, full, protected by another pin, or must exist and does not
   */
  join(channel: Channel, request: JoinRequest): { conference: Conference; member: Member } {
    const kept = this.#takeId(channel);
    const present = this.#open.get(request.name);
    const refusal = present ? refusalOf(present) : request.flags.has('join-only') ? 'does not exist' : null;
    if (refusal !== null) throw new Error(`conference ${request.name} ${refusal}`);
    if (present && !samePin(present.pin, request.pin)) throw new Error(`conference ${request.name} has another pin`);
    const conference = present ?? this.#create(channel, request);
    return { conference, member: conference.add(channel, kept ?? ++this.#lastId, request.flags) };
  }

  /** Why nobody can be moved to this conference now, or null. */
  refusal(name: string): string | null {
    const conference = this.#open.get(name);
    if (conference && conference.pin !== '') return 'has a pin';
    return conference ? refusalOf(conference) : null;
  }

  /** The next membership of this channel keeps the number of the present one. */
  keepId(channel: Channel, id: number): void {
    this.#moving.set(channel.uuid, id);
  }

  /** A channel that was being moved has hung up instead. */
  forget(channel: Channel): void {
    this.#moving.delete(channel.uuid);
  }

  #create(channel: Channel, { name, profile, pin }: JoinRequest): Conference {
    const conference: Conference = new Conference(this.#core, {
      name,
      profile,
      pin,
      music: channel.get('conference_moh_sound') ?? null,
      events: this.#events,
      onOver: () => {
        if (this.#open.get(name) === conference) this.#open.delete(name);
      },
    });
    conference.maxMembers = Math.max(0, Math.trunc(Number(channel.get('conference_max_members') ?? 0)) || 0);
    const grace = channel.get('conference_endconference_grace_time');
    if (grace !== undefined) conference.parameters.set('endconference_grace_time', grace);
    this.#open.set(name, conference);
    return conference;
  }

  #takeId(channel: Channel): number | undefined {
    const kept = this.#moving.get(channel.uuid);
    this.#moving.delete(channel.uuid);
    return kept;
  }
}

function refusalOf(conference: Conference): string | null {
  if (conference.locked) return 'is locked';
  return conference.maxMembers > 0 && conference.size >= conference.maxMembers ? 'is full' : null;
}

/** Whether a pin is the one that is wanted; a conference without one takes anybody. */
export function samePin(wanted: string, given: string): boolean {
  if (wanted === '') return true;
  const [one, other] = [wanted, given].map(pin => createHash('sha256').update(pin).digest());
  return one !== undefined && other !== undefined && timingSafeEqual(one, other);
}
