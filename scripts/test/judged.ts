/**
 * Whether the test that runs now, or ran last, has failed. What cleans up after a failed test does not complain of what the
 * failure left open: mocha would take that for a second failure, give up the file, and hide the first.
 */
export const judged = { failed: false };
