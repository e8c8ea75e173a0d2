import { PlatformError } from '#contract/errors';
import type { EncapsulationName } from '#contract/media-stream';
import { offerStream } from '../audio/offer-stream.ts';
import { AudioStream } from '../audio/stream.ts';
import type { Services } from '../services.ts';
import { OwnLeg } from './own-leg.ts';
import type { ConferenceSession } from './session.ts';

/**
 * Seats a media stream in a conference: it hears everybody, the other streams too, and is heard by all. Resolves with where
 * to fetch it, once, within seconds.
 * @throws PlatformError STATE_INVALID, RESOURCE_LIMIT_EXCEEDED, SERVICE_UNAVAILABLE
 */
export const streamConference = async (
  { media, road }: Services,
  session: ConferenceSession,
  encapsulation: EncapsulationName,
): Promise<{ url: string }> => {
  const { audio, log, bridge } = session;
  const leg = new OwnLeg(media, bridge, 'speaks');
  requireProgressing(session);
  const stream = new AudioStream({ of: leg, audio, road, log, onEnd: () => void leg.close() });
  try {
    await leg.open();
  } catch (error) {
    stream.end();
    requireProgressing(session); // it ended meanwhile, and the leg with it
    log.error({ error: String(error) }, 'a media stream found no seat in the conference');
    throw new PlatformError('SERVICE_UNAVAILABLE', 'The media server could not open the media stream.');
  }
  void leg.left.then(() => stream.end());
  // What the far leg says is what the conference sounds like, and what it is told the conference hears.
  return offerStream({ road, log }, stream, encapsulation, { listen: 'in', speak: 'out' });
};

const requireProgressing = ({ conference }: ConferenceSession): void => {
  if (conference.status !== 'progressing')
    throw new PlatformError('STATE_INVALID', `The conference is ${conference.status}, not progressing.`);
};
