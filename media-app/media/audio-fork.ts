import type { Endpoint } from 'drachtio-fsmrf';

/** Whose voices are forked: the party's, the party's and what it hears added up, or the two left and right. */
export type ForkMix = 'mono' | 'mixed' | 'stereo';

export interface ForkRequest {
  /** WebSocket the media server connects to. */
  url: string;
  mix: ForkMix;
  /** Unique on the leg. */
  name: string;
}

/** Starts a fork at 8 kHz whose far end may speak; resolves when the media server has begun to connect. */
export const startFork = async (endpoint: Endpoint, { url, mix, name }: ForkRequest): Promise<void> => {
  await endpoint.forkAudioStart({
    wsUrl: url,
    mixType: mix,
    sampling: '8000',
    bugname: name,
    bidirectionalAudio: { enabled: 'true', streaming: 'true', sampleRate: '8000' },
  });
};
