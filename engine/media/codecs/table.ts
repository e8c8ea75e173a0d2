import { StreamResampler } from '../stream-resampler.ts';
import type { Decoder } from './codec.ts';
import { pcma, pcmu } from './g711.ts';
import { g722 } from './g722.ts';
import { opus } from './opus.ts';

export type { AudioCodec, Decoder, Encoder } from './codec.ts';

/** Every codec a leg can speak, the most preferred first where nothing else is said. */
const codecs = [pcmu, pcma, opus, g722] as const;

/** The name of a codec as its rtpmap has it. */
export type CodecName = (typeof codecs)[number]['name'];

/** Their names. */
export const codecNames: readonly CodecName[] = codecs.map(one => one.name);

/** The codec of this name. */
export function codecNamed(name: CodecName): (typeof codecs)[number] {
  return codecs.find(one => one.name === name) ?? pcmu;
}

/** A decoder of this codec that gives samples at this rate, which need not be the codec's. */
export function decoderAt(name: CodecName, rate: number): Decoder {
  const codec = codecNamed(name);
  const decoder = codec.openDecoder();
  return codec.rate === rate ? decoder : resampled(decoder, () => new StreamResampler(codec.rate, rate));
}

function resampled(decoder: Decoder, newResampler: () => StreamResampler): Decoder {
  let resampler = newResampler();
  return {
    restart: () => {
      decoder.restart();
      resampler = newResampler();
    },
    decode: (bytes, from, to, samples) => {
      const count = decoder.decode(bytes, from, to, samples);
      const brought = resampler.push(samples.subarray(0, count));
      const fitting = Math.min(brought.length, samples.length);
      samples.set(brought.subarray(0, fitting));
      return fitting;
    },
  };
}
