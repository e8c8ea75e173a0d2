import type { EncapsulationName } from '#contract/media-stream';
import type { Log } from '#process/log';
import { encapsulationOf } from './encapsulation.ts';
import type { AudioRoad } from './road.ts';
import { SocketEnd } from './socket-end.ts';
import type { AudioStream, Directions } from './stream.ts';

/** How long control-api may take to fetch a stream that it asked for. */
const FETCH_MS = 5000;

/** Says where a stream is to be fetched, once; one that nobody fetches ends. */
export const offerStream = (
  { road, log }: { road: AudioRoad; log: Log },
  stream: AudioStream,
  encapsulation: EncapsulationName,
  directions?: Directions,
): { url: string } => {
  const guest = road.invite(FETCH_MS);
  guest.socket
    .then(socket => stream.join(new SocketEnd(socket), encapsulationOf(encapsulation), directions))
    .catch((error: unknown) => {
      log.warn({ error: String(error) }, 'a media stream did not begin');
      stream.end();
    });
  return { url: guest.url };
};
