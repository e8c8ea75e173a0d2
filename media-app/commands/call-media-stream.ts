import { PlatformError } from '#contract/errors';
import { offerStream } from '../audio/offer-stream.ts';
import { AudioStream } from '../audio/stream.ts';
import type { CommandHandler } from './catalogue.ts';

/** GET /calls/{id}/media_stream: keeps a place for the stream and says where to fetch it. */
export const callMediaStream: CommandHandler<'call.media_stream'> = async (services, { call_id, encapsulation }) => {
  const session = services.registry.calls.get(call_id);
  if (session?.call.status !== 'progressing' || !session.endpoint)
    throw new PlatformError('CALL_STATE_INVALID', 'The call is not progressing.');
  const { audio, log } = session;
  const { road } = services;
  const stream = new AudioStream({ of: session, audio, road, log });
  return offerStream({ road, log }, stream, encapsulation);
};
