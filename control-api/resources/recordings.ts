import { z } from 'zod';
import { PlatformError } from '#contract/errors';
import { type Recording, recordingFiles, recordingSchema } from '#contract/recording';
import { defineRoute, Reply, type Route, type RouteRequest } from '../http/route.ts';
import { RECORDING_STATUSES } from '#contract/machines/recording';
import { audioOf } from '../storage/recording-audio.ts';
import { idParams } from './crud.ts';
import { byId, byWord } from './filters.ts';
import { findLive, getLive, listLive, type LiveResource } from './live.ts';

/** The audio of calls, kept (voice-and-flows 14). */
export const recordings: LiveResource<'recording'> = {
  kind: 'recording',
  title: 'Recording',
  path: '/recordings',
  not_found: 'RECORDING_NOT_FOUND',
  schema: recordingSchema,
  filters: {
    status: byWord(RECORDING_STATUSES, 'Only those with this status.'),
    reference_id: byId('Only those of this call.'),
    activeflow_id: byId('Only those of this activeflow.'),
  },
};

const playfileSchema = z
  .object({
    filename: z.string().describe('Unique within the recording.'),
    direction: z.enum(['in', 'out', '']).describe('in: what the party says; out: what it hears.'),
    uri_download: z.string().describe('Needs no credential until it expires.'),
    tm_download_expire: z.string(),
    filesize: z.number().int().describe('Bytes.'),
    peaks: z.array(z.number()).describe('The loudest sample of each stretch, 0 to 1; at most 1000.'),
    duration: z.number().describe('Seconds.'),
  })
  .meta({ id: 'Playfile', description: 'One file of a recording.' });

/** Ends a recording that is still running and waits for its files; one that ended meanwhile is as good. */
const ended = async (request: RouteRequest, id: string): Promise<Recording> => {
  const { data, owner, live } = await findLive(recordings, request, id);
  if (!live || owner === undefined) return data;
  const { customer_id } = data;
  const order = { customer_id, request_id: request.request_id, owner, body: { recording_id: id } };
  return request.context.commands.send('recording.stop', order).catch(async (error: unknown) => {
    if (!(error instanceof PlatformError) || error.reason !== 'RECORDING_NOT_ACTIVE') throw error;
    return (await findLive(recordings, request, id)).data;
  });
};

const remove = defineRoute({
  method: 'delete',
  path: '/recordings/{id}',
  operation_id: 'delete_recording',
  summary: 'Delete one recording and its files; it is stopped first when it still runs',
  tag: 'Recording',
  permission: 'manager',
  params: idParams,
  response: recordingSchema,
  reasons: ['RECORDING_NOT_FOUND', 'REQUEST_TIMEOUT'],
  async handle(request) {
    const { context, request_id, params } = request;
    const deleted = await context.live.remove('recording', await ended(request, params.id), request_id);
    context.recordingFiles.sweep();
    return deleted;
  },
});

const playfiles = defineRoute({
  method: 'get',
  path: '/recordings/{id}/playfiles',
  operation_id: 'list_recording_playfiles',
  summary: 'List the files of one recording with links to them; none before it has ended',
  tag: 'Recording',
  permission: 'manager',
  params: idParams,
  response: z.array(playfileSchema),
  reasons: ['RECORDING_NOT_FOUND'],
  async handle(request) {
    const { context, params } = request;
    const { data } = await findLive(recordings, request, params.id);
    const { files, linkTo } = await audioOf(context, data);
    const linked = await Promise.all(files.map(async file => ({ file, link: await linkTo(file.filename) })));
    return linked.flatMap(({ file: { filename, direction, filesize, peaks, duration }, link }) =>
      link
        ? [
            {
              filename,
              direction,
              uri_download: link.uri,
              tm_download_expire: link.tm_expire,
              filesize,
              peaks,
              duration,
            },
          ]
        : [],
    );
  },
});

const file = defineRoute({
  method: 'get',
  path: '/recordingfiles/{id}',
  operation_id: 'get_recordingfile',
  summary: 'Lead to the audio of one recording: a WAV file with both sides in one voice',
  tag: 'Recording',
  permission: 'manager',
  params: idParams,
  status: 307,
  response: z.object({}),
  reasons: ['RECORDING_NOT_FOUND'],
  async handle(request) {
    const { context, params } = request;
    const { data } = await findLive(recordings, request, params.id);
    const { files, linkTo } = await audioOf(context, data);
    const link = files.length > 0 && (await linkTo(recordingFiles(data).mixed));
    if (!link) throw new PlatformError('RECORDING_NOT_FOUND', 'The recording has no audio (yet, or any more).');
    return new Reply(307, undefined, { Location: link.uri, 'Cache-Control': 'no-store' });
  },
});

export const recordingRoutes: Route[] = [listLive(recordings), getLive(recordings), remove, playfiles, file];
