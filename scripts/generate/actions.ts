import { z } from 'zod';
import { EMPTY_ID } from '#contract/ids';
import type { ActionDefinition } from '#flow/action';
import { actions } from '#flow/actions/index';
import { cell, table, typeOf, type Property } from './table.ts';

const HEAD = `# Actions

Generated from \`flow/actions\` by \`npm run generate\`.

A flow is a list of actions; each has a \`type\` and an \`option\`. Every text in an option may hold \`\${name}\`, which is replaced by the
variable of that name just before the action runs. Times are in milliseconds unless a field says otherwise.

- **Needs a call**: in a flow that runs for something else the action is skipped, and the flow goes on.
- **When it fails**: \`goes on\` is on to the next action, \`stops\` ends the flow, and with it the call. The reason is in the log and in
  the timeline of the activeflow.
- **Not in this version**: flows may contain it and its option is checked; reached, it fails.
- Before the answer an incoming call has no media: \`answer\`, \`talk\` and a \`connect\` that is answered give it some. What needs media
  earlier fails. An outgoing call runs its flow from the answer on, with \`early_execution\` from ringing on.`;

const options = ({ option }: ActionDefinition): [string, Property][] => {
  const schema = z.toJSONSchema(option, { io: 'input', unrepresentable: 'any', reused: 'inline' });
  return Object.entries((schema.properties ?? {}) as Record<string, Property>);
};

/** An address is shown by its name, whatever wraps it. */
const shownType = (property: Property): string => (property.properties?.['target_name'] ? 'Address' : typeOf(property));

const fieldType = (property: Property): string =>
  property.items?.properties?.['target_name'] ? 'array of Address' : shownType(property);

const shownDefault = (value: unknown): string =>
  value === undefined || value === '' || value === EMPTY_ID ? '' : `\`${JSON.stringify(value)}\``;

const rowOf = ([name, property]: [string, Property]): string[] => [
  `\`${name}\``,
  cell(fieldType(property)),
  cell(shownDefault(property.default)),
  cell(property.description ?? ''),
];

const section = (definition: ActionDefinition): string => {
  const fields = options(definition);
  const fails = definition.onError === 'stop' ? 'stops' : 'goes on';
  const facts = [
    definition.needs === 'call' ? 'Needs a call.' : 'Runs in every flow.',
    `When it fails the flow ${fails}.`,
    ...(definition.available === false ? ['**Not in this version.**'] : []),
  ];
  const shown = fields.length ? table(['Option', 'Type', 'Default', 'Meaning'], fields.map(rowOf)) : 'No options.';
  return [`## ${definition.type}`, `${definition.summary} ${facts.join(' ')}`, shown].join('\n\n');
};

const overview = (): string =>
  table(
    ['Type', 'What it does', 'Needs a call', 'When it fails'],
    actions.map(({ type, summary, needs, onError, available }) => [
      `[${type}](#${type})${available === false ? ' (not in this version)' : ''}`,
      cell(summary),
      needs === 'call' ? 'yes' : '',
      onError === 'stop' ? 'stops' : 'goes on',
    ]),
  );

/** The catalogue of actions, as people who write flows read it. */
export const actionCatalogue = (): string => `${[HEAD, overview(), ...actions.map(section)].join('\n\n')}\n`;
