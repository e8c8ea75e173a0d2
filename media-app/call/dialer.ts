import { START_ACTION } from '#contract/action';
import { type Address, normalizeAddress } from '#contract/address';
import { PlatformError } from '#contract/errors';
import { EMPTY_ID, isSet, newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { EndpointSupply } from '../media/endpoint-supply.ts';
import type { Services } from '../services.ts';
import { type DialTarget, OutgoingLeg } from '../sip/outgoing-leg.ts';
import { type Route, route } from './destinations.ts';
import type { CallRequest } from './request.ts';
import { CallSession } from './session.ts';

/** One destination and where it leads; `index` is its place among those asked for. */
export interface Dial {
  destination: Address;
  index: number;
  way: Route;
}

/** The groupcall a leg belongs to: its id, and whether the leg may be the one that answers (11.2). */
export interface Membership {
  groupcall_id: string;
  mayAnswer: (leg: CallSession) => boolean;
}

const noServer = () => new PlatformError('SERVICE_UNAVAILABLE', 'No SIP server is connected.');

/** Makes the outgoing legs of one request: finds out where destinations lead, and sends INVITEs there. */
export class Dialer {
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

  /**
   * Checks who asks, and does what `find` does beside it; when either fails, nothing was begun.
   * @throws PlatformError PERMISSION_DENIED for an account that is not active, SERVICE_UNAVAILABLE without SIP server
   */
  async admitted<T>(find: () => Promise<T>): Promise<T> {
    try {
      const [found] = await Promise.all([find(), this.#requireActive()]);
      return found;
    } catch (error) {
      this.#endpoints.returnUnused();
      throw error;
    }
  }

  /**
   * Where each destination leads; those that lead nowhere are passed over, unless that is all of them.
   * @throws PlatformError why the last one failed, when all did
   */
  async all(destinations: Address[]): Promise<Dial[]> {
    const dials: Dial[] = [];
    let failure: unknown = new PlatformError('INVALID_ARGUMENT', 'No destination was given.');
    for (const index of destinations.keys())
      await this.#dial(destinations, index).then(
        dial => dials.push(dial),
        (error: unknown) => (failure = error),
      );
    if (!dials.length) throw failure;
    return dials;
  }

  /**
   * The first destination from `index` on that leads somewhere.
   * @throws PlatformError why the last one failed, when all did
   */
  async next(destinations: Address[], index: number): Promise<Dial> {
    let failure: unknown = new PlatformError('INVALID_ARGUMENT', 'No destination is left.');
    for (let at = index; at < destinations.length; at += 1) {
      try {
        return await this.#dial(destinations, at);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  /** A new call, whose INVITE is on its way. Write it with `create`. */
  call(destination: Address, target: DialTarget, membership?: Membership): CallSession {
    const server = this.#services.sip.pick(target.sip_server);
    if (!server) throw noServer();
    const id = newId();
    const leg = new OutgoingLeg(target, server, this.#services.log.child({ call_id: id }));
    const { customer_id, master_call_id, flow, variables, request_id } = this.#request;
    const session = new CallSession(this.#services, {
      leg,
      flow,
      variables,
      request_id,
      early_execution: this.#request.early_execution ?? false,
      ...(membership ? { mayAnswer: membership.mayAnswer } : {}),
      call: {
        id,
        customer_id,
        direction: 'outgoing',
        status: 'dialing',
        source: this.#source,
        destination,
        action: START_ACTION,
        groupcall_id: membership?.groupcall_id ?? EMPTY_ID,
        master_call_id: master_call_id || EMPTY_ID,
        tm_create: timestamp(),
      },
    });
    void leg.dial(this.#endpoints.take(), this.#request.early_media);
    return session;
  }

  /** Links new calls to their master while it is there to be linked to (voice-and-flows 8.8). */
  async chain(sessions: CallSession[]): Promise<void> {
    const { master_call_id } = this.#request;
    const master = isSet(master_call_id) ? this.#services.registry.calls.get(master_call_id) : undefined;
    if (!master) return;
    await master.update({ chained_call_ids: [...master.call.chained_call_ids, ...sessions.map(({ id }) => id)] });
  }

  /** False when the calls have a master that is on its way out. */
  get wanted(): boolean {
    const { master_call_id } = this.#request;
    if (!isSet(master_call_id)) return true;
    const status = this.#services.registry.calls.get(master_call_id)?.call.status;
    return status === 'dialing' || status === 'ringing' || status === 'progressing';
  }

  async #dial(destinations: Address[], index: number): Promise<Dial> {
    const [destination] = destinations.slice(index, index + 1).map(normalizeAddress);
    if (!destination) throw new PlatformError('INVALID_ARGUMENT', 'No destination is left.');
    try {
      const way = await route(this.#services, this.#request.customer_id, this.#source, destination);
      if (!way.targets.every(target => this.#services.sip.pick(target.sip_server))) throw noServer();
      return { destination, index, way };
    } catch (error) {
      this.#services.log.info({ destination: destination.target, error: String(error) }, 'cannot be dialled');
      throw error;
    }
  }

  async #requireActive(): Promise<void> {
    const customer = await this.#services.directory.customer(this.#request.customer_id);
    if (customer?.status !== 'active')
      throw new PlatformError('PERMISSION_DENIED', 'The account is not active and may not place calls.');
    if (!this.#services.sip.pick()) throw noServer();
  }
}
