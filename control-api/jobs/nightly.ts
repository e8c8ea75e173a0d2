const DAY_MS = 24 * 3_600_000;
const HOUR_MS = 3_600_000;

/** The last time that it was this hour, UTC. */
const lastAt = (hour: number): number => Date.now() - ((Date.now() - hour * HOUR_MS) % DAY_MS);

/**
 * Does work every day at an hour, UTC (accounts-and-plumbing 31), and at once what the last night has missed because nothing
 * ran. `work` is given the hour that it is for, and sees itself to its failures.
 */
export const startNightly = (hour: number, work: (at: Date) => void): { stop(): void } => {
  let timer: NodeJS.Timeout | undefined;
  const at = (moment: number): void => {
    // A timer may ring a moment early: the next night follows this one, whatever the clock says.
    timer = setTimeout(() => at(moment + DAY_MS), moment + DAY_MS - Date.now()).unref();
    work(new Date(moment));
  };
  at(lastAt(hour));
  return { stop: () => clearTimeout(timer) };
};
