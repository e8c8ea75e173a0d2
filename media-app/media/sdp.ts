import { parse, write, type SessionDescription } from 'sdp-transform';

export type Direction = 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive';

/** The version of a description (RFC 8866 section 5.2), to be counted up by one with each change. */
export const versionOf = (sdp: string): number => parse(sdp).origin?.sessionVersion ?? 0;

/** A description under another version, its direction turned by `turn`. */
export const describeAnew = (sdp: string, version: number, turn: (direction: Direction) => Direction): string => {
  const session: SessionDescription = parse(sdp);
  const { direction = 'sendrecv', origin, ...rest } = session;
  const media = session.media.map(one => ({ ...one, direction: turn(one.direction ?? direction) }));
  return write({ ...rest, media, origin: { ...origin, sessionVersion: version } });
};

/**
 * The SDP of a media server as an offer to a phone: one plain RTP/AVP audio line. A real FreeSWITCH offers SRTP beside
 * it on the same port, which many phones refuse to understand.
 */
export const plainAudioOffer = (sdp: string): string => {
  const session: SessionDescription = parse(sdp);
  const audio = session.media.filter(media => media.type === 'audio');
  const plain = audio.find(media => media.protocol === 'RTP/AVP') ?? audio[0];
  if (!plain) throw new Error('the media server offered no audio');
  return write({ ...session, media: [plain] });
};
