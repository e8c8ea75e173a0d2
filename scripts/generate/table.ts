/** What a description may hold without breaking its cell. */
export const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

const line = (cells: string[]): string => `| ${cells.join(' | ')} |`;

/** A Markdown table; cells are given as they shall stand. */
export const table = (head: string[], rows: string[][]): string =>
  [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');

/** What a table says of one field of a JSON schema. */
export interface Property {
  type?: string | string[];
  enum?: unknown[];
  items?: Property;
  properties?: Record<string, Property>;
  $ref?: string;
  anyOf?: Property[];
  allOf?: Property[];
  default?: unknown;
  description?: string;
}

const nameOf = (reference: string): string => reference.split('/').at(-1) ?? reference;

/** The type of a field as people read it: `integer`, `array of Address`, `one of yes, no`. */
export const typeOf = (property: Property): string => {
  const parts = property.anyOf ?? property.allOf;
  if (property.$ref) return nameOf(property.$ref);
  if (parts) return [...new Set(parts.map(typeOf))].join(' or ');
  if (property.enum) return `one of ${property.enum.map(value => (value === '' ? '""' : String(value))).join(', ')}`;
  if (property.type === 'array') return `array of ${property.items ? typeOf(property.items) : 'anything'}`;
  return [property.type ?? 'anything'].flat().join(' or ');
};
