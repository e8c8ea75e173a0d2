import { z } from 'zod';
import { conferenceSchema } from '#contract/conference';
import { PlatformError } from '#contract/errors';
import { defineRoute, type Route } from '../http/route.ts';
import { conferences } from './conferences.ts';
import { idParams } from './crud.ts';
import { findLive } from './live.ts';

const startBody = z.object({
  language: z.string().trim().min(1).max(35).describe('BCP 47, such as en-US.'),
});

/** Everything is checked as if there were a speech engine; then it is said that there is none. */
const start = defineRoute({
  method: 'post',
  path: '/conferences/{id}/transcribe_start',
  operation_id: 'start_conference_transcribe',
  summary: 'Transcribe a conference that is progressing; refused while no speech engine is configured',
  tag: 'Conference',
  permission: 'manager',
  params: idParams,
  body: startBody,
  response: conferenceSchema,
  reasons: ['CONFERENCE_NOT_FOUND', 'STATE_INVALID', 'STT_NOT_CONFIGURED'],
  async handle(request) {
    const { data } = await findLive(conferences, request, request.params.id);
    if (data.status !== 'starting' && data.status !== 'progressing')
      throw new PlatformError('STATE_INVALID', 'Only a conference that is progressing can be transcribed.');
    throw new PlatformError('STT_NOT_CONFIGURED', 'No speech engine that transcribes is configured.');
  },
});

/** Without a speech engine none was ever started. */
const stop = defineRoute({
  method: 'post',
  path: '/conferences/{id}/transcribe_stop',
  operation_id: 'stop_conference_transcribe',
  summary: 'Stop the transcription of a conference',
  tag: 'Conference',
  permission: 'manager',
  params: idParams,
  response: conferenceSchema,
  reasons: ['CONFERENCE_NOT_FOUND', 'STATE_INVALID'],
  async handle(request) {
    await findLive(conferences, request, request.params.id);
    throw new PlatformError('STATE_INVALID', 'No transcription of this conference is active.');
  },
});

export const conferenceTranscribeRoutes: Route[] = [start, stop];
