import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { NodeReport } from '#contract/events';
import { keys } from '#contract/keys';
import type { Db } from './db.ts';

const partSchema = z
  .object({
    state: z.enum(['ok', 'down']),
    detail: z.string().describe('One sentence: what is connected, or what is wrong.'),
  })
  .meta({ id: 'HealthPart', description: 'One part of the platform.' });
export type HealthPart = z.infer<typeof partSchema>;

const PARTS = ['postgres', 'redis', 'media_app', 'sip_server', 'media_server'] as const;

/** What GET /health answers: 200 when every part is ok, else 503. */
export const healthSchema = z
  .object({
    status: z.enum(['ok', 'down']),
    parts: z.object({
      postgres: partSchema,
      redis: partSchema,
      media_app: partSchema,
      sip_server: partSchema,
      media_server: partSchema,
    }),
  })
  .meta({ id: 'Health', description: 'The state of every part.' });
export type Health = z.infer<typeof healthSchema>;

/** A part that does not answer for this long is down, in milliseconds. */
const PATIENCE_MS = 2000;

const down = (detail: string): HealthPart => ({ state: 'down', detail });
const ok = (detail: string): HealthPart => ({ state: 'ok', detail });

/** The result of a check, or the reason why there is none, in time. */
const within = async <T>(check: Promise<T>): Promise<T | Error> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Error>(resolve => {
    timer = setTimeout(() => resolve(new Error(`no answer within ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  // A failed check is a result here: it is what health is asked for.
  const failed = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
  return Promise.race([check.catch(failed), late]).finally(() => clearTimeout(timer));
};

const reports = async (redis: Redis): Promise<NodeReport[]> => {
  const nodes = await redis.smembers(keys.nodes);
  const texts = nodes.length > 0 ? await redis.mget(nodes.map(node => keys.node(node))) : [];
  return texts.flatMap(text => (text === null ? [] : [JSON.parse(text) as NodeReport]));
};

const servers = (name: string, list: { address: string; connected: boolean }[]): HealthPart => {
  const connected = list.filter(server => server.connected).map(server => server.address);
  if (connected.length > 0) return ok(`Connected: ${connected.join(', ')}.`);
  return down(
    list.length > 0
      ? `Not connected: ${list.map(server => server.address).join(', ')}.`
      : `No media-app has a ${name}.`,
  );
};

const mediaParts = (
  nodes: NodeReport[] | Error,
): Pick<Health['parts'], 'media_app' | 'sip_server' | 'media_server'> => {
  if (nodes instanceof Error) {
    const unknown = down('Unknown while Redis is down.');
    return { media_app: unknown, sip_server: unknown, media_server: unknown };
  }
  const names = nodes.map(node => node.node_id).join(', ');
  return {
    media_app: nodes.length > 0 ? ok(`Alive: ${names}.`) : down('No media-app is alive.'),
    sip_server: servers(
      'SIP server',
      nodes.flatMap(node => node.sip_servers),
    ),
    media_server: servers(
      'media server',
      nodes.flatMap(node => node.media_servers),
    ),
  };
};

/** Asks every part how it is. Never rejects, and answers within 2 s. */
export const checkHealth = async (db: Db, redis: Redis): Promise<Health> => {
  const [postgres, nodes] = await Promise.all([
    within(db.raw<object>('select 1').then(() => true)),
    within(reports(redis)),
  ]);
  const parts: Health['parts'] = {
    postgres: postgres instanceof Error ? down(`PostgreSQL: ${postgres.message}.`) : ok('Answers.'),
    redis: nodes instanceof Error ? down(`Redis: ${nodes.message}.`) : ok('Answers.'),
    ...mediaParts(nodes),
  };
  return { status: PARTS.every(part => parts[part].state === 'ok') ? 'ok' : 'down', parts };
};
