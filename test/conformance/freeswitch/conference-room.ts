import { strict as assert } from 'node:assert';
import type { EventEmitter } from 'node:events';
import { ownServers } from '../../support/own-servers.ts';
import { until } from './engine-under-test.ts';
import type { Endpoint, EngineUnderTest, EslEvent } from './engine-under-test.ts';
import type { RtpPeer } from './rtp-peer.ts';

/** What the tests use of drachtio-fsmrf's Endpoint in a conference. */
export interface Member extends Endpoint {
  conf: { memberId: number; name: string; uuid: string };
  join(conference: string | Conference, options?: object): Promise<{ memberId: number; confUuid: string }>;
  unjoin(): Promise<string>;
  confMute(): Promise<string>;
  confUnmute(): Promise<string>;
  confDeaf(): Promise<string>;
  confUndeaf(): Promise<string>;
  confPlay(file: string): Promise<unknown>;
  transfer(conference: string | Conference): Promise<string>;
}

/** What the tests use of drachtio-fsmrf's Conference. */
export interface Conference extends EventEmitter {
  name: string;
  uuid: string;
  memberId: number;
  endpoint: Endpoint;
  participants: Map<number, { memberId: number; type: string }>;
  destroy(): Promise<void>;
  getSize(): Promise<number>;
  get(name: string): Promise<string | number>;
  set(name: string, value: unknown): Promise<string>;
  lock(): Promise<string>;
  unlock(): Promise<string>;
  mute(who: string): Promise<string>;
  unmute(who: string): Promise<string>;
  deaf(who: string): Promise<string>;
  undeaf(who: string): Promise<string>;
  list(what?: string): Promise<{ body: string }>;
  chkRecord(): Promise<{ body: string }>;
  play(file: string | string[]): Promise<{ seconds: number; milliseconds: number; samples: number }>;
  startRecording(file: string): Promise<string>;
  pauseRecording(file: string): Promise<string>;
  resumeRecording(file: string): Promise<string>;
  stopRecording(file: string): Promise<string>;
}

/** One telephone in a conference. */
export interface Party {
  endpoint: Member;
  peer: RtpPeer;
}

let serial = 0;

/** A name that no other test uses. */
export function roomName(): string {
  serial += 1;
  return `room${serial}`;
}

/** A conference with its control leg, made as media-app makes it. */
export async function createConference(under: EngineUnderTest, name = roomName(), options = {}): Promise<Conference> {
  const media = under.media as unknown as { createConference(name: string, options: object): Promise<Conference> };
  const conference = await media.createConference(name, options);
  under.endpoints.push(conference.endpoint);
  conference.endpoint.conn.socket.setNoDelay(true);
  await conference.endpoint.api('create_uuid'); // its answer comes after the filter on the conference
  return conference;
}

/** A telephone that says a tone, with its endpoint outside of any conference. */
export async function caller(under: EngineUnderTest, hz: number): Promise<Party> {
  const { endpoint, peer } = await under.call();
  await endpoint.set('hangup_after_conference', 'false'); // FreeSWITCH hangs up when a conference ends
  peer.saying = hz;
  return { endpoint: endpoint as Member, peer };
}

/** A telephone that says a tone, in a conference. */
export async function party(
  under: EngineUnderTest,
  conference: string | Conference,
  hz: number,
  options = {},
): Promise<Party> {
  const one = await caller(under, hz);
  await one.endpoint.join(conference, options);
  return one;
}

/** That a member was not let in, with this reason; FreeSWITCH does not say one. */
export function assertRefused(event: EslEvent, reason: RegExp): void {
  const said = event.getHeader('Application-Response') ?? '';
  if (ownServers()) assert.equal(said, '_none_');
  else assert.match(said, reason);
}

/** Resolves once a telephone hears exactly these tones; none means silence. */
export async function hearsOnly({ peer }: Party, ...hz: number[]): Promise<void> {
  const wanted = hz.toSorted((a, b) => a - b).join();
  await until(
    () => peer.heard.length > 8 && peer.tonesOf(160).join() === wanted,
    `only ${wanted || 'silence'}, heard ${peer.tonesOf(160).join() || 'silence'}`,
  );
}

/** Collects the actions of a conference's events as its control connection sees them. */
export function eventsOf(conference: Conference): {
  actions: string[];
  of(action: string): EslEvent[];
  about(uuid: string): EslEvent[];
} {
  const seen: EslEvent[] = [];
  const { conn } = conference.endpoint as unknown as { conn: EventEmitter };
  const actions: string[] = [];
  conn.on('esl::event::CUSTOM::*', (event: EslEvent) => {
    seen.push(event);
    actions.push(event.getHeader('Action') ?? '');
  });
  const those = (name: string, value: string) => seen.filter(event => event.getHeader(name) === value);
  return { actions, of: action => those('Action', action), about: uuid => those('Unique-ID', uuid) };
}
