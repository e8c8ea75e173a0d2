/** How the audio that we offer travels: plain RTP, SRTP with keys in the description (SDES), or as browsers do it. */
export type OfferKind = 'plain' | 'sdes' | 'webrtc';

/** Which addresses an offer names: those that the phone can reach. */
export type AddressFamily = 'ipv4' | 'ipv6';

/**
 * What a phone is offered by the transport it is reached over, the likeliest first; the next when it refuses that one.
 * Browsers speak WebSocket and nothing but DTLS-SRTP, other phones on a WebSocket refuse that at once. Whether a phone on
 * TLS has SRTP nothing tells before: it gets plain RTP, which all have that do not insist on keys.
 */
export const offersOver = (transport: string): readonly [OfferKind, ...OfferKind[]] => {
  if (transport === 'ws' || transport === 'wss') return ['webrtc', 'plain'];
  return transport === 'tls' ? ['plain', 'sdes'] : ['plain'];
};

/** What a media server is asked by for an offer of a kind: headers of the INVITE to it. */
export const ASKED_BY: Record<OfferKind, Record<string, string>> = {
  plain: {},
  sdes: { 'X-Secure-RTP': 'true' },
  webrtc: { 'X-Media-Webrtc': 'true' },
};
