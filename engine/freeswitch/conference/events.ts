import type { EslHeaders } from '../../esl/encode.ts';
import type { Core } from '../core.ts';
import { channelHeaders } from '../events.ts';
import type { Conference } from './conference.ts';
import type { Member } from './member.ts';

/**
 * Raises `conference::maintenance`. Headers are made when the thing happens; what an api command has caused is held back
 * until its reply has been written, and everything keeps its order.
 */
export class ConferenceEvents {
  readonly #core: Core;
  #held: EslHeaders[] = [];

  constructor(core: Core) {
    this.#core = core;
  }

  /** Raises an event now, after those that are held. */
  raise(headers: EslHeaders): void {
    this.#release();
    this.#send(headers);
  }

  /** Raises an event after the reply to the command that is being run. */
  raiseAfterReply(headers: EslHeaders): void {
    if (this.#held.length === 0) setImmediate(() => this.#release());
    this.#held.push(headers);
  }

  #release(): void {
    if (this.#held.length > 0) for (const headers of this.#held.splice(0)) this.#send(headers);
  }

  #send(headers: EslHeaders): void {
    this.#core.raise({ name: 'CUSTOM', subclass: 'conference::maintenance', headers });
  }
}

/** The headers that every event of a conference has. */
export function conferenceHeaders(conference: Conference): EslHeaders {
  return {
    'Conference-Name': conference.name,
    'Conference-Domain': conference.domain,
    'Conference-Size': String(conference.size),
    'Conference-Ghosts': String(conference.ghosts),
    'Conference-Profile-Name': conference.profile,
    'Conference-Unique-ID': conference.uuid,
  };
}

/** The headers that tell about a member. */
export function memberHeaders(conference: Conference, member: Member): EslHeaders {
  const { seat, talk } = member;
  return {
    Floor: String(conference.floor === member),
    ...channelHeaders(member.channel),
    Video: 'false',
    Hear: String(seat.hears),
    See: 'true',
    Speak: String(seat.speaks),
    Talking: String(talk.talking && seat.speaks),
    'Mute-Detect': String(member.flags.has('mute-detect')),
    Hold: String(member.held),
    'Member-ID': String(member.id),
    'Member-Type': member.moderator ? 'moderator' : 'member',
    'Member-Ghost': String(member.ghost),
    'Energy-Level': String(talk.energy),
    'Current-Energy': String(seat.level),
  };
}

/** The figures of something played. */
export function playedHeaders(samples: number, rate: number): EslHeaders {
  const milliseconds = Math.round((samples * 1000) / rate);
  return {
    seconds: String(Math.floor(milliseconds / 1000)),
    milliseconds: String(milliseconds),
    samples: String(samples),
  };
}
