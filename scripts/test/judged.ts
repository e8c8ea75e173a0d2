const NAME = Symbol.for('trunkline.judged');

/**
 * Whether the test that runs now, or ran last, has failed. What cleans up after a failed test does not complain of what the
 * failure left open: mocha would take that for a second failure, give up the file, and hide the first. One for the process:
 * the runner and the test files come through different loaders, each with its own copy of every module.
 */
export const judged: { failed: boolean } = ((globalThis as Record<symbol, unknown>)[NAME] ??= { failed: false }) as {
  failed: boolean;
};
