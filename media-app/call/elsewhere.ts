import { START_ACTION } from '#contract/action';
import type { Address } from '#contract/address';
import { PlatformError } from '#contract/errors';
import type { FlowTemplate } from '#contract/flow';
import type { ReleaseCause } from '#contract/hangup';
import { newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import type { ConnectRequest } from '#flow/action';
import type { Questions } from '../neighbours.ts';
import type { Services } from '../services.ts';
import { type CalleeEnd, type CallerEnd, InsideCallee, InsideCaller } from '../sip/inside-leg.ts';
import type { Leg } from '../sip/leg.ts';
import type { Elsewhere } from '../transfer/elsewhere.ts';
import { createInPlace, vacancyOf } from '../transfer/replace.ts';
import { Connect } from './connect.ts';
import { CallSession } from './session.ts';

/** No call between nodes is one to a telephone, whoever it leads to: its parties are charged for where they called. */
const inHouse = (address: Address, domain: string): Address =>
  address.type === 'tel' ? { ...address, type: 'sip', target: `sip:${address.target}@${domain}` } : address;

const sidesOf = ({ settings }: Services, source: Address, destination: Address) => ({
  source: inHouse(source, settings.SIP_DOMAIN),
  destination: inHouse(destination, settings.SIP_DOMAIN),
});

/** A call into a conversation of another node. */
export interface CallElsewhere {
  to: Elsewhere;
  source: Address;
  media_server: string;
  flow?: FlowTemplate;
}

/** A new call to the party of such a place, whom it gets when it is answered. Write it with `create`. */
export const callElsewhere = (services: Services, { to, source, media_server, flow }: CallElsewhere): CallSession => {
  const server = services.sip.pick();
  if (!server) throw new PlatformError('SERVICE_UNAVAILABLE', 'No SIP server is connected.');
  const id = newId();
  const leg = new InsideCaller(server, services.log.child({ call_id: id }), caller =>
    reach(services, caller, to, source),
  );
  const about = sidesOf(services, source, to.vacancy.party);
  const { customer_id } = to;
  const status = { direction: 'outgoing', status: 'dialing', action: START_ACTION, tm_create: timestamp() } as const;
  const session = new CallSession(services, { leg, flow, call: { id, customer_id, ...about, ...status } });
  session.log.info({ node: to.node, dialog: to.dialog.call_id }, 'calls into a conversation of another node');
  void leg.dial(() => services.media.createEndpoint(undefined, media_server));
  return session;
};

/** Joins a caller with the party of such a place, as if it had dialled it; resolves when they have parted. Never rejects. */
export const connectElsewhere = async (caller: CallSession, to: Elsewhere): Promise<void> => {
  const { services, call, leg } = caller;
  const over = new AbortController();
  caller.once('ended', () => over.abort());
  if (caller.released) return;
  const dial = async () => {
    const far = callElsewhere(services, { to, source: call.source, media_server: leg.mediaServer });
    await far.create();
    return { sessions: [far], calls: [far.call], groupcalls: [] };
  };
  try {
    const nothingMore = { early_media: false, relay_reason: true, anonymous: '' } as const;
    const request: ConnectRequest = { source: undefined, destinations: [], ...nothingMore };
    await new Connect(caller, request, over.signal, dial).run();
  } catch (error) {
    caller.log.warn({ error: String(error) }, 'the other node could not be called');
    await caller.hangup('failure');
  }
};

/** The calling side of a call to another node begins: that node is asked to take it. */
const reach = async (
  services: Services,
  caller: InsideCaller,
  { node, dialog, customer_id }: Elsewhere,
  source: Address,
): Promise<CalleeEnd | ReleaseCause> => {
  const id = newId();
  keep(services, id, node, caller);
  const says = { id, node: services.store.node, dialog, customer_id, source, offer: caller.offer ?? '' };
  return (await services.neighbours.ask(node, 'inside.call', says)) ?? endAt(services, node, id);
};

/** A side of a call to another node, until it is over: told what the other side says, and ended with that one's node. */
const keep = ({ registry, neighbours, settings }: Services, id: string, node: string, side: Leg & CalleeEnd): void => {
  const look = async (): Promise<void> => {
    if (!(await neighbours.lives(node).catch(() => true))) side.over('failure');
  };
  const timer = setInterval(() => void look(), settings.LEASE_MS);
  registry.inside.set(id, side);
  side.once('released', () => {
    clearInterval(timer);
    registry.inside.delete(id);
  });
};

/** The other side of a call, which is at another node. */
const endAt = ({ neighbours }: Services, node: string, id: string): CalleeEnd => ({
  over: cause => neighbours.tell(node, 'inside.over', { id, cause }),
  isThere: () => neighbours.ask(node, 'inside.look', { id }).catch(() => neighbours.lives(node)),
});

/** A call from another node takes a place here. Resolves with why it may not. */
const takeIn = async (
  services: Services,
  { id, node, dialog, customer_id, source, offer }: Questions['inside.call']['says'],
): Promise<ReleaseCause | undefined> => {
  const { neighbours, sip, media, log } = services;
  const vacancy = vacancyOf(services, dialog, customer_id);
  const server = sip.pick();
  if (!vacancy || 'status' in vacancy) return 'call_rejected'; // it was there a moment ago
  if (!server) return 'temporary_failure';
  const { party, media_server: mediaServer, flow } = vacancy;
  const callId = newId();
  const caller: CallerEnd = {
    ...{ ...endAt(services, node, id), mediaServer, offer, rings: () => undefined },
    hear: async (sdp, event) => void (await neighbours.ask(node, 'inside.hear', { id, sdp, event })),
  };
  const leg = new InsideCallee(caller, server, media, log.child({ call_id: callId }));
  keep(services, id, node, leg);
  const now = timestamp();
  const status = {
    direction: 'incoming',
    status: 'ringing',
    action: START_ACTION,
    tm_create: now,
    tm_ringing: now,
  } as const;
  const call = { id: callId, customer_id, ...sidesOf(services, source, party), ...status };
  const session = new CallSession(services, { leg, flow, call });
  session.log.info({ node, in_place_of: vacancy.call.id }, 'a call of another node comes into a conversation');
  await createInPlace(session, vacancy);
  return undefined;
};

/** Answers what other nodes ask about dialogs of this one, and about calls between it and them. */
export const answerCallsElsewhere = (services: Services): void => {
  const { neighbours, registry } = services;
  neighbours.answer('dialog.look', ({ dialog, customer_id }) => {
    const found = vacancyOf(services, dialog, customer_id);
    if (!found || 'status' in found) return found;
    const { kind, party, party_call_id, media_server } = found;
    return { kind, party, party_call_id, media_server };
  });
  neighbours.answer('inside.call', says => takeIn(services, says));
  neighbours.answer('inside.hear', async ({ id, sdp, event }) => {
    const side = registry.inside.get(id);
    if (!(side instanceof InsideCaller)) throw new Error('the caller gave up');
    await side.hear(sdp, event);
  });
  neighbours.answer('inside.over', ({ id, cause }) => registry.inside.get(id)?.over(cause));
  neighbours.answer('inside.look', ({ id }) => registry.inside.has(id));
};
