/** Steps of a volume, from much quieter to much louder, as the real server has them. */
const factors: Readonly<Record<number, number>> = {
  [-4]: 0.2,
  [-3]: 0.4,
  [-2]: 0.6,
  [-1]: 0.8,
  0: 1,
  1: 1.3,
  2: 2.3,
  3: 3.3,
  4: 4.3,
};

/** A volume step within the nine that there are. */
export function volumeStep(step: number): number {
  return Number.isFinite(step) ? Math.trunc(Math.min(4, Math.max(-4, step))) : 0;
}

/** What samples are multiplied by at this step. */
export function factorOf(step: number): number {
  return factors[volumeStep(step)] ?? 1;
}
