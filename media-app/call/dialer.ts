import { START_ACTION } from '#contract/action';
import { type Address, normalizeAddress } from '#contract/address';
import type { Funds, Spending } from '#contract/billing';
import { PlatformError } from '#contract/errors';
import { EMPTY_ID, isSet, newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { EndpointSupply } from '../media/endpoint-supply.ts';
import type { Customer, OutboundConfig } from '../directory.ts';
import type { Services } from '../services.ts';
import { type DialTarget, OutgoingLeg } from '../sip/outgoing-leg.ts';
import { Place } from '../carrier/places.ts';
import { InsideCallee, InsideCaller } from '../sip/inside-leg.ts';
import type { SipServer } from '../sip/servers.ts';
import { admit } from './admission.ts';
import { isWithheld } from './caller-id.ts';
import { type Way, wayTo } from './destinations.ts';
import { startInside } from './inside.ts';
import type { CallRequest } from './request.ts';
import { refusalNote } from './refusal.ts';
import { CallSession } from './session.ts';

/** One destination and where it leads; `index` is its place among those asked for. */
export interface Dial {
  destination: Address;
  index: number;
  way: Way;
  /** The agent whose address it is (voice-and-flows 8.1); the empty UUID when nobody's. */
  owner_id: string;
  /** Among the customer's calls to telephones; held until the call is over. */
  place?: Place | undefined;
}

/** The groupcall a leg belongs to: its id, and whether the leg may be the one that answers (11.2). */
export interface Membership {
  groupcall_id: string;
  mayAnswer: (leg: CallSession) => boolean;
}

/** What is dialled to go a way; for an agent what is dialled first. */
const targetsOf = (way: Way): DialTarget[] =>
  way.kind === 'agent' ? way.dials.flatMap(dial => targetsOf(dial.way)) : way.targets;

const noServer = () => new PlatformError('SERVICE_UNAVAILABLE', 'No SIP server is connected.');

/** Makes the outgoing legs of one request: finds out where destinations lead, and sends INVITEs there. */
export class Dialer {
  readonly #services: Services;
  readonly #request: CallRequest;
  readonly #source: Address;
  readonly #endpoints: EndpointSupply;
  #customer: Promise<[Customer | undefined, (Funds & Spending) | undefined]> | undefined;
  #config: Promise<OutboundConfig | undefined> | undefined;

  constructor(services: Services, request: CallRequest) {
    this.#services = services;
    this.#request = request;
    this.#source = normalizeAddress(request.source);
    this.#endpoints = new EndpointSupply(services.media, request.media_server);
  }

  /**
   * Looks for ways by `find`; when there is none, nothing was begun.
   * @throws PlatformError as `find` does, SERVICE_UNAVAILABLE without SIP server
   */
  async admitted<T>(find: () => Promise<T>): Promise<T> {
    try {
      if (!this.#services.sip.pick()) throw noServer();
      return await find();
    } catch (error) {
      this.#endpoints.returnUnused();
      throw error;
    }
  }

  /**
   * Where each destination leads; those that lead nowhere are passed over, unless that is all of them.
   * @throws PlatformError why the last one failed, when all did
   */
  async all(destinations: Address[], ofAgent = false): Promise<Dial[]> {
    const dials: Dial[] = [];
    let failure: unknown = new PlatformError('INVALID_ARGUMENT', 'No destination was given.');
    for (const index of destinations.keys())
      await this.#dial(destinations, index, ofAgent).then(
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
  async next(destinations: Address[], index: number, ofAgent = false): Promise<Dial> {
    let failure: unknown = new PlatformError('INVALID_ARGUMENT', 'No destination is left.');
    for (let at = index; at < destinations.length; at += 1) {
      try {
        return await this.#dial(destinations, at, ofAgent);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  /** A new call, whose INVITE is on its way. Write it with `create`. */
  call({ destination, owner_id, way, place }: Dial, target: DialTarget, membership?: Membership): CallSession {
    const server = this.#services.sip.towards(target);
    if (!server) throw noServer();
    const id = newId();
    const leg = this.#legTo(destination, target, server, id);
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
        source: (way.kind === 'call' && way.source) || this.#source,
        destination,
        action: START_ACTION,
        groupcall_id: membership?.groupcall_id ?? EMPTY_ID,
        master_call_id: master_call_id || EMPTY_ID,
        owner_type: isSet(owner_id) ? 'agent' : '',
        owner_id,
        tm_create: timestamp(),
      },
    });
    if (place) session.once('ended', () => place.leave());
    const { early_media: earlyMedia = false, early_execution: staysOnceRinging = false } = this.#request;
    void leg.dial((kind, family) => this.#endpoints.take(kind, family), { earlyMedia, staysOnceRinging });
    return session;
  }

  #legTo(destination: Address, target: DialTarget, server: SipServer, callId: string): OutgoingLeg | InsideCaller {
    const log = this.#services.log.child({ call_id: callId });
    const { inside } = target;
    if (!inside) return new OutgoingLeg(target, server, log);
    const { hops = 0 } = this.#request;
    const call = { source: this.#source, destination, withheld: inside.withheld, hops };
    const calleeOf = (caller: InsideCaller) => new InsideCallee(caller, server, this.#services.media, log);
    return new InsideCaller(server, log, caller => startInside(this.#services, call, calleeOf(caller)));
  }

  /** Links new calls to their master while it is there to be linked to (voice-and-flows 8.8). */
  async chain(sessions: CallSession[]): Promise<void> {
    const { master_call_id } = this.#request;
    const master = isSet(master_call_id) ? this.#services.registry.calls.get(master_call_id) : undefined;
    if (!master || !this.wanted) return;
    await master.update({ chained_call_ids: [...master.call.chained_call_ids, ...sessions.map(({ id }) => id)] });
  }

  /** False when the calls have a master that is on its way out. */
  get wanted(): boolean {
    const { master_call_id } = this.#request;
    if (!isSet(master_call_id)) return true;
    const status = this.#services.registry.calls.get(master_call_id)?.call.status;
    return status === 'dialing' || status === 'ringing' || status === 'progressing';
  }

  async #dial(destinations: Address[], index: number, ofAgent: boolean): Promise<Dial> {
    const [destination] = destinations.slice(index, index + 1).map(normalizeAddress);
    if (!destination) throw new PlatformError('INVALID_ARGUMENT', 'No destination is left.');
    try {
      // The checks come first in what is told, and go beside the search in time.
      const [admitted, way, owner] = await Promise.allSettled([
        this.#admit(destination),
        this.#way(destination, ofAgent),
        this.#services.directory.agentOf(this.#request.customer_id, destination),
      ]);
      if (admitted.status === 'rejected') throw admitted.reason;
      if (way.status === 'rejected') throw way.reason;
      if (!targetsOf(way.value).every(target => this.#services.sip.towards(target))) throw noServer();
      const owner_id = (owner.status === 'fulfilled' && owner.value) || EMPTY_ID;
      return { destination, index, way: way.value, owner_id, place: await this.#place(destination) };
    } catch (error) {
      this.#noteRefusal(destination, error);
      throw error;
    }
  }

  /** In the log, and in the timeline of the call that asked for the destination. */
  #noteRefusal(destination: Address, error: unknown): void {
    const { customer_id, master_call_id: call_id } = this.#request;
    const facts = { customer_id, ...(isSet(call_id) ? { call_id } : {}), destination: destination.target };
    this.#services.log.info({ ...facts, error: String(error) }, 'cannot be dialled');
    const master = isSet(call_id) ? this.#services.registry.calls.get(call_id) : undefined;
    void master?.remark(refusalNote(master.call, destination, error));
  }

  async #admit(destination: Address): Promise<void> {
    const { directory, settings } = this.#services;
    const { customer_id } = this.#request;
    this.#customer ??= Promise.all([directory.customer(customer_id), directory.fundsAndSpending(customer_id)]);
    const [[customer, funds], config] = await Promise.all([this.#customer, this.#outboundConfig()]);
    const { BILLING_RATES: rates, CUSTOMER_MAX_SPEND_PER_DAY: most_spend } = settings;
    await admit({ source: this.#source, destination, customer, config, funds, rates, most_spend });
  }

  /** @throws PlatformError when the customer has as many calls to telephones as it may, or places them too fast */
  async #place({ type }: Address): Promise<Place | undefined> {
    if (type !== 'tel') return undefined;
    const { settings, carriers } = this.#services;
    const { CUSTOMER_MAX_CALLS: most_calls, CUSTOMER_MAX_CALLS_PER_SECOND: most_calls_per_second } = settings;
    const ceiling = { most_calls, most_calls_per_second };
    const place = await carriers.places.take(`customer:${this.#request.customer_id}`, ceiling);
    if (place instanceof Place) return place;
    if (place === 'full')
      throw new PlatformError(
        'RESOURCE_LIMIT_EXCEEDED',
        `An account may have ${most_calls} calls to telephones at a time.`,
      );
    throw new PlatformError(
      'RATE_LIMIT_EXCEEDED',
      `An account may place ${most_calls_per_second} calls to telephones a second.`,
    );
  }

  #outboundConfig(): Promise<OutboundConfig | undefined> {
    this.#config ??= this.#services.directory.outboundConfig(this.#request.customer_id);
    return this.#config;
  }

  async #way(destination: Address, ofAgent: boolean): Promise<Way> {
    if (destination.type === 'agent') return this.#agentWay(destination, ofAgent);
    const { customer_id, anonymous = '', privacy = false, provider_id } = this.#request;
    const withheld = isWithheld(destination.type, anonymous, privacy);
    const codecs = (await this.#outboundConfig())?.codecs ?? '';
    const who = { customer_id, source: this.#source, withheld, provider_id };
    return wayTo({ services: this.#services, ...who, destination, codecs });
  }

  /** The addresses of an agent of the same customer, by the agent's own ring method (voice-and-flows 9.2). */
  async #agentWay({ target }: Address, ofAgent: boolean): Promise<Way> {
    if (ofAgent) throw new PlatformError('INVALID_ARGUMENT', 'The address of an agent cannot be another agent.');
    const agent = await this.#services.directory.agent(this.#request.customer_id, target);
    if (!agent) throw new PlatformError('INVALID_ARGUMENT', `There is no agent ${target}.`);
    const { addresses } = agent;
    if (!addresses.length) throw new PlatformError('INVALID_ARGUMENT', `Agent ${target} has no address.`);
    const ring_method = agent.ring_method === 'linear' ? 'linear' : 'ring_all';
    const dials = ring_method === 'linear' ? [await this.next(addresses, 0, true)] : await this.all(addresses, true);
    return { kind: 'agent', ring_method, addresses, dials };
  }
}
