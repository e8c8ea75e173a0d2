/** What a diagram needs of a machine (contract/machine.ts). */
export interface DrawnMachine {
  name: string;
  initial: string;
  table: Record<string, object>;
}

/** A machine's table as a Mermaid state diagram; states without exits are final. */
export const stateDiagram = (machine: DrawnMachine): string => {
  const moves = Object.entries(machine.table).flatMap(([from, row]) =>
    Object.entries(row as Record<string, string>).map(([event, to]) => `  ${from} --> ${to}: ${event}`),
  );
  const finals = Object.entries(machine.table)
    .filter(([, row]) => Object.keys(row).length === 0)
    .map(([state]) => `  ${state} --> [*]`);
  return [
    `### ${machine.name}`,
    '',
    '```mermaid',
    'stateDiagram-v2',
    `  [*] --> ${machine.initial}`,
    ...moves,
    ...finals,
    '```',
  ].join('\n');
};
