import { parse, write, type SessionDescription } from 'sdp-transform';

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
