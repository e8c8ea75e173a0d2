import { callSchema, type Call } from '#contract/call';
import { PlatformError } from '#contract/errors';
import { recordingOptionsSchema } from '#contract/recording';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import { calls } from './calls.ts';
import { idParams } from './crud.ts';
import { mustBeFlow } from './flow-store.ts';
import { findLive } from './live.ts';

/** The specification spells both paths with an underscore and with a hyphen; both are served (voice-and-flows 10). */
export const SPELLINGS = ['_', '-'] as const;
export type Spelling = (typeof SPELLINGS)[number];

/** What an operation's id ends with. */
export const spelled = (spelling: Spelling): string => (spelling === '_' ? '' : '_hyphen');

/** The call of a request and the node that holds it. */
const liveCall = async (request: RouteRequest, id: string): Promise<{ call: Call; owner: string | undefined }> => {
  const { data, owner, live } = await findLive(calls, request, id);
  return { call: data, owner: live ? owner : undefined };
};

const start = (spelling: Spelling): Route =>
  defineRoute({
    method: 'post',
    path: `/calls/{id}/recording${spelling}start`,
    operation_id: `start_call_recording${spelled(spelling)}`,
    summary: 'Record a call that is progressing',
    tag: 'Call',
    permission: 'manager',
    params: idParams,
    body: recordingOptionsSchema,
    response: callSchema,
    reasons: [
      'CALL_NOT_FOUND',
      'CALL_STATE_INVALID',
      'RECORDING_ALREADY_ACTIVE',
      'INSUFFICIENT_BALANCE',
      'FLOW_NOT_FOUND',
      'REQUEST_TIMEOUT',
    ],
    async handle(request) {
      const { context, request_id, body } = request;
      const { call, owner } = await liveCall(request, request.params.id);
      if (owner === undefined || call.status !== 'progressing')
        throw new PlatformError('CALL_STATE_INVALID', 'Only a call that is progressing can be recorded.');
      const { customer_id, id } = call;
      await mustBeFlow(context.db, customer_id, body.on_end_flow_id);
      const order = { customer_id, request_id, owner, body: { ...body, call_id: id } };
      return context.commands.send('call.recording_start', order);
    },
  });

const stop = (spelling: Spelling): Route =>
  defineRoute({
    method: 'post',
    path: `/calls/{id}/recording${spelling}stop`,
    operation_id: `stop_call_recording${spelled(spelling)}`,
    summary: 'Stop the recording of a call',
    tag: 'Call',
    permission: 'manager',
    params: idParams,
    response: callSchema,
    reasons: ['CALL_NOT_FOUND', 'RECORDING_NOT_ACTIVE', 'REQUEST_TIMEOUT'],
    async handle(request) {
      const { context, request_id } = request;
      const { call, owner } = await liveCall(request, request.params.id);
      if (owner === undefined)
        throw new PlatformError('RECORDING_NOT_ACTIVE', 'No recording of this call is active; it has ended.');
      const { customer_id, id } = call;
      const order = { customer_id, request_id, owner, body: { call_id: id } };
      return context.commands.send('call.recording_stop', order);
    },
  });

export const callRecordingRoutes: Route[] = SPELLINGS.flatMap(spelling => [start(spelling), stop(spelling)]);
