import { setTimeout as wait } from 'node:timers/promises';
import type { LiveRecord } from '#contract/events';
import type { ConferenceEntry } from '#flow/action';
import type { CallSession } from '../call/session.ts';
import type { Services } from '../services.ts';
import { Branch } from './branch.ts';
import { Guest } from './guest.ts';

/** How often it is looked whether a conference has a living node again. */
const LOOK_MS = 100;

/**
 * Makes a call a participant of a conference, answering it first: only a progressing call can be one (13.4). The conference
 * may live on another node.
 * @throws Error why it cannot be one
 */
export const joinConference = async (call: CallSession, conferenceId: string): Promise<ConferenceEntry> => {
  const id = conferenceId.toLowerCase();
  const { registry, store } = call.services;
  const record = registry.conferences.has(id) ? undefined : await conferenceRecord(call.services, id);
  const here = registry.conferences.get(id);
  call.leg.meetAt(here?.bridge.server ?? mixerOf(record));
  await call.answer();
  if (here) return here.admit(call);
  const elsewhere = record && !record.final && record.data.customer_id === call.call.customer_id;
  if (!elsewhere || record.owner === store.node) throw new Error(`there is no conference ${id}`);
  return joinElsewhere(call, id, record.owner);
};

/**
 * The record of a conference of any node. A room whose node has died is adopted by another one within half a lease
 * (call/recovery.ts): whoever asks for it meanwhile waits.
 */
export const conferenceRecord = async (
  { store, neighbours, settings }: Services,
  id: string,
): Promise<LiveRecord<'conference'> | undefined> => {
  for (const until = Date.now() + settings.LEASE_MS; ; await wait(LOOK_MS)) {
    const record = await store.read('conference', id);
    const settled = !record || record.final || record.owner === store.node || (await neighbours.lives(record.owner));
    if (settled || Date.now() >= until) return record;
  }
};

/** The media server that a conference of any node mixes on; empty when that is open. */
export const mixerOf = (record: LiveRecord<'conference'> | undefined): string => {
  const { media_server } = record?.internal ?? {};
  return typeof media_server === 'string' ? media_server : '';
};

const joinElsewhere = async (call: CallSession, conference_id: string, node: string): Promise<ConferenceEntry> => {
  const { neighbours, registry, store } = call.services;
  const media_server = call.leg.mediaServer;
  const says = { conference_id, node: store.node, media_server, call: call.call };
  const door = doorOf(conference_id, call.id);
  registry.atTheDoor.add(door);
  const admission = await neighbours.ask(node, 'conference.admit', says).finally(() => registry.atTheDoor.delete(door)); // in the same turn as it is expected
  let branch = registry.branches.get(conference_id);
  if (branch?.bridge.id !== admission.confbridge_id) branch = new Branch(call.services, conference_id, node, admission);
  branch.expect(call, admission);
  return admission;
};

/** Names a call that asks to come into a conference of another node, which may look after it before its answer is here. */
const doorOf = (conferenceId: string, callId: string): string => `${conferenceId} ${callId}`;

/** Answers what other nodes ask about conferences of this one, and about calls of this one in conferences of theirs. */
export const answerNeighbours = (services: Services): void => {
  const { neighbours, registry } = services;
  const conference = (id: string) => {
    const session = registry.conferences.get(id);
    if (!session) throw new Error(`there is no conference ${id} here`);
    return session;
  };
  neighbours.answer('conference.admit', ({ conference_id, node, call, media_server }) =>
    conference(conference_id).admitGuest(new Guest(services, node, call, conference_id), media_server),
  );
  neighbours.answer('conference.entered', async ({ conference_id, call_id }) => ({
    company: await conference(conference_id).guestEntered(call_id),
  }));
  neighbours.answer('conference.left', ({ conference_id, call_id }) =>
    registry.conferences.get(conference_id)?.guestLeft(call_id),
  );
  neighbours.answer('conference.digit', ({ conference_id, digit }) =>
    registry.conferences.get(conference_id)?.bridge.emit('digit', digit),
  );
  neighbours.answer('conference.company', ({ conference_id }) =>
    registry.branches.get(conference_id)?.bridge.accompany(),
  );
  neighbours.answer('conference.put_out', ({ conference_id, call_id }) =>
    registry.branches.get(conference_id)?.putOut(call_id),
  );
  neighbours.answer(
    'conference.look',
    ({ conference_id, call_id }) =>
      registry.branches.get(conference_id)?.look(call_id) ?? {
        there: registry.atTheDoor.has(doorOf(conference_id, call_id)),
        comes: true,
      },
  );
};

/** Takes a call into a bridge until it leaves. Rejects when there is no such bridge or it does not let the call in. */
export const joinConfbridge = async (call: CallSession, id: string, signal: AbortSignal): Promise<void> => {
  const bridge = call.services.registry.confbridges.get(id);
  if (!bridge) throw new Error(`there is no confbridge ${id} here`);
  await bridge.join(call, signal);
};
