import { strict as assert } from 'node:assert';

/** Waits until `check` holds, looking again every few milliseconds; fails with `what` and the last thing seen. */
export const eventually = async <T>(
  what: string,
  look: () => Promise<T> | T,
  check: (seen: T) => boolean,
  withinMs = 5000,
): Promise<T> => {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (check(seen)) return seen;
    if (Date.now() > deadline)
      assert.fail(`${what} did not come true in ${withinMs} ms; last seen: ${JSON.stringify(seen)}`);
    await new Promise(resolve => setTimeout(resolve, 15));
  }
};
