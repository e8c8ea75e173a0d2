import { z } from 'zod';
import { cell, table } from './table.ts';

/** One process and the schema of its settings. */
export interface Reader {
  process: string;
  schema: z.ZodType;
}

interface Row {
  name: string;
  default: string;
  meaning: string;
  readers: string[];
}

interface Property {
  default?: unknown;
  description?: string;
}

const properties = (schema: z.ZodType): { name: string; property: Property; required: boolean }[] => {
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as {
    properties?: Record<string, Property>;
    required?: string[];
  };
  return Object.entries(json.properties ?? {}).map(([name, property]) => ({
    name,
    property,
    required: json.required?.includes(name) ?? false,
  }));
};

const defaultText = (value: unknown): string => {
  if (value === undefined) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text === '' ? '' : `\`${text}\``;
};

const addReader = (rows: Map<string, Row>, { process, schema }: Reader): void => {
  for (const { name, property } of properties(schema)) {
    const row = rows.get(name);
    if (row) row.readers.push(process);
    else
      rows.set(name, {
        name,
        default: defaultText(property.default),
        meaning: property.description ?? '',
        readers: [process],
      });
  }
};

/** The configuration table: a row for each setting; the first reader that knows it gives its default and meaning. */
export const configurationTable = (readers: Reader[]): string => {
  const rows = new Map<string, Row>();
  for (const reader of readers) addReader(rows, reader);
  const cells = [...rows.values()].map(row => [
    `\`${row.name}\``,
    cell(row.default),
    cell(row.meaning),
    row.readers.join(', '),
  ]);
  return table(['Variable', 'Default', 'Meaning', 'Read by'], cells);
};
