import { strict as assert } from 'node:assert';
import { encode, expand } from '../../../../engine/media/codecs/g711.ts';
import { decodeG711, encodeG711, type Law } from '../../../../media-app/audio/g711.ts';

const LAWS: [Law, 'PCMU' | 'PCMA'][] = [
  ['ulaw', 'PCMU'],
  ['alaw', 'PCMA'],
];

describe('G.711 on the audio road', () => {
  for (const [law, codec] of LAWS) {
    it(`${law}: every byte means what it means to the media server`, () => {
      const samples = decodeG711(law, Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)));
      for (let byte = 0; byte < 256; byte++)
        assert.equal(samples.readInt16LE(byte * 2), expand(codec, byte), `${byte}`);
    });

    it(`${law}: every sample is written as the media server writes it`, () => {
      const all = Int16Array.from({ length: 65_536 }, (_, at) => at - 32_768);
      const expected = new Uint8Array(all.length);
      encode(codec, all, 0, all.length, expected);
      const written = encodeG711(law, Buffer.from(all.buffer));
      const differ = [...all].filter((_, at) => written[at] !== expected[at]);
      assert.deepEqual(differ.slice(0, 10), []);
    });
  }
});
