import { START_ACTION } from '#contract/action';
import { type Address, normalizeAddress } from '#contract/address';
import { PlatformError } from '#contract/errors';
import { EMPTY_ID, isSet, newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { GroupcallSession } from '../groupcall/session.ts';
import type { Services } from '../services.ts';
import { type DialTarget, OutgoingLeg } from '../sip/outgoing-leg.ts';
import { type Route, route } from './destinations.ts';
import type { CallRequest, CreatedCalls } from './request.ts';
import { CallSession } from './session.ts';

/**
 * Places calls to every destination that can be dialled (voice-and-flows 9.1, 9.2). Resolves when their records are
 * written; the INVITEs are on their way by then.
 * @throws PlatformError why the last destination failed, when none could be dialled
 */
export const createCalls = async (services: Services, request: CallRequest): Promise<CreatedCalls> => {
  const [routes] = await Promise.all([routesOf(services, request), requireActive(services, request.customer_id)]);
  const created = routes.map(([destination, way]) => createRoute(services, request, destination, way));
  const sessions = created.flatMap(one => one.sessions);
  await Promise.all(created.map(one => one.written));
  await chain(services, request.master_call_id, sessions);
  return {
    sessions,
    calls: sessions.map(session => session.call),
    groupcalls: created.flatMap(one => (one.groupcall ? [one.groupcall.groupcall] : [])),
  };
};

const requireActive = async (services: Services, customerId: string): Promise<void> => {
  const customer = await services.directory.customer(customerId);
  if (customer?.status !== 'active')
    throw new PlatformError('PERMISSION_DENIED', 'The account is not active and may not place calls.');
};

const routesOf = async (services: Services, request: CallRequest): Promise<[Address, Route][]> => {
  const source = normalizeAddress(request.source);
  const routes: [Address, Route][] = [];
  let failure: unknown = new PlatformError('INVALID_ARGUMENT', 'No destination was given.');
  for (const given of request.destinations) {
    const destination = normalizeAddress(given);
    try {
      routes.push([destination, await route(services, request.customer_id, source, destination)]);
    } catch (error) {
      failure = error;
      services.log.info({ destination: destination.target, error: String(error) }, 'a destination cannot be dialled');
    }
  }
  if (!routes.length) throw failure;
  return routes;
};

interface CreatedRoute {
  sessions: CallSession[];
  groupcall?: GroupcallSession;
  written: Promise<unknown>;
}

const createRoute = (services: Services, request: CallRequest, destination: Address, way: Route): CreatedRoute => {
  const groupcallId = way.kind === 'groupcall' ? newId() : EMPTY_ID;
  const sessions = way.targets.map(target => createLeg(services, request, destination, target, groupcallId));
  const groupcall =
    way.kind === 'groupcall' ? new GroupcallSession(services, request, destination, groupcallId, sessions) : undefined;
  return {
    sessions,
    written: Promise.all([groupcall?.create(), ...sessions.map(session => session.create())]),
    ...(groupcall ? { groupcall } : {}),
  };
};

const createLeg = (
  services: Services,
  request: CallRequest,
  destination: Address,
  target: DialTarget,
  groupcallId: string,
): CallSession => {
  const server = services.sip.pick(target.sip_server);
  if (!server) throw new PlatformError('SERVICE_UNAVAILABLE', 'No SIP server is connected.');
  const id = newId();
  const leg = new OutgoingLeg(target, server, services.media, services.log.child({ call_id: id }));
  const session = new CallSession(services, {
    leg,
    call: {
      id,
      customer_id: request.customer_id,
      direction: 'outgoing',
      status: 'dialing',
      source: normalizeAddress(request.source),
      destination,
      action: START_ACTION,
      groupcall_id: groupcallId,
      master_call_id: request.master_call_id || EMPTY_ID,
      tm_create: timestamp(),
    },
    early_execution: request.early_execution ?? false,
    ...(request.flow ? { flow: request.flow } : {}),
    ...(request.variables ? { variables: request.variables } : {}),
    ...(request.request_id ? { request_id: request.request_id } : {}),
  });
  void leg.dial(request.media_server ?? '');
  return session;
};

/** Links new calls to their master while it is there to be linked to (voice-and-flows 8.8). */
const chain = async (services: Services, masterId: string | undefined, sessions: CallSession[]): Promise<void> => {
  const master = isSet(masterId) ? services.registry.calls.get(masterId) : undefined;
  if (!master) return;
  await master.update({ chained_call_ids: [...master.call.chained_call_ids, ...sessions.map(session => session.id)] });
};
