import { z } from 'zod';
import { type Conference, conferenceSchema } from '#contract/conference';
import { PlatformError } from '#contract/errors';
import { LONGEST_RECORDING_S, recordingOptionsSchema } from '#contract/recording';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import { SPELLINGS, type Spelling, spelled } from './call-recordings.ts';
import { conferences } from './conferences.ts';
import { idParams } from './crud.ts';
import { mustBeFlow } from './flow-store.ts';
import { findLive } from './live.ts';

/** As for calls, but a longer duration is cut to the longest (voice-and-flows 13.2). */
const startBody = recordingOptionsSchema.extend({
  duration: z
    .int()
    .min(0)
    .overwrite(seconds => Math.min(seconds, LONGEST_RECORDING_S))
    .default(0)
    .describe('Ends after so many seconds, a day at most; 0 is no limit.'),
});

/** The conference of a request and the node that holds it; no node when it is over. */
const heldConference = async (
  request: RouteRequest,
  id: string,
): Promise<{ conference: Conference; owner: string | undefined }> => {
  const { data, owner, live } = await findLive(conferences, request, id);
  return { conference: data, owner: live ? owner : undefined };
};

const start = (spelling: Spelling): Route =>
  defineRoute({
    method: 'post',
    path: `/conferences/{id}/recording${spelling}start`,
    operation_id: `start_conference_recording${spelled(spelling)}`,
    summary: 'Record everybody in a conference that is progressing',
    tag: 'Conference',
    permission: 'manager',
    params: idParams,
    body: startBody,
    response: conferenceSchema,
    reasons: [
      'CONFERENCE_NOT_FOUND',
      'STATE_INVALID',
      'RECORDING_ALREADY_ACTIVE',
      'INSUFFICIENT_BALANCE',
      'FLOW_NOT_FOUND',
      'SERVICE_UNAVAILABLE',
      'REQUEST_TIMEOUT',
    ],
    async handle(request) {
      const { context, request_id, body } = request;
      const { conference, owner } = await heldConference(request, request.params.id);
      if (owner === undefined)
        throw new PlatformError('STATE_INVALID', 'Only a conference that is progressing can be recorded.');
      const { customer_id, id } = conference;
      await mustBeFlow(context.db, customer_id, body.on_end_flow_id);
      const order = { customer_id, request_id, owner, body: { ...body, conference_id: id } };
      return context.commands.send('conference.recording_start', order);
    },
  });

const stop = (spelling: Spelling): Route =>
  defineRoute({
    method: 'post',
    path: `/conferences/{id}/recording${spelling}stop`,
    operation_id: `stop_conference_recording${spelled(spelling)}`,
    summary: 'Stop the recording of a conference',
    tag: 'Conference',
    permission: 'manager',
    params: idParams,
    response: conferenceSchema,
    reasons: ['CONFERENCE_NOT_FOUND', 'RECORDING_NOT_ACTIVE', 'REQUEST_TIMEOUT'],
    async handle(request) {
      const { context, request_id } = request;
      const { conference, owner } = await heldConference(request, request.params.id);
      if (owner === undefined)
        throw new PlatformError('RECORDING_NOT_ACTIVE', 'No recording of this conference is active; it is over.');
      const { customer_id, id } = conference;
      const order = { customer_id, request_id, owner, body: { conference_id: id } };
      return context.commands.send('conference.recording_stop', order);
    },
  });

export const conferenceRecordingRoutes: Route[] = SPELLINGS.flatMap(spelling => [start(spelling), stop(spelling)]);
