/** The value below which a share of the samples lies; samples in milliseconds. */
export const percentile = (samples: readonly number[], share: number): number => {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
};

export interface Figure {
  name: string;
  unit: 'ms' | 'calls/s' | 'requests/s';
  ours: number;
  bare: number;
  /** What we aim for: ours divided by bare, at most or at least; neither: for information. */
  aim: { most?: number; least?: number };
}

/** One line of the report: both figures of this run and their ratio. */
export const lineOf = ({ name, unit, ours, bare, aim }: Figure): string => {
  const ratio = ours / bare;
  const met = ratio <= (aim.most ?? Infinity) && ratio >= (aim.least ?? 0);
  const goal = aim.most ? `≤ ${aim.most}` : `≥ ${aim.least}`;
  const said = aim.most || aim.least ? `${goal} ${met ? 'met' : 'missed'}` : '';
  const cell = (value: number) => `${value.toFixed(1)} ${unit}`.padStart(18);
  return `${name.padEnd(34)}${cell(ours)}${cell(bare)}${ratio.toFixed(2).padStart(8)}   ${said}`.trimEnd();
};
