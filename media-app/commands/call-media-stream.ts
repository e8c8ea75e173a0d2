import { PlatformError } from '#contract/errors';
import { encapsulationOf } from '../audio/encapsulation.ts';
import { SocketEnd } from '../audio/socket-end.ts';
import { AudioStream } from '../audio/stream.ts';
import type { CommandHandler } from './catalogue.ts';

/** How long control-api may take to fetch a stream that it asked for. */
const FETCH_MS = 5000;

/** GET /calls/{id}/media_stream: keeps a place for the stream and says where to fetch it. */
export const callMediaStream: CommandHandler<'call.media_stream'> = async (services, { call_id, encapsulation }) => {
  const session = services.registry.calls.get(call_id);
  if (session?.call.status !== 'progressing' || !session.endpoint)
    throw new PlatformError('CALL_STATE_INVALID', 'The call is not progressing.');
  const { audio, log } = session;
  const stream = new AudioStream({ call: session, audio, road: services.road, log });
  const guest = services.road.invite(FETCH_MS);
  guest.socket
    .then(socket => stream.join(new SocketEnd(socket), encapsulationOf(encapsulation)))
    .catch((error: unknown) => {
      log.warn({ error: String(error) }, 'a media stream did not begin');
      stream.end();
    });
  return { url: guest.url };
};
