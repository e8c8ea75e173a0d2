import { Agent, request as send } from 'node:http';
import { cpus } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { newId } from '#contract/ids';
import { appendEvents } from '../../control-api/events/log.ts';
import { onClient } from '../../control-api/events/statement.ts';
import { startStack, type Stack } from '../../test/support/stack.ts';
import { type Figure, lineOf, percentile } from './figures.ts';
import { startScript } from './systems.ts';
import { ResumingClient } from './witnesses.ts';

const ROWS = 100_000;
const PAGE = 100;
const CONCURRENCY = 16;
/** Each measurement is made in so many turns of so long, ours and the bare one by turns. */
const TURNS = 3;
const TURN_MS = 2500;
const WARMUP_MS = 1000;
const EVENTS_PER_SECOND = 1000;
const EVENT_SECONDS = 10;
/** Transactions of events a second: the projector gathers for 10 ms. */
const COMMITS_PER_SECOND = 100;
const AIM_MS = 50;

/** Limits count every request, and none is reached. */
const UNREACHED = { RATE_ADDRESS: '1000000/1000000', RATE_CUSTOMER: '1000000/1000000' };

interface Ask {
  name: string;
  method: 'GET' | 'POST';
  path: () => string;
  /** Where the bare handler has it, when it is another path. */
  bare?: string;
  body?: () => object;
  /** Ours divided by bare, at least; for information when left out. */
  aim?: number;
}

/** What the issue asks of each request: 60 % of the bare handler's rate. */
const AIM = 0.6;

const query = async (stack: Stack, sql: string, values: unknown[] = []): Promise<Record<string, string>[]> => {
  const client = new pg.Client({ connectionString: stack.databaseUrl });
  await client.connect();
  try {
    return (await client.query<Record<string, string>>(sql, values)).rows;
  } finally {
    await client.end();
  }
};

/** Makes the rows, newest last, a millisecond apart. Resolves with the token of the thousandth page. */
const fill = async (stack: Stack): Promise<string> => {
  await query(
    stack,
    `insert into tags (id, customer_id, name, detail, tm_create)
     select gen_random_uuid(), $1, 'tag ' || n, 'bench', now() - interval '1 hour' + n * interval '1 millisecond'
     from generate_series(1, $2::int) n`,
    [stack.welcome.customer_id, ROWS],
  );
  await query(stack, 'analyze tags');
  const [row] = await query(
    stack,
    `select to_char(tm_create at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as token from tags
     where customer_id = $1 order by tm_create desc offset $2 limit 1`,
    [stack.welcome.customer_id, 999 * PAGE - 1],
  );
  return row?.['token'] ?? '';
};

const tag = () => ({ name: newId(), detail: 'made by the bench' });

const asks = (ids: string[], token: string): Ask[] => [
  { name: `list ${PAGE} of ${ROWS}, first page`, method: 'GET', path: () => '/tags', aim: AIM },
  { name: `list ${PAGE} of ${ROWS}, page 1000`, method: 'GET', path: () => `/tags?page_token=${token}`, aim: AIM },
  { name: 'get', method: 'GET', path: () => `/tags/${ids[Math.floor(Math.random() * ids.length)]}`, aim: AIM },
  { name: 'create, both with its event', method: 'POST', path: () => '/tags', body: tag, aim: AIM },
  { name: 'create, theirs without an event', method: 'POST', path: () => '/tags', bare: '/rows', body: tag },
];

/** Milliseconds until the whole answer was there. Rejects when it is not 2xx. */
const once = (base: string, key: string, agent: Agent, ask: Ask): Promise<number> =>
  new Promise((resolve, reject) => {
    const path = ask.path();
    const url = `${base}${path}${path.includes('?') ? '&' : '?'}accesskey=${key}`;
    const began = performance.now();
    const request = send(
      url,
      { method: ask.method, agent, headers: { 'content-type': 'application/json' } },
      answer => {
        answer.resume();
        answer.on('end', () => {
          if (answer.statusCode !== 200) reject(new Error(`${ask.method} ${path} answered ${answer.statusCode}`));
          else resolve(performance.now() - began);
        });
      },
    );
    request.on('error', reject);
    request.end(ask.body ? JSON.stringify(ask.body()) : undefined);
  });

interface Samples {
  times: number[];
  seconds: number;
}

const load = async (base: string, key: string, ask: Ask, forMs: number): Promise<Samples> => {
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });
  const began = performance.now();
  const times: number[] = [];
  const client = async (): Promise<void> => {
    while (performance.now() - began < forMs) times.push(await once(base, key, agent, ask));
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, client));
  agent.destroy();
  return { times, seconds: (performance.now() - began) / 1000 };
};

const joined = (turns: Samples[]): Samples => ({
  times: turns.flatMap(turn => turn.times),
  seconds: turns.reduce((sum, turn) => sum + turn.seconds, 0),
});

/** Rate and p99 of one request, both systems by turns so that a machine that slows down slows both. */
const compare = async (stack: Stack, bare: string, ask: Ask): Promise<Figure[]> => {
  const key = stack.welcome.accesskey;
  const ours = `${stack.baseUrl}/v1.0`;
  const turns: { ours: Samples[]; bare: Samples[] } = { ours: [], bare: [] };
  const { bare: path } = ask;
  const theirs = path ? { ...ask, path: () => path } : ask;
  await load(ours, key, ask, WARMUP_MS);
  await load(bare, key, theirs, WARMUP_MS);
  for (let turn = 0; turn < TURNS; turn++) {
    turns.bare.push(await load(bare, key, theirs, TURN_MS));
    turns.ours.push(await load(ours, key, ask, TURN_MS));
  }
  const [own, other] = [joined(turns.ours), joined(turns.bare)];
  const rate = ({ times, seconds }: Samples): number => times.length / seconds;
  return [
    { name: ask.name, unit: 'requests/s', ours: rate(own), bare: rate(other), aim: ask.aim ? { least: ask.aim } : {} },
    { name: '  p99', unit: 'ms', ours: percentile(own.times, 0.99), bare: percentile(other.times, 0.99), aim: {} },
  ];
};

const nextEvents = (customer_id: string, count: number) =>
  Array.from({ length: count }, () => {
    const id = newId();
    const data = { id, customer_id, name: 'a tag of the bench', detail: 'x'.repeat(200) };
    return {
      id: newId(),
      customer_id,
      event_type: 'tag_created',
      resource: 'tag',
      resource_id: id,
      data,
      request_id: '',
    };
  }) satisfies Parameters<typeof appendEvents>[1];

/** Milliseconds from the commit of events to their arrival at a WebSocket client, at a steady rate. */
const commitToClient = async (stack: Stack): Promise<{ times: number[]; per_second: number }> => {
  const customer = stack.welcome.customer_id;
  const [row] = await query(stack, 'select last from event_sequences where customer_id = $1', [customer]);
  const committed = new Map<string, number>();
  const heard = new Map<string, number>();
  const listener = new ResumingClient(stack, Number(row?.['last']), event => heard.set(event.id, performance.now()));
  listener.start();
  while (listener.connections === 0) await wait(20);
  const writer = new pg.Client({ connectionString: stack.databaseUrl });
  await writer.connect();
  const began = performance.now();
  const commits = COMMITS_PER_SECOND * EVENT_SECONDS;
  for (let commit = 0; commit < commits; commit++) {
    await wait(Math.max(0, began + (commit * 1000) / COMMITS_PER_SECOND - performance.now()));
    const events = nextEvents(customer, EVENTS_PER_SECOND / COMMITS_PER_SECOND);
    await appendEvents(onClient(writer), events);
    const now = performance.now();
    for (const { id } of events) committed.set(id, now);
  }
  const per_second = committed.size / ((performance.now() - began) / 1000);
  for (const until = Date.now() + 30_000; heard.size < committed.size && Date.now() < until;) await wait(20);
  await writer.end();
  await listener.stop();
  if (heard.size < committed.size) throw new Error(`${committed.size - heard.size} events did not arrive`);
  return { times: [...committed].map(([id, at]) => Math.max(0, (heard.get(id) ?? NaN) - at)), per_second };
};

/** `npm run bench -- api`: requests a second beside a bare handler with the same query, and events to a WebSocket. */
export const apiBench = async (): Promise<void> => {
  const stack = await startStack({ env: { LOG_LEVEL: 'warn', ...UNREACHED }, ownPostgres: true });
  const script = fileURLToPath(new URL('./bare-api.ts', import.meta.url));
  const bare = await startScript(script, [stack.databaseUrl, stack.welcome.customer_id]);
  try {
    const token = await fill(stack);
    const ids = (await query(stack, `select id from tags where detail = 'bench' limit 5000`)).map(
      row => row['id'] ?? '',
    );
    console.log(
      `${cpus().length} cores, Node ${process.version}, ${CONCURRENCY} clients, both systems on one PostgreSQL\n`,
    );
    console.log(`${''.padEnd(34)}${'ours'.padStart(18)}${'Express + pg'.padStart(18)}${'ratio'.padStart(8)}   aim`);
    for (const ask of asks(ids, token))
      for (const figure of await compare(stack, `http://127.0.0.1:${bare.port}`, ask)) console.log(lineOf(figure));
    const { times, per_second } = await commitToClient(stack);
    const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)];
    const verdict = p99 <= AIM_MS ? 'met' : 'missed';
    console.log(
      `\nevent commit to WebSocket client at ${per_second.toFixed(0)} events/s: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms   ≤ ${AIM_MS} ms ${verdict}`,
    );
  } finally {
    bare.stop();
    await stack.stop();
  }
};
