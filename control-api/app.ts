import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import type { Log } from '#process/log';
import { RECORDINGS_FOLDER } from '#contract/recording';
import { GuardedFetch, privateTargetsAllowed } from '#outbound/guarded-fetch';
import type { Carrier } from './carriers/carrier.ts';
import { carrierOf } from './carriers/index.ts';
import { BanReader } from './bans.ts';
import { RegistrationReader } from './registrations.ts';
import { Commands } from './commands.ts';
import { ratesOf, type Config } from './config.ts';
import { openDatabase, type Db } from './db.ts';
import { Downloads } from './downloads.ts';
import { startEvents } from './events/start.ts';
import type { Welcome } from '#contract/welcome';
import { firstStart } from './first-start.ts';
import { checkHealth } from './health.ts';
import { Authenticator } from './http/authenticate.ts';
import type { Context } from './http/context.ts';
import { Idempotency } from './http/idempotency.ts';
import { RateLimits } from './http/rate-limits.ts';
import { createServer as createHttpSide } from './http/server.ts';
import { startCarrierHealth } from './jobs/carrier-health.ts';
import { deliverySweep } from './jobs/delivery-expiry.ts';
import { flowSweep } from './jobs/flow-expiry.ts';
import { keySweep } from './jobs/key-expiry.ts';
import { ragSweep } from './jobs/rag-ingestion.ts';
import { numberSweep } from './jobs/number-releases.ts';
import { startNumberRenewal } from './jobs/number-renewal.ts';
import { topUpSweep } from './jobs/top-up.ts';
import { startAccountJobs } from './jobs/accounts.ts';
import { MailDelivery } from './jobs/mail-delivery.ts';
import { recordingSweep } from './jobs/recording-files.ts';
import { storedFileSweep } from './jobs/stored-files.ts';
import { LiveResources } from './live.ts';
import { mailTransport, type MailRoute } from './mail/transport.ts';
import { migrate } from './migrations/index.ts';
import { openApiDocument } from './openapi.ts';
import { ProvisioningTokens } from './provisioning/tokens.ts';
import { routes } from './routes.ts';
import { downloadSecret, tokenSecret } from './settings.ts';
import { BucketVault } from './storage/bucket-vault.ts';
import { FolderVault } from './storage/folder-vault.ts';
import { MediaStreams } from './streams/media-streams.ts';

/** A running control-api. */
export interface App {
  port: number;
  /** The facts of the first start, when this was it. */
  welcome: Welcome | undefined;
  /** What routes and jobs reach: whoever hurries a job along gives it this. */
  context: Context;
  /** Ends in order: no new requests, open ones answered, then the connections. */
  stop(): Promise<void>;
}

/** Open requests get this long to end before their connections are cut, in milliseconds. */
const DRAIN_MS = 5000;

const listen = async (server: Server, { HTTP_PORT, HOST }: Config): Promise<number> => {
  server.listen(HTTP_PORT, HOST);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

const publicUrl = ({ PUBLIC_URL, HOST }: Config, port: number): string => {
  const host = HOST === '0.0.0.0' || HOST === '::' ? '127.0.0.1' : HOST;
  return PUBLIC_URL === ''
    ? `http://${host.includes(':') ? `[${host}]` : host}:${port}`
    : PUBLIC_URL.replace(/\/$/, '');
};

const closeServer = async (server: Server): Promise<void> => {
  const closed = new Promise(resolve => server.close(resolve));
  server.closeIdleConnections();
  const cut = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearTimeout(cut);
};

const openRedis = (url: string, log: Log): Redis => {
  const redis = new Redis(url, { maxRetriesPerRequest: 2, connectionName: 'control-api' });
  redis.on('error', (error: Error) => log.warn({ err: error }, 'redis is away'));
  return redis;
};

interface Parts {
  config: Config;
  log: Log;
  db: Db;
  redis: Redis;
  commands: Commands;
  carrier: Carrier;
  mail: MailDelivery;
  port: number;
}

const mailRouteOf = ({ SMTP_URL, MAIL_FROM, SIP_DOMAIN, DATA_DIR }: Config): MailRoute => ({
  smtp_url: SMTP_URL,
  folder: join(resolve(DATA_DIR), 'mail'),
  from: MAIL_FROM === '' ? `Trunkline <no-reply@${SIP_DOMAIN}>` : MAIL_FROM,
});

const makeContext = async ({ config, log, db, redis, commands, carrier, mail, port }: Parts): Promise<Context> => {
  const secret = await tokenSecret(db);
  const folder = resolve(config.DATA_DIR);
  const downloads = new Downloads({ secret: await downloadSecret(db), publicUrl: publicUrl(config, port), folder });
  const vault = config.STORAGE_URL === '' ? new FolderVault(downloads) : new BucketVault(config.STORAGE_URL);
  const uploadFolder = join(folder, 'uploads');
  const limits = new RateLimits({ rates: ratesOf(config), proxies: config.TRUST_PROXY, redis, log });
  return {
    db,
    commands,
    live: new LiveResources({ database: db, redis }),
    bans: new BanReader(redis),
    registrations: new RegistrationReader(redis),
    downloads,
    vault,
    storedFiles: storedFileSweep({ db, vault, uploadFolder, log }),
    uploadFolder,
    carrier,
    rates: config.BILLING_RATES,
    numberReleases: numberSweep(db, carrier, log),
    recordingFiles: recordingSweep({ db, vault, folder: join(folder, RECORDINGS_FOLDER), uploadFolder, log }),
    authenticator: new Authenticator(db, secret, { limits, scope_version: config.DIRECT_SCOPE_VERSION }),
    limits,
    idempotency: new Idempotency(db),
    mail,
    provisioning: new ProvisioningTokens(redis),
    phoneAccess: { server: config.PHONE_SERVER, transport: config.PHONE_TRANSPORT },
    publicUrl: publicUrl(config, port),
    tokenSecret: secret,
    scopeVersion: config.DIRECT_SCOPE_VERSION,
    sipDomain: config.SIP_DOMAIN,
    health: () => checkHealth(db, redis),
    log,
  };
};

/**
 * Starts everything control-api is. The port is taken first, so a port in use fails at once; requests that come early
 * wait until the schema is migrated and the first start is done. Rejects when a part cannot be had.
 */
export const startApp = async (config: Config, log: Log): Promise<App> => {
  let open: (handle: RequestListener) => void = () => undefined;
  const opened = new Promise<RequestListener>(resolve => (open = resolve));
  const server = createServer((request, response) => void opened.then(handle => handle(request, response)));
  const port = await listen(server, config);
  const db = openDatabase(config.DATABASE_URL);
  const redis = openRedis(config.REDIS_URL, log);
  const migrated = await migrate(db);
  if (migrated.length > 0) log.info({ migrated }, 'the schema is up to date');
  const given = { db, dataDir: config.DATA_DIR, sipDomain: config.SIP_DOMAIN, publicUrl: publicUrl(config, port) };
  const welcome = await firstStart(given);
  const commands = new Commands({ redisUrl: config.REDIS_URL, log });
  // The operator chose the carrier's address, so that it may be a private one.
  const carrierHttp = new GuardedFetch({ allowPrivateTargets: true });
  const carrier = carrierOf(config, carrierHttp);
  const mail = new MailDelivery(db, mailTransport(mailRouteOf(config)), log);
  const context = await makeContext({ config, log, db, redis, commands, carrier, mail, port });
  const events = startEvents({
    database: db,
    databaseUrl: config.DATABASE_URL,
    redis,
    server,
    identify: async (request, counted) => {
      if (counted) context.limits.countAddress('versioned', request);
      return context.authenticator.identify(request, counted);
    },
    allowPrivateTargets: privateTargetsAllowed(config),
    rates: config.BILLING_RATES,
    log,
  });
  const streams = new MediaStreams(server, context);
  streams.start();
  const jobs = [startAccountJobs(context), startNumberRenewal(context), startCarrierHealth(db, redis, log)];
  const sweeps = [
    ...[context.recordingFiles, context.storedFiles, context.numberReleases, ragSweep(db, log), topUpSweep(db, log)],
    ...[flowSweep(db, log), keySweep(db, log), deliverySweep(db, log)],
  ];
  for (const sweep of sweeps) sweep.start();
  mail.start();
  open(createHttpSide(routes, context, openApiDocument));
  const stop = async (): Promise<void> => {
    for (const job of jobs) job.stop();
    streams.stop();
    await Promise.all(sweeps.map(sweep => sweep.stop()));
    await mail.stop();
    await events.stop();
    await closeServer(server);
    await Promise.all([commands.close(), carrierHttp.close()]);
    redis.disconnect();
    await db.destroy();
  };
  return { port, welcome, context, stop };
};
