const NAME = Symbol.for('trunkline.shared');

interface Shared {
  /** True in a lane, which runs file after file and stops what they shared when no other file follows. */
  lane: boolean;
  stops: Map<string, () => Promise<void>>;
}

/** One for the process, like `judged`. */
const shared: Shared = ((globalThis as Record<symbol, unknown>)[NAME] ??= { lane: false, stops: new Map() }) as Shared;

/**
 * Has what the files of a run share stopped after the last of them: by the lane, or by mocha itself where that runs without one.
 * A script that is no test stops what it started by itself.
 */
export const stopAfterTheLast = (what: string, stop: () => Promise<void>): void => {
  if (shared.lane) shared.stops.set(what, stop);
  else if (typeof after === 'function')
    after(`stops ${what}`, async function () {
      this.timeout(60_000);
      await stop();
    });
};

/** Says that this process is a lane; the function stops all that was shared and tells what did not stop. */
export const beLane = (): (() => Promise<string[]>) => {
  shared.lane = true;
  return async () => {
    const complaints: string[] = [];
    for (const [what, stop] of shared.stops)
      await stop().catch((error: unknown) => complaints.push(`${what} did not stop: ${String(error)}`));
    return complaints;
  };
};
