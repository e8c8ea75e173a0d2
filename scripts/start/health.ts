import { setTimeout as wait } from 'node:timers/promises';

export type Health = { ready: true } | { ready: false; detail: string };

interface PartState {
  state: string;
  detail?: unknown;
}

const describe = (status: number, body: unknown): string => {
  const parts = (body as { parts?: Record<string, PartState> } | null)?.parts ?? {};
  const down = Object.entries(parts).filter(([, part]) => part.state !== 'ok');
  if (down.length === 0) return `GET /health answered ${status}`;
  return down
    .map(([name, part]) => `${name} is ${part.state}${typeof part.detail === 'string' ? ` (${part.detail})` : ''}`)
    .join(', ');
};

/** Asks `GET /health` once; never throws. */
export const askHealth = async (baseUrl: string): Promise<Health> => {
  try {
    const response = await fetch(`${baseUrl}/health`, { signal: AbortSignal.timeout(2_000) });
    if (response.status === 200) return { ready: true };
    return { ready: false, detail: describe(response.status, await response.json().catch(() => null)) };
  } catch {
    return { ready: false, detail: 'control-api does not answer yet' };
  }
};

/** Waits until every part is well. `given` may end the wait; `onWait` hears what is still missing, when that changes. */
export const untilHealthy = async (
  baseUrl: string,
  options: { timeoutMs: number; given?: AbortSignal; onWait?: (detail: string) => void },
): Promise<Health> => {
  const deadline = performance.now() + options.timeoutMs;
  let last: Health = { ready: false, detail: '' };
  while (performance.now() < deadline && !options.given?.aborted) {
    const health = await askHealth(baseUrl);
    if (health.ready) return health;
    if (!last.ready && health.detail !== last.detail) options.onWait?.(health.detail);
    last = health;
    await wait(100);
  }
  return last;
};
