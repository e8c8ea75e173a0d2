import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { configSchema as controlApiSettings } from '../../control-api/config.ts';
import { openApiDocument } from '../../control-api/openapi.ts';
import { settingsSchema as engineSettings } from '../../engine/config.ts';
import { settingsSchema as mediaAppSettings } from '../../media-app/config.ts';
import { activeflowMachine } from '#contract/machines/activeflow';
import { callMachine } from '#contract/machines/call';
import { conferenceMachine } from '#contract/machines/conference';
import { conferencecallMachine } from '#contract/machines/conferencecall';
import { groupcallMachine } from '#contract/machines/groupcall';
import { recordingMachine } from '#contract/machines/recording';
import { transferMachine } from '#contract/machines/transfer';
import { settingsSchema as startSettings } from '../start/config.ts';
import { ROOT } from '../start/system.ts';
import { actionCatalogue } from './actions.ts';
import { clientTypes } from './client-types.ts';
import { configurationTable } from './configuration.ts';
import { stateDiagram } from './diagrams.ts';
import { eventCatalogue } from './events.ts';
import type { Property } from './table.ts';

/** A file that is written by a script, and what it must hold. */
export interface GeneratedDocument {
  /** Relative to the project. */
  path: string;
  content: string;
}

const MACHINES = [
  callMachine,
  groupcallMachine,
  activeflowMachine,
  conferenceMachine,
  conferencecallMachine,
  recordingMachine,
  transferMachine,
];

const READERS = [
  { process: 'npm start', schema: startSettings },
  { process: 'control-api', schema: controlApiSettings },
  { process: 'media-app', schema: mediaAppSettings },
  { process: 'engine', schema: engineSettings },
];

/** Replaces what stands between `<!-- generated: name -->` and `<!-- end -->`. Throws when the marks are missing. */
export const replaceSection = (text: string, name: string, content: string): string => {
  const begin = `<!-- generated: ${name} -->`;
  const from = text.indexOf(begin);
  const to = text.indexOf('<!-- end -->', from);
  if (from < 0 || to < 0) throw new Error(`The marks of the generated section "${name}" are missing.`);
  return `${text.slice(0, from + begin.length)}\n\n${content}\n\n${text.slice(to)}`;
};

const architecture = (): string => {
  const text = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
  const drawn = replaceSection(text, 'state diagrams', MACHINES.map(stateDiagram).join('\n\n'));
  return replaceSection(drawn, 'configuration', configurationTable(READERS));
};

/** Every generated document as it must be now. */
export const generatedDocuments = (): GeneratedDocument[] => {
  const openApi = openApiDocument() as Record<string, unknown>;
  const { schemas } = openApi['components'] as { schemas: Record<string, Property> };
  return [
    { path: 'control-api/openapi.json', content: `${JSON.stringify(openApi, null, 2)}\n` },
    { path: 'client/types.ts', content: clientTypes(openApi) },
    { path: 'docs/actions.md', content: actionCatalogue() },
    { path: 'docs/events.md', content: eventCatalogue(schemas) },
    { path: 'ARCHITECTURE.md', content: architecture() },
  ];
};
