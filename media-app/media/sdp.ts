import { parse, write, type SessionDescription } from 'sdp-transform';
import type { OfferKind } from './offer-kind.ts';

export type Direction = 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive';

/** The version of a description (RFC 8866 section 5.2), to be counted up by one with each change. */
export const versionOf = (sdp: string): number => parse(sdp).origin?.sessionVersion ?? 0;

/** A description that does not say which product made it: no names as user and session (RFC 8866 sections 5.2, 5.3). */
export const unnamed = (sdp: string): string => sdp.replace(/^o=\S+/m, 'o=-').replace(/^s=.*$/m, 's=-');

/** A description under another version, its direction turned by `turn`. */
export const describeAnew = (sdp: string, version: number, turn: (direction: Direction) => Direction): string => {
  const session: SessionDescription = parse(sdp);
  const { direction = 'sendrecv', origin, ...rest } = session;
  const media = session.media.map(one => ({ ...one, direction: turn(one.direction ?? direction) }));
  return write({ ...rest, media, origin: { ...origin, sessionVersion: version } });
};

/**
 * The SDP of a media server as an offer to a phone: one audio line, plain RTP/AVP where `kind` asks for no other. A real
 * FreeSWITCH offers SRTP beside plain RTP on the same port, which many phones refuse to understand.
 */
export const audioOffer = (sdp: string, kind: OfferKind = 'plain'): string => {
  const session: SessionDescription = parse(sdp);
  const audio = session.media.filter(media => media.type === 'audio');
  const wanted = audio.find(media => media.protocol === PROTOCOLS[kind]) ?? audio[0];
  if (!wanted) throw new Error('the media server offered no audio');
  return write({ ...session, media: [wanted] });
};

/**
 * An offer with only these codecs, in this order, and the keys (RFC 4733); as it is when the media server has none of them.
 * @param codecs names with commas between them, such as `PCMA,PCMU`; empty for all
 */
export const offerOnly = (sdp: string, codecs: string): string => {
  const wanted = codecs.split(',').flatMap(name => name.trim().toLowerCase() || []);
  const session: SessionDescription = parse(sdp);
  const media = session.media.map(one => {
    const names = new Map([
      ...STATIC_TYPES,
      ...one.rtp.map(({ payload, codec }) => [payload, codec.toLowerCase()] as const),
    ]);
    const types = (one.payloads ?? '').split(' ').map(Number);
    const chosen = wanted.flatMap(name => types.filter(type => names.get(type) === name));
    if (!chosen.length) return one;
    const rateOf = (type: number) => one.rtp.find(({ payload }) => payload === type)?.rate ?? 8000;
    const rates = new Set(chosen.map(rateOf));
    // Keys go at the clock of the codec they stand beside (RFC 4733 section 2.1).
    const keys = types.filter(type => names.get(type) === 'telephone-event' && rates.has(rateOf(type)));
    const kept = [...chosen, ...keys];
    const about = ({ payload }: { payload: number }) => kept.includes(payload);
    return { ...one, payloads: kept.join(' '), rtp: one.rtp.filter(about), fmtp: one.fmtp.filter(about) };
  });
  return wanted.length ? write({ ...session, media }) : sdp;
};

const PROTOCOLS: Record<OfferKind, string> = {
  plain: 'RTP/AVP',
  sdes: 'RTP/SAVP',
  webrtc: 'UDP/TLS/RTP/SAVPF',
};

/** Payload types that need no rtpmap (RFC 3551 section 6). */
const STATIC_TYPES = new Map([
  [0, 'pcmu'],
  [3, 'gsm'],
  [8, 'pcma'],
  [9, 'g722'],
  [18, 'g729'],
]);

/** Whether keys come as events of RFC 4733, not as tones in the audio. */
export const knowsTelephoneEvent = (sdp: string): boolean => /^a=rtpmap:\d+ telephone-event\//im.test(sdp);
