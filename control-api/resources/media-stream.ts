import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { ENCAPSULATIONS, isEncapsulation, type EncapsulationName } from '#contract/media-stream';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import { calls } from './calls.ts';
import { idParams } from './crud.ts';
import { findLive } from './live.ts';

/** A media stream that may be opened: of which call, and on which node. */
interface Admitted {
  call_id: string;
  customer_id: string;
  owner: string;
  encapsulation: EncapsulationName;
}

/**
 * Checks a media stream before anything is upgraded (voice-and-flows 15).
 * Rejects CALL_NOT_FOUND, INVALID_ARGUMENT (encapsulation) or CALL_STATE_INVALID.
 */
const admit = async (request: RouteRequest, id: string, encapsulation: string | null): Promise<Admitted> => {
  const { data, owner } = await findLive(calls, request, id);
  if (!isEncapsulation(encapsulation))
    throw new PlatformError('INVALID_ARGUMENT', `encapsulation must be one of ${ENCAPSULATIONS.join(', ')}.`);
  if (data.status !== 'progressing' || owner === undefined)
    throw new PlatformError('CALL_STATE_INVALID', 'The call is not progressing.');
  return { call_id: id, customer_id: data.customer_id, owner, encapsulation };
};

/** The address at which the call's node gives and takes its audio. Rejects like `admit`, and RESOURCE_LIMIT_EXCEEDED. */
export const mediaStreamAddress = async (request: RouteRequest, id: string, wanted: string | null): Promise<string> => {
  const { call_id, customer_id, owner, encapsulation } = await admit(request, id, wanted);
  const { context, request_id } = request;
  const body = { call_id, encapsulation };
  return (await context.commands.send('call.media_stream', { customer_id, request_id, owner, body })).url;
};

/** Who asks without an upgrade learns what is wrong; the upgrade itself is taken by `streams/media-streams.ts`. */
const mediaStream = defineRoute({
  method: 'get',
  path: '/calls/{id}/media_stream',
  operation_id: 'stream_call_media',
  summary: 'Hear a call and speak into it over a WebSocket, in frames of 20 ms',
  tag: 'Call',
  permission: 'manager',
  params: idParams,
  query: z.object({
    encapsulation: z
      .string()
      .default('')
      .describe(`One of ${ENCAPSULATIONS.join(', ')}.`),
  }),
  status: 101,
  response: z.null().describe('The connection is a WebSocket from now on; audio travels in binary messages.'),
  reasons: ['CALL_NOT_FOUND', 'INVALID_ARGUMENT', 'CALL_STATE_INVALID', 'RESOURCE_LIMIT_EXCEEDED'],
  async handle(request) {
    await admit(request, request.params.id, request.query.encapsulation);
    throw new PlatformError('INVALID_ARGUMENT', 'Ask for an upgrade to WebSocket.');
  },
});

export const mediaStreamRoutes: Route[] = [mediaStream];
