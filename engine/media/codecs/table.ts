import { pcma, pcmu } from './g711.ts';
import { g722 } from './g722.ts';
import { opus } from './opus.ts';

export type { AudioCodec, Decoder, Encoder } from './codec.ts';

/** Every codec a leg can speak, in the server's order of preference; the order of an offer does not count. */
export const codecs = [pcmu, pcma, opus, g722] as const;

/** The name of a codec as its rtpmap has it. */
export type CodecName = (typeof codecs)[number]['name'];

/** The codec of this name. */
export function codecNamed(name: CodecName): (typeof codecs)[number] {
  return codecs.find(one => one.name === name) ?? pcmu;
}
