import type { Server } from 'node:http';
import type { Redis } from 'ioredis';
import type { Knex } from 'knex';
import type { Log } from '#process/log';
import type { Rates } from '#contract/billing';
import { GuardedFetch } from '#outbound/guarded-fetch';
import { LogFeed } from './feed.ts';
import { Projector } from './projector.ts';
import { Webhooks } from './webhooks.ts';
import { EventSocket, type Identify } from './websocket.ts';

interface EventOptions {
  database: Knex;
  databaseUrl: string;
  redis: Redis;
  /** Its `upgrade` requests are taken over. */
  server: Server;
  identify: Identify;
  allowPrivateTargets: boolean;
  rates: Rates;
  log: Log;
}

/** Everything that moves events in one control-api. */
export interface EventParts {
  projector: Projector;
  /** Ends in order: clients first, then deliveries, then what feeds them. */
  stop(): Promise<void>;
}

/** Starts projector, WebSocket and webhooks on a migrated database. */
export const startEvents = (given: EventOptions): EventParts => {
  const feed = new LogFeed(given);
  const http = new GuardedFetch(given);
  const projector = new Projector(given);
  const webhooks = new Webhooks({ ...given, feed, http });
  const sockets = new EventSocket({ ...given, feed });
  for (const part of [feed, projector, webhooks, sockets]) part.start();
  const stop = async (): Promise<void> => {
    sockets.stop();
    await Promise.all([projector.stop(), webhooks.stop()]);
    await Promise.all([feed.stop(), http.close()]);
  };
  return { projector, stop };
};
