import { Agent, request as send } from 'node:http';
import { Consumer } from '../../test/support/consumer.ts';
import { startTestApi, type TestApi } from '../../test/support/api.ts';
import { stopDatabases } from '../../test/support/database.ts';
import { openApiDocument } from '../../control-api/openapi.ts';
import { FuzzRequests, type FuzzRequest } from './fuzz-requests.ts';
import { changes, storedNow } from './stored.ts';

/** What came of a run: how many answers by status, and what went wrong, a paragraph each. */
export interface FuzzResult {
  statuses: Record<number, number>;
  complaints: string[];
}

interface Seen {
  request: FuzzRequest;
  status: number;
  text: string;
  request_id: string;
}

const BATCH = 40;
/** Lists whose records the fuzz tries to spoil. */
const SEEDED = [
  '/v1.0/flows',
  '/v1.0/extensions',
  '/v1.0/numbers',
  '/v1.0/accesskeys',
  '/v1.0/conferences',
  '/v1.0/tags',
];

const shown = ({ request, status, text }: Seen): string => {
  const body = request.body ? request.body.subarray(0, 300).toString('latin1') : '';
  return `${status} ${request.method} ${request.path.slice(0, 200)} ${JSON.stringify(request.headers).slice(0, 200)} ${JSON.stringify(body)}\n  ${text.slice(0, 300)}`;
};

const ask = (url: string, agent: Agent, request: FuzzRequest): Promise<Seen> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const length = request.body ? { 'Content-Length': request.body.length } : {};
    const headers = { ...request.headers, ...length };
    const sent = send({ agent, hostname, port, method: request.method, path: request.path, headers }, response => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      const { statusCode: status = 0 } = response;
      const request_id = String(response.headers['x-request-id']);
      response.on('end', () => resolve({ request, status, text, request_id }));
    });
    // A connection that lay idle may be closed the moment it is used again: nobody has read the request then.
    sent.on('error', (error: NodeJS.ErrnoException) =>
      sent.reusedSocket && error.code === 'ECONNRESET' ? resolve(ask(url, agent, request)) : reject(error),
    );
    sent.end(request.body);
  });

/** What is wrong with one answer, if anything. */
const complaintAbout = (seen: Seen): string | undefined => {
  if (seen.status < 400) return undefined;
  if (seen.status >= 500 && seen.status !== 503) return `a failure of ours: ${shown(seen)}`;
  if (!seen.request.path.startsWith('/v1.0')) return undefined;
  try {
    const { error } = JSON.parse(seen.text) as { error: { reason: string; request_id: string } };
    return error.request_id === seen.request_id && error.reason ? undefined : `a wrong envelope: ${shown(seen)}`;
  } catch {
    return `no envelope: ${shown(seen)}`; // Node's own answer to what is no HTTP has none either
  }
};

const tokenOf = async (api: TestApi): Promise<string> => {
  const { username, password } = api.welcome;
  const answer = await api.request('POST', '/auth/login', { username, password }, { credentials: {} });
  return String(answer.body['token']);
};

const idsOf = async (api: TestApi): Promise<Map<string, string[]>> => {
  const found = new Map<string, string[]>();
  for (const path of SEEDED) {
    const { body } = await api.request('GET', path);
    found.set(
      path,
      ((body['result'] ?? []) as { id: string }[]).map(({ id }) => id),
    );
  }
  return found;
};

/**
 * Sends `count` generated requests to an API of its own and looks whether any is answered by a failure of ours, without an
 * envelope, or refused and yet changes what is stored.
 */
export const fuzz = async (count: number, seed: number): Promise<FuzzResult> => {
  const api = await startTestApi();
  const consumer = new Consumer(api.redisUrl);
  consumer.answer = ({ id }) => ({ command_id: id, ok: false, reason: 'STATE_INVALID', message: 'Not in a fuzz.' });
  const agent = new Agent({ keepAlive: true, maxSockets: BATCH });
  const result: FuzzResult = { statuses: {}, complaints: [] };
  try {
    for (let n = 0; n < 5; n++) await api.request('POST', '/v1.0/flows', { name: `fuzz ${n}` });
    const [token, known] = [await tokenOf(api), await idsOf(api)];
    const source = new FuzzRequests(openApiDocument() as Record<string, unknown>, seed, path => known.get(path) ?? []);
    let before = await storedNow(api.database.db, consumer.redis);
    for (let done = 0; done < count; done += BATCH) {
      const requests = Array.from({ length: Math.min(BATCH, count - done) }, () => source.next());
      const headers = { Authorization: `Bearer ${token}` };
      const sent = requests.map(async each => {
        const answer = await ask(api.url, agent, { ...each, headers: { ...headers, ...each.headers } });
        return { ...answer, request: each };
      });
      const seen = await Promise.all(sent);
      for (const one of seen) {
        result.statuses[one.status] = (result.statuses[one.status] ?? 0) + 1;
        const complaint = complaintAbout(one);
        if (complaint) result.complaints.push(complaint);
      }
      const now = await storedNow(api.database.db, consumer.redis);
      const changed = changes(before, now).join(', ');
      const refused = seen.every(({ status, request }) => status >= 400 || request.method === 'GET');
      if (refused && changed)
        result.complaints.push(`refused, and yet changed (${changed}):\n${seen.map(shown).join('\n')}`);
      before = now;
    }
  } finally {
    agent.destroy();
    await consumer.close();
    await api.stop();
  }
  return result;
};

/** `npm run bench -- fuzz [count] [seed]`: prints the seed, so that a run can be repeated. */
export const fuzzBench = async (count = 20_000, seed = Date.now() % 2 ** 32): Promise<void> => {
  console.log(`fuzz: ${count} requests, seed ${seed}`);
  const began = performance.now();
  const { statuses, complaints } = await fuzz(count, seed).finally(stopDatabases);
  for (const complaint of complaints.slice(0, 20)) console.log(`\n${complaint}`);
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.log(`\n${JSON.stringify(statuses)} in ${seconds} s; ${complaints.length} complaints`);
  if (complaints.length > 0) process.exitCode = 1;
};
