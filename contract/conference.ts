import { z } from 'zod';
import { EMPTY_ID } from './ids.ts';
import { CONFERENCE_STATUSES } from './machines/conference.ts';
import { NEVER } from './time.ts';

export const CONFERENCE_TYPES = ['conference', 'connect'] as const;
export type ConferenceType = (typeof CONFERENCE_TYPES)[number];

/** A room that calls join and hear each other in (voice-and-flows 13.1). */
export const conferenceSchema = z
  .object({
    id: z.uuid(),
    customer_id: z.uuid(),
    type: z
      .enum(CONFERENCE_TYPES)
      .describe('conference: many parties, until deleted. connect: over when one of two leaves.'),
    status: z.enum(CONFERENCE_STATUSES),
    name: z.string(),
    detail: z.string(),
    data: z.record(z.string(), z.unknown()).describe('Yours; kept as given.'),
    timeout: z.number().int().describe('Seconds until it is ended; 0: never.'),
    pre_flow_id: z.string().describe('Run by each joining call before it enters.'),
    post_flow_id: z.string().describe('Kept; not run.'),
    conferencecall_ids: z.array(z.string()).describe('Participants that are joined now.'),
    recording_id: z.string(),
    recording_ids: z.array(z.string()),
    transcribe_id: z.string(),
    transcribe_ids: z.array(z.string()),
    direct_hash: z.string().describe('Forms the direct SIP URI.'),
    tm_end: z.string().describe('When it was terminated.'),
    tm_create: z.string(),
    tm_update: z.string(),
    tm_delete: z.string(),
  })
  .meta({ id: 'Conference', description: 'A room that calls join and hear each other in.' });

export type Conference = z.infer<typeof conferenceSchema>;

/** What a client may change of a conference. */
export const conferenceSettingsSchema = conferenceSchema.pick({
  name: true,
  detail: true,
  data: true,
  timeout: true,
  pre_flow_id: true,
  post_flow_id: true,
});
export type ConferenceSettings = z.infer<typeof conferenceSettingsSchema>;

/** A conference nobody has joined yet. */
export const newConference = (
  given: Pick<Conference, 'id' | 'customer_id' | 'type' | 'direct_hash' | 'tm_create'> & ConferenceSettings,
): Conference => ({
  ...given,
  status: 'starting',
  conferencecall_ids: [],
  recording_id: EMPTY_ID,
  recording_ids: [],
  transcribe_id: EMPTY_ID,
  transcribe_ids: [],
  tm_end: NEVER,
  tm_update: NEVER,
  tm_delete: NEVER,
});
