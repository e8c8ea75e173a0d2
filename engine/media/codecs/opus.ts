import { Decoder as OpusDecoder, Encoder as OpusEncoder } from '@evan/opus';
import type { AudioCodec, Decoder, Encoder } from './codec.ts';

const rate = 8000;
/** Enough for speech of telephone bandwidth. */
const bitrate = 24_000;

/** Opus brings its own resampling: it is asked for 8 kHz mono, whatever the far end recorded. */
class NarrowDecoder implements Decoder {
  readonly #opus = new OpusDecoder({ channels: 1, sample_rate: rate });

  decode(bytes: Uint8Array, from: number, to: number, samples: Int16Array): number {
    let pcm: Uint8Array;
    try {
      pcm = this.#opus.decode(bytes.subarray(from, to));
    } catch {
      return 0; // no Opus packet; counted as skipped
    }
    const count = Math.min(pcm.byteLength >> 1, samples.length);
    const view = new DataView(pcm.buffer, pcm.byteOffset, pcm.byteLength);
    for (let i = 0; i < count; i++) samples[i] = view.getInt16(2 * i, true);
    return count;
  }
}

class NarrowEncoder implements Encoder {
  readonly #opus: OpusEncoder;

  constructor() {
    this.#opus = new OpusEncoder({ channels: 1, sample_rate: rate, application: 'voip' });
    this.#opus.bitrate = bitrate;
    this.#opus.complexity = 5;
  }

  encode(samples: Int16Array, from: number, count: number, bytes: Uint8Array, to: number): number {
    const packet = this.#opus.encode(samples.subarray(from, from + count));
    bytes.set(packet, to);
    return packet.byteLength;
  }
}

/** Opus (RFC 7587). */
export const opus: AudioCodec<'opus'> = {
  name: 'opus',
  payloadType: 102,
  isStatic: false,
  clock: 48_000,
  channels: 2,
  fmtp: 'maxplaybackrate=8000;sprop-maxcapturerate=8000',
  packetTimes: [10, 20, 40, 60],
  openDecoder: () => new NarrowDecoder(),
  openEncoder: () => new NarrowEncoder(),
};
