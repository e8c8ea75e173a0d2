/** Where external media goes to and how (voice-and-flows 6.3, 15). */
export interface ExternalMediaRequest {
  transport: 'websocket' | 'udp';
  /** `ws` or `wss` for a WebSocket, `udp://host:port` for RTP. */
  url: string;
  encapsulation: 'rtp' | 'sln' | 'audiosocket';
  format: 'slin' | 'ulaw' | 'alaw';
  /** What the far end hears: the party (`in`), what the party hears (`out`) or both. */
  listen: 'in' | 'out' | 'both';
  /** Who hears the far end: the other side of a bridge (`in`), the party (`out`) or both. */
  speak: 'in' | 'out' | 'both';
}
