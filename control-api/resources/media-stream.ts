import { z } from 'zod';
import { PlatformError, type Reason } from '#contract/errors';
import { ENCAPSULATIONS, isEncapsulation, type EncapsulationName } from '#contract/media-stream';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import type { StreamPath } from '../streams/path.ts';
import { calls } from './calls.ts';
import { conferences } from './conferences.ts';
import { idParams } from './crud.ts';
import { findLive } from './live.ts';

/** A media stream that may be opened: of what, and on which node. */
interface Admitted {
  customer_id: string;
  owner: string;
  encapsulation: EncapsulationName;
}

const REFUSED = {
  calls: { title: 'call', tag: 'Call', not_found: 'CALL_NOT_FOUND', state: 'CALL_STATE_INVALID' },
  conferences: { title: 'conference', tag: 'Conference', not_found: 'CONFERENCE_NOT_FOUND', state: 'STATE_INVALID' },
} as const satisfies Record<StreamPath['collection'], { title: string; tag: string; not_found: Reason; state: Reason }>;

/**
 * Checks a media stream before anything is upgraded (voice-and-flows 15).
 * Rejects with what is not found, INVALID_ARGUMENT (encapsulation), CALL_STATE_INVALID or STATE_INVALID.
 */
const admit = async (
  request: RouteRequest,
  { collection, id }: StreamPath,
  wanted: string | null,
): Promise<Admitted> => {
  const { data, owner } =
    collection === 'calls' ? await findLive(calls, request, id) : await findLive(conferences, request, id);
  if (!isEncapsulation(wanted))
    throw new PlatformError('INVALID_ARGUMENT', `encapsulation must be one of ${ENCAPSULATIONS.join(', ')}.`);
  const { title, state } = REFUSED[collection];
  if (data.status !== 'progressing' || owner === undefined)
    throw new PlatformError(state, `The ${title} is not progressing.`);
  return { customer_id: data.customer_id, owner, encapsulation: wanted };
};

/** The address at which the node gives and takes the audio. Rejects like `admit`, and RESOURCE_LIMIT_EXCEEDED. */
export const mediaStreamAddress = async (
  request: RouteRequest,
  path: StreamPath,
  wanted: string | null,
): Promise<string> => {
  const { encapsulation, ...whose } = await admit(request, path, wanted);
  const { commands } = request.context;
  const order = { ...whose, request_id: request.request_id };
  const { url } =
    path.collection === 'calls'
      ? await commands.send('call.media_stream', { ...order, body: { call_id: path.id, encapsulation } })
      : await commands.send('conference.media_stream', { ...order, body: { conference_id: path.id, encapsulation } });
  return url;
};

/** Who asks without an upgrade learns what is wrong; the upgrade itself is taken by `streams/media-streams.ts`. */
const mediaStream = (collection: StreamPath['collection']): Route => {
  const { title, tag, not_found, state } = REFUSED[collection];
  return defineRoute({
    method: 'get',
    path: `/${collection}/{id}/media_stream`,
    operation_id: `stream_${title}_media`,
    summary: `Hear a ${title} and speak into it over a WebSocket, in frames of 20 ms`,
    tag,
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
    reasons: [not_found, 'INVALID_ARGUMENT', state, 'RESOURCE_LIMIT_EXCEEDED'],
    async handle(request) {
      await admit(request, { collection, id: request.params.id }, request.query.encapsulation);
      throw new PlatformError('INVALID_ARGUMENT', 'Ask for an upgrade to WebSocket.');
    },
  });
};

export const mediaStreamRoutes: Route[] = [mediaStream('calls'), mediaStream('conferences')];
