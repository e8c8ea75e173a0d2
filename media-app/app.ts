import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { LiveRecord, NodeReport } from '#contract/events';
import { newId } from '#contract/ids';
import { timestamp } from '#contract/time';
import { GuardedFetch, privateTargetsAllowed } from '#outbound/guarded-fetch';
import { AudioRoad } from './audio/road.ts';
import { answerCallsElsewhere, callElsewhere } from './call/elsewhere.ts';
import { CallRegistry } from './call/registry.ts';
import { Lease } from './call/lease.ts';
import { Recovery } from './call/recovery.ts';
import { createCalls } from './call/create.ts';
import { StateStore } from './call/state-store.ts';
import { answerNeighbours } from './conference/join.ts';
import { adoptConference } from './conference/session.ts';
import { CarrierCallers } from './carrier/callers.ts';
import { CarrierHealthCheck } from './carrier/health-check.ts';
import { CarrierRegistrations } from './carrier/registration.ts';
import { Carriers } from './carrier/carriers.ts';
import { CommandWorker } from './commands/worker.ts';
import type { Settings } from './config.ts';
import { Directory } from './directory.ts';
import { flowHttp } from './flow-http.ts';
import type { Log } from '#process/log';
import { createGroupcall } from './groupcall/create.ts';
import { AudioLibrary } from './media/audio-library.ts';
import { createHoldMusic } from './media/hold-music.ts';
import { MediaServers } from './media/servers.ts';
import { lostRecordings } from './recording/lost.ts';
import type { Services } from './services.ts';
import { CAPABILITIES } from './sip/capabilities.ts';
import { Authenticator } from './sip/authenticate.ts';
import { Neighbours } from './neighbours.ts';
import { Notices } from './notices.ts';
import { Presences } from './presence.ts';
import { ContactWatch } from './sip/contact-watch.ts';
import { Contacts } from './sip/contacts.ts';
import { Digest } from './sip/digest.ts';
import { Bans } from './sip/guard/bans.ts';
import { Guard } from './sip/guard/guard.ts';
import { InviteHandler } from './sip/invite.ts';
import { Refusals } from './sip/refusals.ts';
import { Registrar } from './sip/registrar.ts';
import { leaveUnanswered } from './sip/srf.ts';
import { type SipHandlers, SipServers } from './sip/servers.ts';
import { ALLOW_EVENTS, Subscriptions } from './sip/subscriptions.ts';
import { createSpeech } from './speech/speech.ts';

const AUDIO_TIMEOUT_MS = 20_000;
/** How long a graceful stop waits for calls to end. */
const DRAIN_MS = 2500;

export interface MediaApp {
  /** Ends every call, hands back the lease, closes every connection. */
  stop(): Promise<void>;
}

/** Starts a media-app: resolves when it takes calls and commands. */
export const startMediaApp = async (settings: Settings, log: Log): Promise<MediaApp> => {
  const node = newId();
  // No automatic pipelining: ioredis gives up the rest of a pipeline whose answer was cut short, and a commit would be lost.
  const redis = new Redis(settings.REDIS_URL, { maxRetriesPerRequest: null });
  redis.on('error', (error: Error) => log.error({ error: error.message }, 'Redis is out of reach; trying again'));
  const fetch = new GuardedFetch({ allowPrivateTargets: privateTargetsAllowed(settings) });
  const services = createServices(settings, log, redis, node, fetch);
  const lease = new Lease(redis, settings.LEASE_MS, () => reportOf(services), log);
  const estate = {
    ...lostRecordings(services),
    adopt: (room: LiveRecord<'conference'>) => adoptConference(services, room),
  };
  const recovery = new Recovery(redis, services.store, estate, settings.LEASE_MS / 2, log);
  const worker = new CommandWorker(services, redis, settings.REDIS_URL);
  const { sip, directory } = services;
  const carrierHealth = new CarrierHealthCheck({ redis, directory, sip, everyMs: settings.CARRIER_CHECK_MS, log });
  const { contacts } = services;
  const doors = doorsOf(services, redis);
  const contactWatch = new ContactWatch({ redis, contacts, sip, everyMs: settings.CONTACT_CHECK_MS, log });
  const registrations = new CarrierRegistrations({ redis, node, directory, sip, log });

  await services.directory.ready();
  await services.road.start();
  await services.guard.start();
  answerNeighbours(services);
  answerCallsElsewhere(services);
  await services.neighbours.start();
  await doors.subscriptions.start();
  await connectServers(services, doors, lease);
  await lease.start();
  recovery.start();
  worker.start();
  carrierHealth.start();
  registrations.start();
  contactWatch.start();
  log.info({ node }, 'ready');

  return {
    stop: async () => {
      await worker.stop();
      carrierHealth.stop();
      await registrations.stop();
      contactWatch.stop();
      await doors.subscriptions.stop();
      recovery.stop();
      services.guard.stop();
      await drain(services);
      await services.sip.flush();
      await services.road.stop();
      await lease.stop();
      services.neighbours.stop();
      services.media.stop();
      services.sip.stop();
      await Promise.all([services.directory.stop(), fetch.close()]);
      redis.disconnect();
    },
  };
};

const createServices = (settings: Settings, log: Log, redis: Redis, node: string, fetch: GuardedFetch): Services => {
  const sip = new SipServers(settings.SIP_SERVERS, log);
  const directory = new Directory(settings.DATABASE_URL);
  const download = (url: string, mostBytes: number) => fetch.download(url, { timeout_ms: AUDIO_TIMEOUT_MS, mostBytes });
  const notices = new Notices(redis);
  const contacts = new Contacts(redis, settings.CONTACT_CHECK_MS, log);
  const presences = new Presences(redis, contacts, log);
  const services: Services = {
    settings,
    log,
    sip,
    carriers: new Carriers(redis, node, sip, log),
    carrierCallers: new CarrierCallers(directory),
    directory,
    store: new StateStore(redis, node, call => presences.note(call)),
    registry: new CallRegistry(),
    contacts,
    presences,
    notices,
    neighbours: new Neighbours(redis, node, log),
    guard: createGuard(settings, log, redis, directory, notices),
    media: new MediaServers(settings.MEDIA_SERVERS, settings.EVENT_SOCKET_HOST, sip, log),
    audio: new AudioLibrary(join(settings.DATA_DIR, 'audio'), download),
    speech: createSpeech({ cacheDir: join(settings.DATA_DIR, 'speech'), log }),
    holdMusic: createHoldMusic(join(settings.DATA_DIR, 'audio')),
    placeGroupcall: request => createGroupcall(services, request),
    road: new AudioRoad(settings.EVENT_SOCKET_HOST, log),
    placeCalls: request => createCalls(services, request),
    callElsewhere: request => callElsewhere(services, request),
    resolve: host => fetch.resolve(host),
    sendHttp: flowHttp(fetch, directory),
  };
  return services;
};

const createGuard = (settings: Settings, log: Log, redis: Redis, directory: Directory, notices: Notices): Guard => {
  const { GUARD_LIMIT, GUARD_BAN_S, GUARD_ALLOW: allowed } = settings;
  const bans = new Bans(redis, { limit: 1, window_ms: 1, ...GUARD_LIMIT, ban_ms: GUARD_BAN_S * 1000 });
  return new Guard({ bans, directory, notices, allowed, on: GUARD_LIMIT !== undefined, log });
};

/** Connects to the SIP and media servers; a SIP server that is lost takes its calls and subscriptions with it. */
const connectServers = async (services: Services, doors: Doors, lease: Lease): Promise<void> => {
  const { sip, media, registry } = services;
  await sip.start(handlersOf(services, doors));
  await media.start();
  sip.on('down', (address: string) => {
    doors.subscriptions.serverLost(address);
    for (const session of registry.calls.values()) if (session.leg.sipServer === address) session.abandon();
  });
  for (const servers of [sip, media]) for (const change of ['up', 'down']) servers.on(change, () => void lease.renew());
};

/** Where phones knock. */
interface Doors {
  authenticator: Authenticator;
  refusals: Refusals;
  subscriptions: Subscriptions;
}

const doorsOf = ({ settings, directory, guard, log, notices, presences }: Services, redis: Redis): Doors => {
  const digest = new Digest(redis, settings.DIGEST_ALGORITHMS.split(','));
  const refusals = new Refusals(notices, log);
  const authenticator = new Authenticator({ directory, digest, guard, refusals, domain: settings.SIP_DOMAIN, log });
  return { authenticator, refusals, subscriptions: new Subscriptions({ authenticator, directory, presences, log }) };
};

const handlersOf = (services: Services, { authenticator, refusals, subscriptions }: Doors): SipHandlers => {
  const { contacts, guard, log, sip } = services;
  const registrar = new Registrar(authenticator, contacts, log);
  const invites = new InviteHandler(services, authenticator, refusals);
  const answerFailure =
    (what: string, response: { finalResponseSent: boolean; send(status: number): void }) => (error: unknown) => {
      log.error({ error: String(error) }, `${what} failed`);
      if (!response.finalResponseSent) response.send(500);
    };
  /** A banned source gets no answer: nothing tells it that somebody is here. */
  const guarded =
    (handle: SipHandlers['invite']): SipHandlers['invite'] =>
    (request, response, server) => {
      if (guard.silences(request)) leaveUnanswered(request);
      else handle(request, response, server);
    };
  const handlers: SipHandlers = {
    invite: (request, response, server) =>
      void invites.invite(request, response, server).catch(answerFailure('INVITE', response)),
    register: (request, response, server) =>
      void registrar.register(request, response, server.address).catch(answerFailure('REGISTER', response)),
    options: (request, response) => {
      guard.offend(request, 'probing', 'OPTIONS outside a call.');
      response.send(sip.list.length ? 200 : 503, { headers: { ...CAPABILITIES, 'Allow-Events': ALLOW_EVENTS } });
    },
    subscribe: (request, response, server) =>
      void subscriptions.subscribe(request, response, server).catch(answerFailure('SUBSCRIBE', response)),
  };
  const { invite, register, options, subscribe } = handlers;
  return {
    invite: guarded(invite),
    register: guarded(register),
    options: guarded(options),
    subscribe: guarded(subscribe),
  };
};

const reportOf = ({ store, sip, media, registry }: Services): NodeReport => ({
  node_id: store.node,
  started: STARTED,
  sip_servers: sip.list.map(({ address, connected }) => ({ address, connected })),
  media_servers: media.states,
  calls: registry.calls.size,
});
const STARTED = timestamp();

/** Hangs up what is left and waits until its records are final. */
const drain = async ({ registry, log }: Services): Promise<void> => {
  for (const session of registry.groupcalls.values()) void session.hangup('normal_clearing');
  for (const session of registry.calls.values()) void session.hangup('normal_clearing');
  for (const session of registry.conferences.values()) session.handOver();
  for (const session of registry.activeflows.values()) void session.runner.stop();
  for (const deadline = Date.now() + DRAIN_MS; !registry.empty && Date.now() < deadline;)
    await new Promise(resolve => setTimeout(resolve, 20));
  if (!registry.empty)
    log.warn({ calls: registry.calls.size }, 'stopping although calls are left; the next start ends them');
};
