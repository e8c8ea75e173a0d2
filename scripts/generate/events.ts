import { LIVE_EVENTS, NOTICE_EVENTS, STORED_EVENTS } from '#contract/events';
import { UNREGISTER_REASONS } from '#contract/registration';
import { cell, table, typeOf, type Property } from './table.ts';

type Schemas = Record<string, Property | undefined>;

const HEAD = `# Events

Generated from \`contract/events.ts\` by \`npm run generate\`.

Every event is a message of this form, over WebSocket and webhook alike:

| Field | Type | Meaning |
|---|---|---|
| \`id\` | UUID | the same event never comes under another one |
| \`sequence\` | integer | counts up by one for each customer; a WebSocket client resumes behind the last it saw |
| \`event_type\` | string | one of those below |
| \`timestamp\` | string | RFC 3339 with microseconds |
| \`topic\` | string | \`customer_id:{customer_id}:{resource}:{resource_id}\` |
| \`request_id\` | string | of the request that caused it, as in its answer's header \`X-Request-Id\`; empty when none did |
| \`data\` | object | the resource as it was then, as GET answers it |`;

/** What the end of an event's name means, unless it is named in full. */
const ENDINGS: Record<string, string> = {
  created: 'It was made.',
  updated: 'It changed.',
  deleted: 'It was deleted.',
};

/** What names do not say by themselves (voice-and-flows 21). */
const MEANINGS: Record<string, string> = {
  call_dialing: 'It is being dialled.',
  call_ringing: 'The destination rings.',
  call_progressing: 'It was answered.',
  call_canceling: 'It is hung up before anybody answered.',
  call_terminating: 'It is hung up by the platform.',
  call_hangup: 'It is over, with who and why.',
  call_updated: 'Its action, mute, chain or bridge changed.',
  groupcall_progressing: 'A leg was answered.',
  groupcall_hangup: 'Its last leg is over.',
  activeflow_updated: 'Its cursor moved, or it ended.',
  conference_updated: 'Its status, settings or participants changed.',
  conference_deleted: 'It was deleted; once more when the last participant has left.',
  conferencecall_joining: 'A call is on its way in.',
  conferencecall_joined: 'It is in and heard.',
  conferencecall_leaving: 'It is on its way out.',
  conferencecall_leaved: 'It is out.',
  recording_started: 'It runs.',
  recording_failed: 'Its audio could not be captured or saved; `recording_finished` follows, and it has no files.',
  ban_deleted: 'It ended, or was lifted.',
  invite_refused:
    'A call of a phone, trunk or caller of the account was refused before it became one; `sentence` says what did not match and what would have. At most 20 a minute.',
  extension_registered: 'A phone registered: `contact`, beside those in `contacts`. Registering again tells nothing.',
  extension_unregistered: `A phone is registered no more: \`contact\`, and why: \`reason\` (${UNREGISTER_REASONS.join(', ')}).`,
  recording_finished: 'It is over; its files are there or on their way.',
};

const meaningOf = (event: string): string => MEANINGS[event] ?? ENDINGS[event.split('_').at(-1) ?? ''] ?? '';

const eventTable = (events: readonly string[]): string =>
  table(
    ['Event', 'When'],
    events.map(event => [`\`${event}\``, meaningOf(event)]),
  );

const schemaName = (resource: string): string =>
  resource.replace(/(?:^|_)([a-z])/g, (_match, letter: string) => letter.toUpperCase());

const fieldTable = (schema: Property | undefined): string[] => {
  const fields = Object.entries(schema?.properties ?? {});
  if (fields.length === 0) return [];
  const rows = fields.map(([name, property]) => [
    `\`${name}\``,
    cell(typeOf(property)),
    cell(property.description ?? ''),
  ]);
  return [table(['Field of data', 'Type', 'Meaning'], rows)];
};

const section = (resource: string, events: readonly string[], schemas: Schemas): string => {
  const name = schemaName(resource);
  const schema = schemas[name];
  const said = schema ? [`\`data\` is a ${name}.`] : [];
  return [`## ${resource}`, ...said, eventTable(events), ...fieldTable(schema)].join('\n\n');
};

/** Stored events by the resource they are about, in the order of the list. */
const storedByResource = (): Map<string, string[]> => {
  const groups = new Map<string, string[]>();
  for (const event of [...STORED_EVENTS, ...NOTICE_EVENTS]) {
    const resource = event.replace(/_[a-z]+$/, '');
    groups.set(resource, [...(groups.get(resource) ?? []), event]);
  }
  return groups;
};

/** The catalogue of events; `schemas` are those of the OpenAPI document, by name. */
export const eventCatalogue = (schemas: Schemas): string => {
  const sections = [...Object.entries(LIVE_EVENTS), ...storedByResource()].map(([resource, events]) =>
    section(resource, events, schemas),
  );
  return `${[HEAD, ...sections].join('\n\n')}\n`;
};
