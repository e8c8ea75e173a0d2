import type { ConferenceEntry } from '#flow/action';
import type { CallSession } from '../call/session.ts';

/**
 * Makes a call a participant of a conference, answering it first: only a progressing call can be one (13.4).
 * @throws Error why it cannot be one
 */
export const joinConference = async (call: CallSession, conferenceId: string): Promise<ConferenceEntry> => {
  await call.answer();
  const conference = call.services.registry.conferences.get(conferenceId.toLowerCase());
  if (!conference) throw new Error(await whyAbsent(call, conferenceId));
  return conference.admit(call);
};

const whyAbsent = async ({ call, services }: CallSession, id: string): Promise<string> => {
  const record = await services.store.read('conference', id.toLowerCase());
  const elsewhere = record && !record.final && record.data.customer_id === call.customer_id;
  return elsewhere
    ? `conference ${id} lives on another node; conferences across nodes do not exist yet`
    : `there is no conference ${id}`;
};

/** Takes a call into a bridge until it leaves. Rejects when there is no such bridge or it does not let the call in. */
export const joinConfbridge = async (call: CallSession, id: string, signal: AbortSignal): Promise<void> => {
  const bridge = call.services.registry.confbridges.get(id);
  if (!bridge) throw new Error(`there is no confbridge ${id} here`);
  await bridge.join(call, signal);
};
