import { Decoder as OpusDecoder, Encoder as OpusEncoder } from '@evan/opus';
import { wideRate } from '../clock.ts';
import type { AudioCodec, Decoder, Encoder } from './codec.ts';

/** Enough for wideband speech (RFC 7587 section 3.1.1). */
const bitrate = 24_000;

/**
 * Opus brings its own resampling: it is asked for 16 kHz mono, whatever the far end recorded. Its full band would triple the work of
 * every call for what no other telephone can hear.
 */
class WideDecoder implements Decoder {
  readonly #opus = new OpusDecoder({ channels: 1, sample_rate: wideRate });

  decode(bytes: Uint8Array, from: number, to: number, samples: Int16Array): number {
    let pcm: Uint8Array;
    try {
      pcm = this.#opus.decode(bytes.subarray(from, to));
    } catch {
      return 0; // no Opus packet
    }
    const count = Math.min(pcm.byteLength >> 1, samples.length);
    const view = new DataView(pcm.buffer, pcm.byteOffset, pcm.byteLength);
    for (let i = 0; i < count; i++) samples[i] = view.getInt16(2 * i, true);
    return count;
  }

  /** Not made anew: a party may begin a stream a thousand times a second, and its memory is not seen by the garbage collector. */
  restart(): void {
    this.#opus.reset();
  }
}

class WideEncoder implements Encoder {
  readonly #opus: OpusEncoder;

  constructor() {
    this.#opus = new OpusEncoder({ channels: 1, sample_rate: wideRate, application: 'voip' });
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
  rate: wideRate,
  toldRate: 48_000,
  channels: 2,
  fmtp: 'maxplaybackrate=16000;sprop-maxcapturerate=16000',
  packetTimes: [10, 20, 40, 60],
  openDecoder: () => new WideDecoder(),
  openEncoder: () => new WideEncoder(),
};
