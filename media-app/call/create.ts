import { START_ACTION } from '#contract/action';
import { type Address, normalizeAddress } from '#contract/address';
import { PlatformError } from '#contract/errors';
import { EMPTY_ID, isSet, newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { GroupcallSession } from '../groupcall/session.ts';
import { EndpointSupply } from '../media/endpoint-supply.ts';
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
export const createCalls = (services: Services, request: CallRequest): Promise<CreatedCalls> =>
  new Placement(services, request).place();

interface Placed {
  sessions: CallSession[];
  groupcall?: GroupcallSession;
}

/** One request to place calls, on its way to being calls. */
class Placement {
  readonly #services: Services;
  readonly #request: CallRequest;
  readonly #source: Address;
  readonly #endpoints: EndpointSupply;

  constructor(services: Services, request: CallRequest) {
    this.#services = services;
    this.#request = request;
    this.#source = normalizeAddress(request.source);
    this.#endpoints = new EndpointSupply(services.media, request.media_server);
  }

  async place(): Promise<CreatedCalls> {
    const placed = await this.#dialAll();
    const sessions = placed.flatMap(one => one.sessions);
    const groupcalls = placed.flatMap(one => (one.groupcall ? [one.groupcall] : []));
    const made = {
      sessions,
      calls: sessions.map(({ call }) => call),
      groupcalls: groupcalls.map(one => one.groupcall),
    };
    await Promise.all([...groupcalls, ...sessions].map(session => session.create()));
    await this.#chain(sessions);
    return made; // as they were made, whatever has become of them meanwhile
  }

  async #dialAll(): Promise<Placed[]> {
    try {
      const [routes] = await Promise.all([this.#routes(), this.#requireActive()]);
      return routes.map(([destination, way]) => this.#dial(destination, way));
    } catch (error) {
      this.#endpoints.returnUnused();
      throw error;
    }
  }

  async #requireActive(): Promise<void> {
    const customer = await this.#services.directory.customer(this.#request.customer_id);
    if (customer?.status !== 'active')
      throw new PlatformError('PERMISSION_DENIED', 'The account is not active and may not place calls.');
    if (!this.#services.sip.pick()) throw new PlatformError('SERVICE_UNAVAILABLE', 'No SIP server is connected.');
  }

  /** Where each destination leads; those that lead nowhere are passed over, unless that is all of them. */
  async #routes(): Promise<[Address, Route][]> {
    const routes: [Address, Route][] = [];
    let failure: unknown = new PlatformError('INVALID_ARGUMENT', 'No destination was given.');
    for (const destination of this.#request.destinations.map(normalizeAddress)) {
      try {
        routes.push([destination, await route(this.#services, this.#request.customer_id, this.#source, destination)]);
      } catch (error) {
        failure = error;
        this.#services.log.info({ destination: destination.target, error: String(error) }, 'cannot be dialled');
      }
    }
    if (!routes.length) throw failure;
    return routes;
  }

  #dial(destination: Address, way: Route): Placed {
    if (way.kind === 'call') return { sessions: way.targets.map(target => this.#leg(destination, target, EMPTY_ID)) };
    const id = newId();
    const sessions = way.targets.map(target => this.#leg(destination, target, id));
    return { sessions, groupcall: new GroupcallSession(this.#services, this.#request, destination, id, sessions) };
  }

  #leg(destination: Address, target: DialTarget, groupcallId: string): CallSession {
    const server = this.#services.sip.pick(target.sip_server);
    if (!server) throw new PlatformError('SERVICE_UNAVAILABLE', 'No SIP server is connected.');
    const id = newId();
    const leg = new OutgoingLeg(target, server, this.#services.log.child({ call_id: id }));
    const { customer_id, master_call_id, flow, variables, request_id } = this.#request;
    const session = new CallSession(this.#services, {
      leg,
      flow,
      variables,
      request_id,
      early_execution: this.#request.early_execution ?? false,
      call: {
        id,
        customer_id,
        direction: 'outgoing',
        status: 'dialing',
        source: this.#source,
        destination,
        action: START_ACTION,
        groupcall_id: groupcallId,
        master_call_id: master_call_id || EMPTY_ID,
        tm_create: timestamp(),
      },
    });
    void leg.dial(this.#endpoints.take());
    return session;
  }

  /** Links new calls to their master while it is there to be linked to (voice-and-flows 8.8). */
  async #chain(sessions: CallSession[]): Promise<void> {
    const { master_call_id } = this.#request;
    const master = isSet(master_call_id) ? this.#services.registry.calls.get(master_call_id) : undefined;
    if (!master) return;
    await master.update({ chained_call_ids: [...master.call.chained_call_ids, ...sessions.map(({ id }) => id)] });
  }
}
