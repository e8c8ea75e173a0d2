import { type Action, START_ACTION } from '#contract/action';
import { type Address, normalizeAddress } from '#contract/address';
import type { LiveRecord } from '#contract/events';
import type { FlowTemplate } from '#contract/flow';
import { isId, newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { inlineFlow } from '../activeflow/session.ts';
import { isPaid } from '../call/balance.ts';
import { isAdmitted } from '../directory.ts';
import { connectElsewhere } from '../call/elsewhere.ts';
import { CallSession } from '../call/session.ts';
import { ANONYMOUS, asksForPrivacy } from '../call/caller-id.ts';
import { conferenceRecord, mixerOf } from '../conference/join.ts';
import type { Services } from '../services.ts';
import { type Elsewhere, findElsewhere } from '../transfer/elsewhere.ts';
import { createInPlace, type VacancyHere, vacancyOf } from '../transfer/replace.ts';
import type { Authenticator, Caller } from './authenticate.ts';
import { action, directActions, missingAmong } from './direct-actions.ts';
import { IncomingLeg } from './incoming-leg.ts';
import type { Refusals } from './refusals.ts';
import { parseReplaces } from './replaces.ts';
import type { SipServer } from './servers.ts';
import type { SipRequest, SipResponse } from './srf.ts';
import { isAddress, parseSipUri, uriOf } from './uri.ts';

/** The user part of a direct SIP URI (accounts-and-plumbing 17). */
const DIRECT = /^direct\.[0-9a-f]{12}$/i;

/** What an INVITE asks for: whose call it becomes, between whom, and what it runs. */
interface Arrival {
  customer_id: string;
  customer_status: string;
  source: Address;
  destination: Address;
  /** None for a call that whoever it is joined with decides about. */
  flow?: FlowTemplate;
  /** Where its media must be to meet others; empty for anywhere. */
  media_server?: string;
  /** What it takes in place of another call (RFC 3891), which is here or on another node. */
  place?: VacancyHere | Elsewhere;
}

/** What is known of an INVITE that is refused: for the log, and for the customer whom it concerns. */
interface Facts extends Record<string, unknown> {
  request?: SipRequest;
  customer_id?: string;
  /** What did not match, and what would have. */
  sentence?: string;
}

const address = (type: Address['type'], target: string, targetName = ''): Address =>
  normalizeAddress({ type, target, target_name: targetName, name: '', detail: '' });

const hasCredentials = (request: SipRequest): boolean =>
  request.has('authorization') || request.has('proxy-authorization');

/** Whether the caller wants to be withheld. */
const privacyOf = (request: SipRequest): boolean =>
  asksForPrivacy(uriOf(request.get('from') ?? ''), request.get('privacy') ?? '');

/** Who calls, as they say themselves; one who is withheld is stored without a name (25.5). */
const sipSource = (request: SipRequest): Address => {
  if (privacyOf(request)) return address('tel', ANONYMOUS);
  const caller = parseSipUri(uriOf(request.get('from') ?? ''));
  return address('sip', `${caller?.user || 'anonymous'}@${caller?.host ?? 'anonymous.invalid'}`);
};

/** Who calls: a telephone number where the From header has one. */
const telSource = (request: SipRequest): Address => {
  const caller = parseSipUri(uriOf(request.get('from') ?? ''));
  const numeric = /^\+?\d+$/.test(caller?.user ?? '') && !privacyOf(request);
  return numeric ? address('tel', caller?.user ?? '') : sipSource(request);
};

/**
 * Takes INVITEs: finds out who calls and what they want by the domain they call (accounts-and-plumbing 20), refuses with
 * a code that says what was missing, or starts the call.
 */
export class InviteHandler {
  readonly #services: Services;
  readonly #authenticator: Authenticator;
  readonly #refusals: Refusals;

  constructor(services: Services, authenticator: Authenticator, refusals: Refusals) {
    this.#services = services;
    this.#authenticator = authenticator;
    this.#refusals = refusals;
  }

  /** Answers one INVITE outside any dialog that arrived through `server`, by a refusal or by a call. */
  async invite(request: SipRequest, response: SipResponse, server: SipServer): Promise<void> {
    const gone = { canceled: false };
    request.once('cancel', () => (gone.canceled = true));
    const arrival = request.has('replaces')
      ? await this.#inPlaceOfAnother(request, response)
      : await this.#classify(request, response);
    if (!arrival && [403, 404].includes(response.status) && !hasCredentials(request))
      this.#services.guard.offend(request, 'unknown_destinations', 'INVITE to nobody.');
    if (!arrival || gone.canceled) return;
    const { customer_id, customer_status } = arrival;
    const owner = { request, customer_id };
    if (!isAdmitted(customer_status)) {
      const sentence = `The account is ${customer_status || 'gone'}; an active one would be let in.`;
      return void this.#refuse(response, 500, { ...owner, sentence }, 'the account is not active');
    }
    const { directory, media, log } = this.#services;
    const [owner_id, paid] = await Promise.all([
      directory.agentOf(customer_id, arrival.source),
      isPaid(this.#services, customer_id, 'call'),
    ]);
    if (gone.canceled) return;
    if (!paid) {
      const sentence =
        'The balance of the billing account is too low for a call; more credit or tokens would let it in.';
      return void this.#refuse(response, 500, { ...owner, sentence }, 'the balance is too low');
    }
    const leg = new IncomingLeg(request, response, server, media, log, arrival.media_server);
    await this.#start({ ...arrival, owner_id, privacy: privacyOf(request) }, leg);
  }

  /** The rows of section 20 in their order; `undefined` after the request was refused. */
  async #classify(request: SipRequest, response: SipResponse): Promise<Arrival | undefined> {
    const uri = parseSipUri(request.uri);
    const domain = this.#services.settings.SIP_DOMAIN.toLowerCase();
    const host = uri?.host ?? '';
    const user = uri?.user ?? '';
    const trunk = `.trunk.${domain}`;
    if (host.endsWith(trunk)) return this.#fromTrunk(request, response, host.slice(0, -trunk.length), user);
    if (host === `pstn.${domain}`) return this.#fromCarrier(request, response, user);
    if (host === `conference.${domain}`) return this.#toConference(request, response, uri?.user ?? '');
    if (host === `sip.${domain}` && DIRECT.test(uri?.user ?? ''))
      return this.#toDirect(request, response, (uri?.user ?? '').toLowerCase());
    if (host === `sip.${domain}`) return this.#toNumber(request, response, uri?.user ?? '');
    if (isAddress(host) && (await this.#isCarrier(request))) return this.#fromCarrier(request, response, user);
    if (host.endsWith(`.reg.${domain}`) || host === domain || isAddress(host)) {
      const caller = await this.#authenticator.authenticate(request, response);
      return caller && this.#fromExtension(request, caller, uri?.user ?? '', response);
    }
    return this.#refuse(response, 404, { uri: request.uri }, 'no customer, number or trunk lives at this domain');
  }

  /** A phone takes the place of another in a conversation (RFC 3891 section 3). */
  async #inPlaceOfAnother(request: SipRequest, response: SipResponse): Promise<Arrival | undefined> {
    const dialog = parseReplaces(request.get('replaces') ?? '');
    if (!dialog) return this.#refuse(response, 400, {}, 'a Replaces that names no dialog');
    const caller = await this.#authenticator.authenticate(request, response);
    if (!caller) return undefined;
    const { customer, extension } = caller;
    const place =
      vacancyOf(this.#services, dialog, customer.id) ?? (await findElsewhere(this.#services, dialog, customer.id));
    if (!place) return this.#refuse(response, 481, {}, 'no dialog to replace');
    if ('status' in place) return this.#refuse(response, place.status, { call_id: place.call_id }, place.why);
    const { party: destination, media_server } = 'node' in place ? place.vacancy : place;
    const source = address('extension', extension.extension, extension.extension);
    const flow = 'flow' in place ? { flow: place.flow } : {};
    const whose = { customer_id: customer.id, customer_status: customer.status };
    return { ...whose, source, destination, ...flow, media_server, place };
  }

  /** A conference called by its own address: whoever knows its id may come in, and is answered. */
  async #toConference(
    request: SipRequest,
    response: SipResponse,
    id: string,
    hash?: string,
  ): Promise<Arrival | undefined> {
    const record = await this.#conference(id, response);
    if (!record) return undefined;
    const conference = record.data;
    // The row may be a moment behind the record, and an old hash is dead at once.
    if (hash !== undefined && conference.direct_hash !== hash)
      return this.#refuse(response, 404, { conference: id }, 'nothing has this direct hash');
    const customer = await this.#services.directory.customer(conference.customer_id);
    const actions = [action('answer', {}), action('conference_join', { conference_id: conference.id })];
    return this.#conferenceArrival(record, customer?.status ?? '', sipSource(request), actions);
  }

  /** A resource called by its direct hash, from anywhere (20.2). */
  async #toDirect(request: SipRequest, response: SipResponse, hash: string): Promise<Arrival | undefined> {
    const direct = await this.#services.directory.direct(hash);
    if (!direct) return this.#refuse(response, 404, {}, 'nothing has this direct hash');
    if (direct.type === 'conference') return this.#toConference(request, response, direct.id, hash);
    const { type, customer_id, id, key } = direct;
    const { directory } = this.#services;
    const customer_status = (await directory.customer(customer_id))?.status ?? '';
    const source = sipSource(request);
    if (type === 'flow') {
      const flow = await directory.flow(customer_id, id);
      if (!flow) return this.#refuse(response, 404, {}, 'the flow of this direct hash is gone');
      const destination = address('sip', `${hash}@sip.${this.#services.settings.SIP_DOMAIN}`);
      return { customer_id, customer_status, source, destination, flow };
    }
    const destination =
      type === 'extension' || type === 'agent'
        ? address(type, key, key)
        : address('sip', `${hash}@sip.${this.#services.settings.SIP_DOMAIN}`);
    const actions = directActions(direct, source, destination);
    if (!actions) return this.#refuse(response, 404, { [type]: id }, 'no call reaches what has this direct hash');
    const missing = missingAmong(actions);
    if (missing) {
      const sentence = `The direct hash of ${type} ${id} was called: that takes ${missing}, which is not available in this version; the hash of an extension, an agent, a conference or a flow would be let in.`;
      return this.#refuse(response, 501, { request, customer_id, sentence }, `${missing} is not available`);
    }
    return { customer_id, customer_status, source, destination, flow: inlineFlow(customer_id, actions) };
  }

  /** A conference that can be joined, on whatever node; `undefined` after the request was refused. */
  async #conference(
    id: string,
    response: SipResponse,
    customerId?: string,
    owner: Facts = {},
  ): Promise<LiveRecord<'conference'> | undefined> {
    const { store, neighbours } = this.#services;
    const record = isId(id) ? await conferenceRecord(this.#services, id.toLowerCase()) : undefined;
    const known = record && (customerId === undefined || record.data.customer_id === customerId);
    if (!known || record.final || record.data.status === 'terminating')
      return this.#refuse(response, 404, { ...owner, conference: id.slice(0, 100) }, 'no such conference is open');
    if (record.owner !== store.node && !(await neighbours.lives(record.owner)))
      return this.#refuse(response, 503, { conference: id }, 'the node of the conference has just died');
    return record;
  }

  #conferenceArrival(
    record: LiveRecord<'conference'>,
    customer_status: string,
    source: Address,
    actions: Action[],
  ): Arrival {
    const { id, customer_id, name } = record.data;
    const media_server = this.#services.registry.conferences.get(id)?.bridge.server ?? mixerOf(record);
    const destination = address('conference', id, name);
    return { customer_id, customer_status, source, destination, flow: inlineFlow(customer_id, actions), media_server };
  }

  /** A customer's own exchange dials the world (20, row 6). */
  async #fromTrunk(
    request: SipRequest,
    response: SipResponse,
    domainName: string,
    user: string,
  ): Promise<Arrival | undefined> {
    const trunk = await this.#authenticator.trunk(request, response, domainName);
    if (!trunk) return undefined;
    const destination = address('tel', user);
    if (!/^\+[1-9]\d{6,14}$/.test(destination.target))
      return this.#refuse(
        response,
        404,
        {
          ...{ trunk: domainName, user, request, customer_id: trunk.customer_id },
          sentence: `Trunk ${domainName} called ${user}: a number that begins with + and has 7 to 15 digits would be let in.`,
        },
        'a trunk dials numbers that begin with +',
      );
    const customer = await this.#services.directory.customer(trunk.customer_id);
    return this.#toWorld(trunk.customer_id, customer?.status ?? '', telSource(request), destination);
  }

  /** A carrier brings a call to one of our numbers (20, row 2); the number may stand in the To header alone. */
  async #fromCarrier(request: SipRequest, response: SipResponse, user: string): Promise<Arrival | undefined> {
    const { source_address: source, source_port: port } = request;
    const known = await this.#services.carrierCallers.providerAt(source);
    if (!known)
      return this.#refuse(
        response,
        403,
        { source, port },
        'no provider has this address as hostname or in allowed_ips',
      );
    const asked = /^\+?\d{5,15}$/.test(user) ? user : (parseSipUri(uriOf(request.get('to') ?? ''))?.user ?? '');
    const destination = address('tel', asked.startsWith('+') ? asked : `+${asked}`);
    return (
      (await this.#numberArrival(telSource(request), destination)) ??
      this.#noNumber(request, response, destination.target, { provider_id: known.id })
    );
  }

  async #isCarrier({ source_address, source_port }: SipRequest): Promise<boolean> {
    return (await this.#services.carrierCallers.providerAtPort(source_address, Number(source_port))) !== undefined;
  }

  /** Connects to a telephone: heard before the answer, and released as the far end says (20.1). */
  #toWorld(customer_id: string, customer_status: string, source: Address, destination: Address): Arrival {
    const option = { source, destinations: [destination], early_media: true, relay_reason: true, anonymous: 'auto' };
    const flow = inlineFlow(customer_id, [action('connect', option)]);
    return { customer_id, customer_status, source, destination, flow };
  }

  async #toNumber(request: SipRequest, response: SipResponse, user: string): Promise<Arrival | undefined> {
    const destination = address('tel', user);
    const arrival = await this.#numberArrival(telSource(request), destination);
    return arrival ?? this.#noNumber(request, response, destination.target, {});
  }

  /** A registered phone dials (20.1): a number runs its flow, anything else is an extension to connect to. */
  async #fromExtension(
    request: SipRequest,
    { customer, extension }: Caller,
    user: string,
    response: SipResponse,
  ): Promise<Arrival | undefined> {
    const called = `Extension ${extension.extension} called ${user}`;
    const owner = { request, customer_id: customer.id, caller: extension.extension };
    const source = address('extension', extension.extension, extension.extension);
    if (/^(tel:)?\+/.test(user)) {
      const destination = address('tel', user.replace(/^tel:/, ''));
      const inside = await this.#numberArrival(source, destination);
      if (inside) return inside;
      if (!destination.target.startsWith('+899') && /^\+[1-9]\d{6,14}$/.test(destination.target))
        return this.#toWorld(customer.id, customer.status, source, destination);
      const sentence = `${called}: a number of this installation with a call flow, or any other that begins with + and has 7 to 15 digits, would be let in.`;
      return this.#refuse(response, 404, { ...owner, number: user, sentence }, 'no live number with a call flow');
    }
    if (user.startsWith('conference:')) {
      const sentence = `${called}: an open conference of the account would be let in.`;
      const room = { ...owner, sentence };
      const record = await this.#conference(user.slice('conference:'.length), response, customer.id, room);
      const actions = [action('conference_join', { conference_id: record?.data.id })];
      return record && this.#conferenceArrival(record, customer.status, source, actions);
    }
    if (user.startsWith('agent:')) return this.#toAgent(request, customer, source, user, response);
    const key = user.replace(/^extension:/, '');
    const callee = await this.#services.directory.extensionByKey(customer.id, key);
    if (!callee)
      return this.#refuse(
        response,
        404,
        {
          ...{ ...owner, extension: key },
          sentence: `${called}, which is no extension of the account: one of its extensions, a number that begins with +, agent:<id> or conference:<id> would be let in.`,
        },
        'the caller’s customer has no such extension',
      );
    const destination = address('extension', callee.extension, callee.extension);
    const flow = inlineFlow(customer.id, [action('connect', { source, destinations: [destination] })]);
    return { customer_id: customer.id, customer_status: customer.status, source, destination, flow };
  }

  /** An agent of the caller's own customer, at all addresses it has (20.1). */
  async #toAgent(
    request: SipRequest,
    customer: Caller['customer'],
    source: Address,
    user: string,
    response: SipResponse,
  ): Promise<Arrival | undefined> {
    const agent = await this.#services.directory.agent(customer.id, user.slice('agent:'.length));
    if (!agent) {
      const sentence = `Extension ${source.target} called ${user}: an agent of the account would be let in.`;
      const facts = { request, customer_id: customer.id, caller: source.target, sentence };
      return this.#refuse(response, 404, facts, 'the caller’s customer has no such agent');
    }
    const destination = address('agent', agent.id);
    const flow = inlineFlow(customer.id, [action('connect', { source, destinations: [destination] })]);
    return { customer_id: customer.id, customer_status: customer.status, source, destination, flow };
  }

  async #numberArrival(source: Address, destination: Address): Promise<Arrival | undefined> {
    const flow = await this.#services.directory.numberFlow(destination.target);
    return flow && { customer_id: flow.customer_id, customer_status: flow.customer_status, source, destination, flow };
  }

  /** A number that leads nowhere; its owner, where it has one, is told what it lacks. */
  async #noNumber(request: SipRequest, response: SipResponse, number: string, facts: Facts): Promise<undefined> {
    const customer_id = await this.#services.directory.numberOwner(number);
    const sentence = `${number} was called and leads nowhere: with status active and a call_flow_id of a live flow it would.`;
    const owner = customer_id ? { request, customer_id, sentence } : {};
    return this.#refuse(response, 404, { ...facts, ...owner, number }, 'no live number with a call flow');
  }

  /** The log is told of every refusal, and the customer whom it concerns with a sentence, where one is known. */
  #refuse(response: SipResponse, status: number, { request, sentence, ...facts }: Facts, why: string): undefined {
    this.#services.log.info({ status, ...facts }, `INVITE refused: ${why}`);
    response.send(status);
    const { customer_id } = facts;
    if (request && customer_id && sentence) this.#refusals.tell(request, customer_id, status, sentence);
    return undefined;
  }

  /** Nothing is awaited before the session listens to its leg: a CANCEL may come at any moment. */
  async #start(given: Arrival & { owner_id?: string; privacy: boolean }, leg: IncomingLeg): Promise<void> {
    const { customer_id, source, destination, flow, owner_id, privacy, place } = given;
    const now = timestamp();
    // A call that its flow answers at once need not ring first; its media is asked for while the records are written.
    const first = flow?.actions[0]?.type;
    if ((place && !flow) || first === 'answer' || first === 'talk') leg.prepare();
    else leg.ring();
    const session = new CallSession(this.#services, {
      leg,
      flow,
      privacy,
      call: {
        id: newId(),
        customer_id,
        direction: 'incoming',
        status: 'ringing',
        source,
        destination,
        action: START_ACTION,
        ...(owner_id ? { owner_type: 'agent', owner_id } : {}),
        tm_create: now,
        tm_ringing: now,
      },
    });
    session.log.info({ from: source.target, to: destination.target }, 'call came in');
    if (!place) return session.create();
    if (!('node' in place)) return createInPlace(session, place);
    await session.create();
    void connectElsewhere(session, place);
  }
}
